//! What `doctor` says of entries, client by client, as the real programs take them.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::doctor_report::{check, examined, stage};

/// The binary stands in a directory that `BIN` names; each client is given the forms that it was seen to expand, and not to.
#[tokio::test]
async fn a_command_with_variables_is_judged_as_its_client_expands_it() {
    let own = Path::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    let stage = stage().with_variable("BIN", own.parent().unwrap().to_str().unwrap());
    let (program, home) = ("cli-team-bridge", stage.home().to_owned());
    let json = |servers: &str, command: &str| {
        let mut all = json!({});
        all[servers] = json!({ "bridge": { "command": command, "args": ["orchestrator"] } });
        all.to_string()
    };
    let toml = |command: &str| {
        format!("[mcp_servers.bridge]\ncommand = '{command}'\nargs = ['orchestrator']\n")
    };
    let not_expanded = "does not expand `";
    for (client, file, forms) in [
        (
            "claude-code",
            ".claude.json",
            [
                ("${BIN}", "ok", ""),
                ("${NONE:-/gone}", "problem", "does not exist"),
                ("$BIN", "problem", not_expanded),
                ("${NONE}", "unknown", "`${NONE}` is not set here"),
            ],
        ),
        (
            "gemini",
            ".gemini/settings.json",
            [
                ("$BIN", "ok", ""),
                ("${NONE:-/gone}", "problem", "does not exist"),
                ("${BIN:-/gone}", "ok", ""),
                ("~", "problem", not_expanded),
            ],
        ),
        (
            "qwen",
            ".qwen/settings.json",
            [
                ("$BIN", "ok", ""),
                ("${BIN}", "ok", ""),
                ("${BIN:-/gone}", "problem", not_expanded),
                ("$NONE", "unknown", "is not set here"),
            ],
        ),
        (
            "codex",
            ".codex/config.toml",
            [
                ("$BIN", "problem", not_expanded),
                ("${BIN}", "problem", not_expanded),
                ("${BIN:-/gone}", "problem", not_expanded),
                ("~", "problem", not_expanded),
            ],
        ),
        (
            "droid",
            ".factory/mcp.json",
            [
                ("$BIN", "problem", not_expanded),
                ("${BIN}", "problem", not_expanded),
                ("${env:BIN}", "problem", not_expanded),
                ("~", "problem", not_expanded),
            ],
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            [
                ("${env:BIN}", "ok", ""),
                ("$BIN", "unknown", "only Cursor knows"),
                ("${userHome}", "problem", "does not exist"),
                ("${input:a}", "unknown", "only Cursor knows what `${input:a}`"),
            ],
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            [
                ("${env:BIN}", "ok", ""),
                ("${env:NONE}", "unknown", "is not set here"),
                ("${workspaceFolder}", "problem", "does not exist"),
                ("~", "unknown", "only VS Code knows"),
            ],
        ),
        (
            "zed",
            ".config/zed/settings.json",
            [
                ("$BIN", "unknown", "only Zed knows"),
                ("${BIN}", "unknown", "only Zed knows"),
                ("~", "unknown", "only Zed knows"),
                ("/gone", "problem", "does not exist"),
            ],
        ),
    ] {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir_all(home.join(".claude")).unwrap();
        for (form, level, says) in forms {
            let command = format!("{form}/{program}");
            let text = match client {
                "codex" => toml(&command),
                "vscode" => json("servers", &command),
                "zed" => json("context_servers", &command),
                _ => json("mcpServers", &command),
            };
            fs::write(&path, text).unwrap();
            let (_, report) = examined(&stage, &["--no-start"]).await;
            check(&report, (client, "entry"), level, says, "");
        }
    }
}
