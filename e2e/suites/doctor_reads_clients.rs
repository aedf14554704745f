//! What the doctor reads in the files of clients, against the real clients: where an entry applies, and which folders are trusted.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::claude_code::DEADLINE;
use crate::programs::Programs;
use crate::support::Stage;

/// The programs that the test with Gemini CLI needs.
pub(crate) const GEMINI: [&str; 2] = ["node", "gemini"];

/// The programs that the test of files needs.
pub(crate) const READERS: [&str; 5] = ["node", "gemini", "qwen", "droid", "claude"];

/// A program that ends at once, as the MCP server of a client.
const SERVER: &str = "/bin/false";

/// Runs a program in a directory of a stage, and returns all that it printed.
async fn printed(stage: &Stage, program: PathBuf, directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(&program);
    command.args(arguments).current_dir(directory).env_clear().envs(stage.environment());
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(DEADLINE, command.output()).await;
    let output =
        ended.unwrap_or_else(|_| panic!("`{}` {arguments:?} does not end", program.display()));
    let output = output.unwrap_or_else(|error| panic!("`{}`: {error}", program.display()));
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

/// Runs the doctor in a directory; returns what it says of a client in this check.
async fn findings(stage: &Stage, directory: &Path, client: &str, check: &str) -> Vec<String> {
    let binary = env!("CARGO_BIN_EXE_cli-team-bridge").into();
    let said = printed(stage, binary, directory, &["doctor", "--json", "--no-start"]).await;
    let report = serde_json::Deserializer::from_str(&said).into_iter::<Value>().next();
    let report = report.unwrap().unwrap_or_else(|error| panic!("{error}: {said}"));
    let of_client = |one: &&Value| one["name"] == client && one["check"] == check;
    let all = report["findings"].as_array().unwrap().iter().filter(of_client);
    all.map(|one| one["says"].as_str().unwrap().to_owned()).collect()
}

/// `claude mcp add` without `--scope` writes an entry for one project. It is the doctor's in the same directories as Claude Code's.
pub(crate) async fn entries_for_one_project_apply_where_claude_uses_them() {
    let claude = || Programs::find().native("claude", "@anthropic-ai/claude-code", "claude");
    let stage = Stage::new("[agents.default]\n")
        .with_variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .with_variable("DISABLE_AUTOUPDATER", "1");
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let base = stage.project().to_owned();
    for folder in ["plain/sub", "main/sub"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    for arguments in [
        &["init", "-q"][..],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
        &["worktree", "add", "-q", "../linked"],
    ] {
        printed(&stage, "/usr/bin/git".into(), &base.join("main"), arguments).await;
    }
    for folder in ["plain", "linked"] {
        let add = ["mcp", "add", "bridge", "--", SERVER];
        let said = printed(&stage, claude(), &base.join(folder), &add).await;
        assert!(said.contains("to local config"), "{said}");
    }
    for (folder, expected) in [
        ("plain", true),
        ("plain/sub", false),
        ("main", true),
        ("main/sub", true),
        ("linked", true),
    ] {
        let directory = base.join(folder);
        let said = printed(&stage, claude(), &directory, &["mcp", "get", "bridge"]).await;
        let entries = findings(&stage, &directory, "claude-code", "entry").await;
        let is_seen = entries.iter().any(|says| says.contains("scope \"local\""));
        assert_eq!(said.contains("Scope: Local"), expected, "{folder}: {said}");
        assert_eq!(is_seen, expected, "{folder}: {entries:?}");
    }
}

/// Gemini CLI starts no MCP servers in a folder that it does not trust. The doctor and Gemini CLI agree which folders these are.
pub(crate) async fn folders_are_trusted_as_gemini_trusts_them() {
    let stage = Stage::new("[agents.default]\n")
        .with_env(vec![("PATH".into(), Programs::find().path(&["gemini"]))])
        .with_variable("GEMINI_API_KEY", "no-key")
        .with_variable("GEMINI_CLI_NO_RELAUNCH", "true");
    let own = stage.home().join(".gemini");
    fs::create_dir(&own).unwrap();
    let project = stage.project().to_owned();
    let inner = project.join("inner");
    fs::create_dir(&inner).unwrap();
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    let on = json!({});
    let off = json!({ "folderTrust": { "enabled": false } });
    for (security, rules, expected) in [
        (&on, json!({}), false),
        (&on, json!({ name(&project): "TRUST_FOLDER" }), true),
        (&on, json!({ name(&project.join("other")): "TRUST_PARENT" }), true),
        (&on, json!({ name(&project): "TRUST_FOLDER", name(&inner): "DO_NOT_TRUST" }), false),
        (&off, json!({ name(&project): "DO_NOT_TRUST" }), true),
    ] {
        let settings =
            json!({ "mcpServers": { "bridge": { "command": SERVER } }, "security": security });
        fs::write(own.join("settings.json"), settings.to_string()).unwrap();
        fs::write(own.join("trustedFolders.json"), rules.to_string()).unwrap();
        let gemini = Programs::find().command("gemini", "gemini");
        let said = printed(&stage, gemini, &inner, &["mcp", "list"]).await;
        let untrusted = findings(&stage, &inner, "gemini", "trust").await;
        assert!(said.contains("bridge"), "{said}");
        assert_eq!(!said.contains("this folder is untrusted"), expected, "{rules}: {said}");
        assert_eq!(untrusted.is_empty(), expected, "{rules}: {untrusted:?}");
    }
}

/// What is JSON to one client ends another, or hides its servers without a word. The doctor and each client agree which files are read.
pub(crate) async fn files_are_read_as_the_clients_read_them() {
    let programs = Programs::find();
    let claude = programs.native("claude", "@anthropic-ai/claude-code", "claude");
    let command = |name: &str| programs.command(name, name);
    let plain = format!("{{ \"mcpServers\": {{ \"bridge\": {{ \"command\": \"{SERVER}\" }} }} }}");
    let comma = plain.replace("} } }", "} } , }");
    let texts = [
        plain.clone(),
        plain.replacen('{', "{ // mine\n", 1),
        plain.replacen('{', "{ /* mine */", 1),
        comma.clone(),
        comma.replacen('{', "{ // mine\n", 1),
        plain.replace("\" }", "\", \"args\": [\"a\",] }"),
        format!("\u{feff}{plain}"),
        plain.replacen('{', "{ \"a\": \"b\tc\",", 1),
        plain.replacen('{', "{ \"a\": 01,", 1),
        plain.replacen('{', "{\u{a0}", 1),
        plain.replacen('{', "{ \"mcpServers\": {},", 1),
    ];
    for (name, program, file, reads) in [
        ("gemini", command("gemini"), ".gemini/settings.json", [0, 1, 2].as_slice()),
        ("qwen", command("qwen"), ".qwen/settings.json", &[0, 1, 2, 6]),
        ("droid", command("droid"), ".factory/mcp.json", &[0, 1, 2]),
        ("claude-code", claude, ".claude.json", &[0, 6]),
    ] {
        for (number, text) in texts.iter().enumerate() {
            let stage = Stage::new("[agents.default]\n")
                .with_env(vec![("PATH".into(), programs.path(&["gemini", "qwen", "droid"]))])
                .with_variable("GEMINI_CLI_TRUST_WORKSPACE", "true")
                .with_variable("GEMINI_CLI_NO_RELAUNCH", "true")
                .with_variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .with_variable("DISABLE_AUTOUPDATER", "1");
            let path = stage.home().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::create_dir_all(stage.home().join(".claude")).unwrap();
            fs::write(&path, text).unwrap();
            let project = stage.project().to_owned();
            // First, because a client may write its files.
            let refused = findings(&stage, &project, name, "file").await;
            let said = printed(&stage, program.clone(), &project, &["mcp", "list"]).await;
            let is_seen = said.contains("bridge: ") || said.contains("  bridge  ");
            // Setup wants a key once; clients take the last.
            let is_twice = refused.iter().any(|says| says.contains("appears twice"));
            let is_expected = reads.contains(&number) || is_twice;
            assert_eq!(is_seen, is_expected, "{name}: {text}: {said}");
            assert_eq!(refused.is_empty(), is_seen && !is_twice, "{name}: {text}: {refused:?}");
        }
    }
}

/// A session of Claude Code shows its model none of the bridge's tools exactly where the doctor says that the entry is switched off.
pub(crate) async fn an_entry_is_off_where_claude_shows_no_tools() {
    let claude = Programs::find().native("claude", "@anthropic-ai/claude-code", "claude");
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let name = json!([{ "serverName": "bridge" }]);
    let command = json!([{ "serverCommand": [own, "orchestrator"] }]);
    let of_user = ".claude/settings.json";
    for (file, settings, expected) in [
        (of_user, json!({}), false),
        (of_user, json!({ "permissions": { "deny": ["mcp__bridge"] } }), true),
        (of_user, json!({ "permissions": { "deny": ["mcp__bridge__*"] } }), true),
        (of_user, json!({ "permissions": { "deny": ["mcp__bridge(*)"] } }), false),
        (of_user, json!({ "deniedMcpServers": name }), true),
        (of_user, json!({ "deniedMcpServers": command }), true),
        (of_user, json!({ "deniedMcpServers": ["bridge"] }), false),
        (of_user, json!({ "allowedMcpServers": [{ "serverName": "x" }] }), true),
        (of_user, json!({ "allowedMcpServers": command }), false),
        (of_user, json!({ "disabledMcpjsonServers": ["bridge"] }), false),
        (".claude.json", json!({ "disabledMcpServers": ["bridge"] }), true),
    ] {
        let stage = Stage::new("[agents.default]\n")
            .with_variable("ANTHROPIC_API_KEY", "no-key")
            // Nobody answers there: what the session has is known before it asks a model.
            .with_variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
            .with_variable("CLAUDE_CODE_MAX_RETRIES", "0")
            .with_variable("ENABLE_TOOL_SEARCH", "false")
            .with_variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .with_variable("DISABLE_AUTOUPDATER", "1");
        fs::create_dir_all(stage.home().join(".claude")).unwrap();
        let project = stage.project().to_owned();
        let key = project.to_str().unwrap();
        let entry = json!({ "command": own, "args": ["orchestrator"] });
        let mut main = json!({ "mcpServers": { "bridge": entry }, "projects": {} });
        main["projects"][key] = json!({ "hasTrustDialogAccepted": true });
        if file == ".claude.json" {
            main["projects"][key]["disabledMcpServers"] = settings["disabledMcpServers"].clone();
        } else {
            fs::write(stage.home().join(file), settings.to_string()).unwrap();
        }
        fs::write(stage.home().join(".claude.json"), main.to_string()).unwrap();
        let off = findings(&stage, &project, "claude-code", "switched off").await;
        assert_eq!(!off.is_empty(), expected, "{settings}: {off:?}");
        let asked = ["-p", "hi", "--output-format", "stream-json", "--verbose"];
        let said = printed(&stage, claude.clone(), &project, &asked).await;
        assert!(said.contains("\"subtype\":\"init\""), "{settings}: {said}");
        assert_eq!(!said.contains("mcp__bridge__assign_task"), expected, "{settings}: {said}");
    }
}

/// Each client starts the program of an entry exactly where the doctor finds nothing wrong with it: with variables in its command, and with
/// fields that some clients look at.
pub(crate) async fn entries_are_started_where_the_doctor_finds_them_right() {
    let programs = Programs::find();
    let claude = programs.native("claude", "@anthropic-ai/claude-code", "claude");
    let command = |name: &str| programs.command(name, name);
    let plain = || json!({});
    let entries = [
        ("$BIN", plain()),
        ("${BIN}", plain()),
        ("${BIN:-/gone}", plain()),
        ("${NONE:-/gone}", plain()),
        ("${NONE}", plain()),
        ("${env:BIN}", plain()),
        ("~/bin", plain()),
        ("", json!({ "type": "local" })),
        ("", json!({ "type": "http" })),
        ("", json!({ "transport": "http" })),
        ("", json!({ "timeout": "150000" })),
        ("", json!({ "timeout": 1500.5 })),
        ("", json!({ "cwd": "/nonexistent" })),
        ("", json!({ "env": { "A": 1 } })),
        ("", json!({ "disabled": true })),
    ];
    let clients = [
        ("gemini", command("gemini"), ".gemini/settings.json"),
        ("qwen", command("qwen"), ".qwen/settings.json"),
        ("droid", command("droid"), ".factory/mcp.json"),
        ("claude-code", claude, ".claude.json"),
    ];
    let path = programs.path(&["gemini", "qwen", "droid"]);
    let judged = clients.iter().map(async |(name, program, file)| {
        let mut started = 0;
        for (form, fields) in &entries {
            let stage = Stage::new("[agents.default]\n")
                .with_env(vec![("PATH".into(), path.clone())])
                .with_variable("GEMINI_CLI_TRUST_WORKSPACE", "true")
                .with_variable("GEMINI_CLI_NO_RELAUNCH", "true")
                .with_variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .with_variable("DISABLE_AUTOUPDATER", "1");
            let (home, project) = (stage.home().to_owned(), stage.project().to_owned());
            let (bin, sign) = (home.join("bin"), home.join("started"));
            let stage = stage.with_variable("BIN", bin.to_str().unwrap());
            fs::create_dir_all(&bin).unwrap();
            let server = bin.join("cli-team-bridge");
            fs::write(&server, format!("#!/bin/sh\n: > '{}'\n", sign.display())).unwrap();
            fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
            let folder = if form.is_empty() { bin.to_str().unwrap() } else { form };
            let command = format!("{folder}/cli-team-bridge");
            let mut entry = json!({ "command": command, "args": ["orchestrator"] });
            for (key, value) in fields.as_object().unwrap() {
                entry[key] = value.clone();
            }
            let file = home.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::create_dir_all(home.join(".claude")).unwrap();
            let all = json!({ "mcpServers": { "bridge": entry } });
            fs::write(&file, all.to_string()).unwrap();
            // First, because a client may write its files.
            let off = findings(&stage, &project, name, "switched off").await;
            let says = findings(&stage, &project, name, "entry").await;
            let is_right =
                off.is_empty() && says.iter().any(|one| one.ends_with("cli-team-bridge`"));
            let said = printed(&stage, program.clone(), &project, &["mcp", "list"]).await;
            let is_started = sign.exists();
            assert_eq!(is_started, is_right, "{name}: {all}: {says:?} {off:?}: {said}");
            started += usize::from(is_started);
        }
        assert!(started > 4, "{name} has started {started}");
    });
    futures::future::join_all(judged).await;
}
