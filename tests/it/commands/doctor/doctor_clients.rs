//! What `doctor` says of the clients: their entries of all scopes, and the folders that they do not trust.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::doctor_report::{check, examined, install, stage};
use crate::commands::setup::setup_and_undo::setup;

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
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let set_up = "cli-team-bridge setup --client claude-code";
    check(
        &report,
        ("claude-code", "entry"),
        "problem",
        "`/gone/cli-team-bridge`, which does not exist",
        &format!("run `{set_up}`, which sets its program to `{own}`"),
    );
    let of_client = |one: &&Value| one["subject"] == "client" && one["name"] == "claude-code";
    let findings = report["findings"].as_array().unwrap().iter().filter(of_client);
    let checks: Vec<_> = findings.map(|one| one["check"].as_str().unwrap()).collect();
    assert_eq!(checks, ["entry"], "{report:#}");
    check(&report, ("codex", "entry"), "note", "does not know the bridge", "setup --client codex");
    // What the remedy names is what mends it.
    let (is_done, said) = setup(&stage, &["--client", "claude-code", "--yes"]).await;
    assert!(is_done, "{said}");
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "ok", "starts `", "");
    write(own);
    fs::remove_file(stage.home().join(".claude/settings.json")).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "permission"), "note", "not all", set_up);
    check(&report, ("claude-code", "hooks"), "note", "not all", set_up);
}

/// A server without its project ends at once, and a peer leads nobody.
#[tokio::test]
async fn an_entry_is_right_only_if_it_leads_in_a_project_that_exists() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let write = |args: &[&str]| {
        let own = env!("CARGO_BIN_EXE_cli-team-bridge");
        let entry = json!({ "mcpServers": { "bridge": { "command": own, "args": args } } });
        fs::write(stage.home().join(".claude.json"), entry.to_string()).unwrap();
    };
    write(&["orchestrator", "--project", "/gone"]);
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    let (says, remedy) = ("in a project that is no directory: `/gone`", "correct `--project`");
    check(&report, ("claude-code", "entry"), "problem", says, remedy);
    write(&["orchestrator", "--project", stage.project().to_str().unwrap()]);
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "ok", "starts `", "");
    write(&["peer", "--name", "ann"]);
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let remedy = "set `args` of `mcpServers.bridge` in";
    check(&report, ("claude-code", "entry"), "note", "as a peer, which joins a team", remedy);
}

/// With such an entry the repository would choose what runs as soon as its client starts.
#[tokio::test]
async fn a_projects_entry_that_widens_what_runs_is_a_problem_everywhere() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let entry = |args: &[&str], env: &Value| {
        let mut bridge = json!({
            "type": "stdio",
            "command": env!("CARGO_BIN_EXE_cli-team-bridge"),
            "args": args,
            "timeout": 150_000,
        });
        if !env.is_null() {
            bridge["env"] = env.clone();
        }
        let all = json!({ "mcpServers": { "bridge": bridge } });
        fs::write(stage.project().join(".mcp.json"), all.to_string()).unwrap();
    };
    entry(&["orchestrator"], &Value::Null);
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "ok", "starts `", "");
    entry(&["orchestrator", "--config", ".evil.toml"], &Value::Null);
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    let says = r#"arguments that setup does not write, with which another program may run: ["orchestrator","--config",".evil.toml"]"#;
    let remedy = "remove `mcpServers.bridge` in ";
    check(&report, ("claude-code", "entry"), "problem", says, remedy);
    for name in ["BRIDGE_ADOPT", "XDG_CONFIG_HOME"] {
        entry(&["orchestrator"], &json!({ name: "1" }));
        let (_, report) = examined(&stage, &["--no-start"]).await;
        check(&report, ("claude-code", "entry"), "problem", "another program may run: \"env\"", "");
    }
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

/// Gemini CLI ends with an error on such a file, and Droid sees no servers in it.
#[tokio::test]
async fn a_file_that_the_client_itself_cannot_read_is_a_problem_with_its_place() {
    let stage = stage();
    let entry = json!({ "bridge": { "command": env!("CARGO_BIN_EXE_cli-team-bridge") } });
    for (folder, file) in [(".gemini", "settings.json"), (".factory", "mcp.json")] {
        fs::create_dir(stage.home().join(folder)).unwrap();
        let text = format!("{{ // mine\n  \"mcpServers\": {entry},\n}}\n");
        fs::write(stage.home().join(folder).join(file), text).unwrap();
    }
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    for (client, title, file) in
        [("gemini", "Gemini CLI", ".gemini/settings.json"), ("droid", "Droid", ".factory/mcp.json")]
    {
        let why = format!("{title} cannot read it: it has a comma after the last value at line 2");
        let path = stage.home().join(file);
        let remedy = format!("correct {}", path.display());
        check(&report, (client, "file"), "problem", &why, &remedy);
    }
}

