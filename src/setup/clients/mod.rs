//! The clients that setup knows, one file each, with their differences as data.

mod all_clients;
mod claude_code;
mod claude_desktop;
mod codex_cli;
pub(super) mod codex_provider;
mod cursor;
mod droid_cli;
mod folder_trust;
mod gemini_cli;
mod qwen_code;
mod vscode;
mod was_started;
mod zed;

pub use self::all_clients::{CLIENTS, named};
pub use self::was_started::was_started;
