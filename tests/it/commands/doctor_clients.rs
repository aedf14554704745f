//! What `doctor` says of the clients: their entries of all scopes, and the folders that they do not trust.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::doctor::{check, examined, stage};

#[tokio::test]
async fn a_client_whose_entry_leads_nowhere_is_named_and_one_without_an_entry_noted() {
    let stage = stage();
    for folder in [".claude", ".codex"] {
        fs::create_dir(stage.home().join(folder)).unwrap();
    }
    let write = |program: &str| {
        let entry =
            json!({ "mcpServers": { "bridge": { "command": program, "args": ["orchestrator"] } } });
        fs::write(stage.home().join(".claude.json"), entry.to_string()).unwrap();
    };
    write("/gone/cli-team-bridge");
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    let set_up = "cli-team-bridge setup --client claude-code";
    check(
        &report,
        ("claude-code", "entry"),
        "problem",
        "`/gone/cli-team-bridge`, which does not exist",
        set_up,
    );
    check(&report, ("claude-code", "timeout"), "note", "not set", "150000");
    check(&report, ("claude-code", "permission"), "note", "not all", set_up);
    check(&report, ("claude-code", "hooks"), "note", "not all", set_up);
    check(&report, ("codex", "entry"), "note", "does not know the bridge", "setup --client codex");
    write(env!("CARGO_BIN_EXE_cli-team-bridge"));
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "ok", "starts `", "");
}

/// `claude mcp add` without `--scope` keeps an entry under the project's directory in the user's file.
#[tokio::test]
async fn an_entry_for_one_project_is_seen_there_and_its_scope_is_named() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let write = |directory: &Path, program: &str| {
        let mut all = json!({ "projects": {} });
        let entry = json!({ "bridge": { "command": program, "args": ["orchestrator"] } });
        all["projects"][directory.to_str().unwrap()] = json!({ "mcpServers": entry });
        fs::write(stage.home().join(".claude.json"), all.to_string()).unwrap();
    };
    let scope = format!("scope \"local\", in {}", stage.project().display());
    write(stage.project(), "/gone/cli-team-bridge");
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    check(&report, ("claude-code", "entry"), "problem", "which does not exist", "claude-code");
    check(&report, ("claude-code", "entry"), "problem", &scope, "mcp remove bridge -s local");
    check(&report, ("claude-code", "timeout"), "note", "not set", "150000");
    write(stage.project(), env!("CARGO_BIN_EXE_cli-team-bridge"));
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "ok", &scope, "");
    write(stage.home(), env!("CARGO_BIN_EXE_cli-team-bridge"));
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "note", "does not know the bridge", "setup");
    fs::write(stage.home().join(".claude.json"), "{").unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let all = report["findings"].as_array().unwrap().iter();
    let unreadable = all.filter(|one| one["name"] == "claude-code" && one["check"] == "file");
    assert_eq!(unreadable.count(), 1, "a file is named once: {report:#}");
}

/// Gemini CLI starts no MCP servers in a folder that it does not trust, and it trusts none by default.
#[tokio::test]
async fn a_folder_that_gemini_does_not_trust_is_named() {
    let stage = stage();
    let own = stage.home().join(".gemini");
    fs::create_dir(&own).unwrap();
    let entry = json!({ "bridge": { "command": env!("CARGO_BIN_EXE_cli-team-bridge") } });
    let write = |settings: &Value| {
        fs::write(own.join("settings.json"), settings.to_string()).unwrap();
    };
    write(&json!({ "mcpServers": entry }));
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let project = stage.project().to_str().unwrap();
    let says = format!("does not trust {project} yet, and starts no MCP servers there");
    let of_client = |report: &Value| {
        let mut all = report["findings"].as_array().unwrap().iter();
        all.find(|one| one["check"] == "trust" && one["subject"] == "client").cloned()
    };
    let found = of_client(&report).unwrap();
    assert!(found["says"].as_str().unwrap().contains(&says), "{found}");
    assert_eq!(found["level"], "note");
    let rule = json!({ project: "TRUST_FOLDER" });
    fs::write(own.join("trustedFolders.json"), rule.to_string()).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(of_client(&report), None, "{report:#}");
}