/// A relative path was seen already, but a repository may guess where it is kept.
#[tokio::test]
async fn an_entry_that_starts_a_program_inside_the_project_is_a_problem_by_an_absolute_path_too() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let program = stage.project().join("cli-team-bridge");
    fs::copy("/bin/true", &program).unwrap();
    for command in [program.as_path(), Path::new("/proc/self/cwd/cli-team-bridge")] {
        let entry = json!({ "command": command, "args": ["orchestrator"], "timeout": 150_000 });
        let text = json!({ "mcpServers": { "bridge": entry } }).to_string();
        fs::write(stage.project().join(".mcp.json"), text).unwrap();
        let (code, report) = examined(&stage, &["--no-start"]).await;
        assert_eq!(code, Some(1), "{report:#}");
        let says = "starts a program of the project";
        let remedy = "remove `mcpServers.bridge` in";
        check(&report, ("claude-code", "entry"), "problem", says, remedy);
    }
}

#[tokio::test]
async fn the_remedy_for_a_limit_names_its_key_and_its_file() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let ours =
        json!({ "bridge": { "command": env!("CARGO_BIN_EXE_cli-team-bridge"), "timeout": 1 } });
    let file = stage.home().join(".claude.json");
    fs::write(&file, json!({ "mcpServers": ours }).to_string()).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let remedy = format!("set `timeout` of `mcpServers.bridge` in {} to 150000", file.display());
    check(&report, ("claude-code", "timeout"), "note", "`timeout` is 1,", &remedy);
    let mut projects = json!({});
    projects[stage.project().to_str().unwrap()] = json!({ "mcpServers": ours });
    fs::write(&file, json!({ "projects": projects }).to_string()).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let key = format!("`projects.{:?}.mcpServers.bridge`", stage.project());
    check(&report, ("claude-code", "timeout"), "note", "`timeout` is 1,", &key);
}

#[tokio::test]
async fn files_of_a_repository_that_agents_run_are_named() {
    let stage = stage();
    fs::create_dir(stage.project().join(".gemini")).unwrap();
    fs::write(stage.project().join(".gemini/settings.json"), "{}").unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let says = "`.gemini/settings.json` (gemini), and run hooks and MCP servers in them";
    check(&report, ("project", "agents' files"), "note", says, "before you start an agent here");
}

/// The entry is right, and the client starts nothing: only a look at its other settings shows that.
#[tokio::test]
async fn an_entry_that_is_switched_off_is_a_problem_until_that_is_undone() {
    let stage = stage();
    fs::create_dir(stage.home().join(".claude")).unwrap();
    let (is_done, said) = setup(&stage, &["--client", "claude-code", "--yes"]).await;
    assert!(is_done, "{said}");
    let settings = stage.home().join(".claude/settings.json");
    let set_up = fs::read_to_string(&settings).unwrap();
    let mut denying: Value = serde_json::from_str(&set_up).unwrap();
    denying["permissions"]["deny"] = json!(["Bash(rm:*)", "mcp__bridge__*"]);
    fs::write(&settings, denying.to_string()).unwrap();
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1));
    let of = ("claude-code", "switched off");
    check(
        &report,
        of,
        "problem",
        "none of the bridge's tools",
        "remove `mcp__bridge__*` from `permissions.deny`",
    );
    let is_entry = |one: &Value| one["name"] == "claude-code" && one["check"] == "entry";
    assert!(!report["findings"].as_array().unwrap().iter().any(is_entry), "{report:#}");
    // Setup leaves the user's decision alone, and says what it is.
    let (is_done, said) = setup(&stage, &["--client", "claude-code", "--yes"]).await;
    assert!(
        is_done && said.contains("because of `mcp__bridge__*` among `permissions.deny`"),
        "{said}"
    );
    assert!(said.contains("next: if the bridge should run, remove `mcp__bridge__*`"), "{said}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(kept["permissions"]["deny"], denying["permissions"]["deny"]);
    fs::write(&settings, set_up).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    check(&report, ("claude-code", "entry"), "ok", "starts `", "");
}

