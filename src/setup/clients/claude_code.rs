//! Claude Code: the server for all projects is in `~/.claude.json`, permissions and hooks are in `settings.json`.
//!
//! `claude mcp add` without `--scope` writes an entry for one project alone, also into `~/.claude.json`.
//!
//! A running Claude Code reads `~/.claude.json` again before it writes to it, so it keeps an entry that setup has just added.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::domain::text::shell_word::shell_word;
use crate::setup::edits::config_edit::{Entry, FileEdits, Item, JsonEdit, PROGRAM};
use crate::setup::edits::entry_variables::VariableForms;
use crate::setup::edits::json_reader::JsonReader;
use crate::setup::installed_plugin::PluginPlace;
use crate::setup::known_client::{
    Client, ClientFile, HOOK_SECONDS, LocalScope, Places, SERVER, Server, hook_on, in_project,
    json_file, timeout_ms,
};
use crate::setup::switches;
use crate::sys::fs::git_worktrees::Worktree;

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
            in_project(settings(project.join(".claude/settings.local.json"), server, &enabled)),
        ]
    },
    folder_trust: None,
    local: Some(LocalScope {
        file: |places, directory, server| {
            let key = project_key(directory);
            let path = [PROJECTS, &key, "mcpServers", SERVER].map(str::to_owned).to_vec();
            let entry = Entry { path, value: server_entry(server) };
            ClientFile {
                path: main_file(places),
                purpose: "the MCP server",
                edits: FileEdits::Json(vec![JsonEdit::Entry(entry)]),
                reader: Some(READER),
            }
        },
        // Nothing that enables servers of `.mcp.json`: one that the project brings later would run without a question.
        beside: |project, server| {
            vec![in_project(settings(project.join(".claude/settings.local.json"), server, &[]))]
        },
        table: PROJECTS,
        removal: "claude mcp remove bridge -s local",
    }),
    variables: VariableForms::Environment { bare: false, defaults: true },
    switches: switches::of_claude_code,
    leaves_out: Some(switches::left_out_by_claude_code),
};

/// What Claude Code 2.1.329 reads in all of its files.
const READER: JsonReader =
    JsonReader { title: CLIENT.title, comments: false, byte_order_mark: true };

/// The table of the projects in `~/.claude.json`, by their directories.
const PROJECTS: &str = "projects";

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

/// Returns the key of a directory among the projects in `~/.claude.json`, as Claude Code 2.1 chooses it: in a git repository the root
/// of the main worktree, or the repository itself if that is bare; elsewhere the directory itself, and none of its parents.
fn project_key(directory: &Path) -> String {
    let worktree = Worktree::around(directory);
    let key = worktree.as_ref().map(|worktree| worktree.main().unwrap_or(worktree.common()));
    key.unwrap_or(directory).to_string_lossy().into_owned()
}

fn servers(path: PathBuf, server: &Server) -> ClientFile {
    json_file(path, "mcpServers", server_entry(server)).read_by(READER)
}

fn server_entry(server: &Server) -> Value {
    server.entry_with(&[("type", json!("stdio")), timeout_ms()])
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
    ClientFile { path, purpose, edits: FileEdits::Json(edits), reader: Some(READER) }
}

fn item(path: &[&str], value: Value) -> JsonEdit {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    JsonEdit::Item(Item { path, value, same_purpose: None })
}
