//! Claude Code: the server for all projects is in `~/.claude.json`, permissions and hooks are in `settings.json`.
//!
//! A running Claude Code reads `~/.claude.json` again before it writes to it, so it keeps an entry that setup has just added.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::domain::text::shell_word::shell_word;
use crate::setup::config_edit::{FileEdits, Item, JsonEdit, PROGRAM};
use crate::setup::installed_plugin::PluginPlace;
use crate::setup::known_client::{
    Client, ClientFile, HOOK_SECONDS, Places, SERVER, Server, hook_on, json_file, timeout_ms,
};

pub(super) const CLIENT: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    directory: |places| Some(directory(places)),
    plugin: |places| {
        let settings = directory(places).join("settings.json");
        Some(PluginPlace::JsonTable(settings, "enabledPlugins"))
    },
    for_user: |places, server| {
        vec![
            servers(main_file(places), server),
            settings(directory(places).join("settings.json"), server, &[]),
        ]
    },
    for_project: |project, server| {
        // Without this, Claude Code asks the user before it starts a server from a project's file.
        let enabled = [item(&["enabledMcpjsonServers"], json!(SERVER))];
        vec![
            servers(project.join(".mcp.json"), server),
            settings(project.join(".claude/settings.local.json"), server, &enabled),
        ]
    },
};

/// The events at which hooks deliver messages, and whether an event has a tool to match.
const HOOKS: [(&str, bool); 3] =
    [("PostToolUse", true), ("UserPromptSubmit", false), ("Stop", false)];

fn directory(places: &Places) -> PathBuf {
    places.or_in_home("CLAUDE_CONFIG_DIR", ".claude")
}

/// Returns the file with the user's servers. A non-empty file of older versions in the directory takes precedence.
fn main_file(places: &Places) -> PathBuf {
    let older = directory(places).join(".config.json");
    let has_content =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
    if has_content(&older) {
        return older;
    }
    places.or_in_home("CLAUDE_CONFIG_DIR", "").join(".claude.json")
}

fn servers(path: PathBuf, server: &Server) -> ClientFile {
    let entry = server.entry_with(&[("type", json!("stdio")), timeout_ms()]);
    json_file(path, "mcpServers", entry)
}

fn settings(path: PathBuf, server: &Server, further: &[JsonEdit]) -> ClientFile {
    let program = shell_word(&server.program);
    let mut edits = further.to_vec();
    edits.push(item(&["permissions", "allow"], json!(format!("mcp__{SERVER}"))));
    // The server's instructions call `watch` by the program's short name if that finds the same program, else by its path.
    for program in [program.as_str(), PROGRAM] {
        edits.push(item(&["permissions", "allow"], json!(format!("Bash({program} watch:*)"))));
    }
    for (event, has_tool) in HOOKS {
        let mut hook = hook_on(event, server, HOOK_SECONDS);
        if has_tool {
            hook.value["matcher"] = json!("*");
        }
        edits.push(JsonEdit::Item(hook));
    }
    let purpose = "permission for its tools and `watch`, and the hooks that deliver messages";
    ClientFile { path, purpose, edits: FileEdits::Json(edits) }
}

fn item(path: &[&str], value: Value) -> JsonEdit {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    JsonEdit::Item(Item { path, value, same_purpose: None })
}
