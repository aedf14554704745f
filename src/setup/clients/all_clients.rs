//! All clients, in the order in which setup shows them.

use crate::setup::known_client::Client;

use super::{
    claude_code, claude_desktop, codex_cli, cursor, droid_cli, gemini_cli, qwen_code, vscode, zed,
};

/// All clients that setup knows.
pub static CLIENTS: [Client; 9] = [
    claude_code::CLIENT,
    codex_cli::CLIENT,
    gemini_cli::CLIENT,
    qwen_code::CLIENT,
    droid_cli::CLIENT,
    vscode::CLIENT,
    cursor::CLIENT,
    zed::CLIENT,
    claude_desktop::CLIENT,
];

/// Finds a client by its name.
pub fn named(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