#[tokio::test]
async fn a_projects_part_of_an_entry_has_one_finding_for_what_it_switches_off_and_none_otherwise() {
    let stage = stage();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let entry = json!({ "command": own, "args": ["orchestrator"], "timeout": 150_000 });
    let all = json!({ "mcpServers": { "bridge": entry } }).to_string();
    for folder in [stage.home().join(".gemini"), stage.project().join(".gemini")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(stage.home().join(".gemini/settings.json"), all).unwrap();
    let part = json!({ "mcpServers": { "bridge": { "excludeTools": ["stop"] } } }).to_string();
    fs::write(stage.project().join(".gemini/settings.json"), part).unwrap();
    for folder in [stage.home().join(".codex"), stage.project().join(".codex")] {
        fs::create_dir_all(folder).unwrap();
    }
    let trusted = format!("[projects.{:?}]\ntrust_level = 'trusted'\n", stage.project());
    let entry = format!(
        "[mcp_servers.bridge]\ncommand = {own:?}\nargs = ['orchestrator']\ntool_timeout_sec = 150\n{trusted}"
    );
    fs::write(stage.home().join(".codex/config.toml"), entry).unwrap();
    let part = "[mcp_servers.bridge]\ntool_timeout_sec = 200\n";
    fs::write(stage.project().join(".codex/config.toml"), part).unwrap();
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let findings = report["findings"].as_array().unwrap();
    let of = |client: &str| {
        let of_client = findings.iter().filter(|one| one["name"] == client);
        let of_entry = of_client.filter(|one| {
            ["entry", "switched off", "timeout"].contains(&one["check"].as_str().unwrap())
        });
        of_entry.map(|one| (&one["check"], &one["level"])).collect::<Vec<_>>()
    };
    assert_eq!(of("gemini"), [(&json!("switched off"), &json!("problem"))], "{report:#}");
    assert_eq!(of("codex"), [(&json!("entry"), &json!("ok"))], "{report:#}");
}

/// As `gemini mcp list`, `qwen mcp list` and `claude mcp list` show it.
#[test]
fn below_the_project_a_client_may_not_read_the_projects_entry() {
    let stage = stage();
    let own = env!("CARGO_BIN_EXE_cli-team-bridge");
    let entry = json!({ "mcpServers": { "bridge": { "command": own, "args": ["orchestrator"] } } });
    let (project, below) = (stage.project(), stage.project().join("sub"));
    for folder in [".git", ".gemini", ".qwen", "sub"] {
        fs::create_dir(project.join(folder)).unwrap();
    }
    fs::write(project.join(".git/HEAD"), "ref: refs/heads/main").unwrap();
    for file in [".mcp.json", ".gemini/settings.json", ".qwen/settings.json"] {
        fs::write(project.join(file), entry.to_string()).unwrap();
    }
    for folder in [".gemini", ".qwen", ".claude"] {
        fs::create_dir(stage.home().join(folder)).unwrap();
    }
    let without_bridge = |directory: &Path| {
        let output = std::process::Command::new(own)
            .args(["doctor", "--json", "--no-start"])
            .env_clear()
            .envs(stage.environment())
            .current_dir(directory)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let words = format!("has no bridge in {}", below.display());
        let says = |one: &&Value| one["says"].as_str().unwrap().ends_with(&words);
        let found = report["findings"].as_array().unwrap().iter().filter(says);
        found.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(without_bridge(&below), ["gemini", "qwen"]);
    assert!(without_bridge(project).is_empty());
    // With an entry of the user's own, they have one.
    fs::write(stage.home().join(".gemini/settings.json"), entry.to_string()).unwrap();
    assert_eq!(without_bridge(&below), ["qwen"]);
}

/// As the real programs answer. The user's file is told from the project's by asking again in `/`.
#[tokio::test]
async fn codex_and_claude_code_are_asked_what_is_wrong_with_their_settings() {
    let stage = stage();
    for folder in [".claude", ".codex"] {
        fs::create_dir(stage.home().join(folder)).unwrap();
    }
    let codex = |code: u8| {
        let words =
            "Error: failed to load bootstrap configuration\\n\\nCaused by:\\n  in `model`\\n";
        let log = stage.home().join("asked");
        format!("echo \"$PWD $*\" >> {}\nprintf '{words}' >&2\nexit {code}", log.display())
    };
    install(&stage, "codex", &codex(1));
    let settings = stage.home().join(".claude/settings.json");
    let item = format!("- {} › cleanupPeriodDays: Number must be 1", settings.display());
    install(&stage, "claude", &format!("printf '%s\\n' 'Invalid settings' '{item}'"));
    // Started for the first time, they would make files of their own, which nobody undoes.
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let findings = report["findings"].as_array().unwrap();
    let is_told = |one: &Value| ["file", "switched off"].contains(&one["check"].as_str().unwrap());
    assert!(!findings.iter().any(is_told), "{report:#}");
    assert!(!stage.home().join("asked").exists());
    fs::write(stage.home().join(".codex/history.jsonl"), "").unwrap();
    fs::write(stage.home().join(".claude.json"), r#"{ "numStartups": 3 }"#).unwrap();
    let (code, report) = examined(&stage, &["--no-start"]).await;
    assert_eq!(code, Some(1), "{report:#}");
    let remedy = format!("correct that in {}", stage.home().join(".codex/config.toml").display());
    check(&report, ("codex", "file"), "problem", "bootstrap configuration Caused by: in", &remedy);
    let words = "settings.json, as it says itself: cleanupPeriodDays: Number must be 1";
    check(&report, ("claude-code", "switched off"), "note", words, "correct that in");
    let asked = fs::read_to_string(stage.home().join("asked")).unwrap();
    let mut asked: Vec<_> = asked.lines().collect();
    asked.sort_unstable();
    assert!(asked.contains(&"/ mcp list") && asked.len() == 2, "{asked:?}");
    install(&stage, "codex", &codex(0));
    let (_, report) = examined(&stage, &["--no-start"]).await;
    let findings = report["findings"].as_array().unwrap();
    let is_told = |one: &Value| one["name"] == "codex" && one["check"] == "file";
    assert!(!findings.iter().any(is_told), "{report:#}");
}
