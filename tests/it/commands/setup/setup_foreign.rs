//! `setup` and `doctor` beside servers and hooks of others that look like the bridge's own.

use std::fs;

use serde_json::{Value, json};

use super::setup_and_undo::{IDLE, json, setup, stage, write};
use crate::support::Stage;
use crate::support::home_files::{everything, same};

const OWN: &str = env!("CARGO_BIN_EXE_cli-team-bridge");

/// Returns the text of a file with our entry, with further fields.
fn entry_with(fields: &Value) -> String {
    let mut entry =
        json!({ "type": "stdio", "command": OWN, "args": ["orchestrator"], "timeout": 600_000 });
    for (key, value) in fields.as_object().unwrap() {
        entry[key] = value.clone();
    }
    json!({ "mcpServers": { "bridge": entry } }).to_string()
}

async fn doctor(stage: &Stage, project: &str) -> (Option<i32>, String) {
    let (exit, report) = stage.ended(&["doctor", "--no-start", "--project", project], None).await;
    (exit.code, report)
}

/// With `env`, a repository's own library would run in our program, and setup would have answered Claude Code's question for it.
#[tokio::test]
async fn a_projects_entry_with_fields_that_setup_does_not_write_is_left_alone() {
    for (fields, named) in [
        (json!({ "env": { "LD_PRELOAD": "./SECRET.so" } }), "\"env\""),
        (json!({ "command": "cli-team-bridge", "env": { "A": "SECRET" } }), "\"env\""),
        (json!({ "type": "http", "url": "https://SECRET" }), "\"type\", \"url\""),
        (json!({ "a\nfield": 1 }), "\"a field\""),
    ] {
        let stage = stage(&[("claude", IDLE)]);
        let project = stage.project().to_owned();
        let path = project.to_str().unwrap();
        let brought = entry_with(&fields);
        fs::write(project.join(".mcp.json"), &brought).unwrap();
        let before = everything(&stage);
        let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
        let why = format!("`mcpServers.bridge` has fields that setup does not write: {named}");
        assert!(!is_done && said.contains(&why) && said.contains(".mcp.json"), "{said}");
        assert!(!said.contains("SECRET") && !said.contains("already set up"), "{said}");
        assert!(!project.join(".claude/settings.local.json").exists(), "{said}");
        assert_eq!(fs::read_to_string(project.join(".mcp.json")).unwrap(), brought);
        same(&before, &everything(&stage));
        let (code, report) = doctor(&stage, path).await;
        assert_eq!(code, Some(1), "{report}");
        assert!(report.contains(named) && !report.contains("SECRET"), "{report}");
        assert!(report.contains("remove these fields from `mcpServers.bridge` in"), "{report}");
    }

    // A limit of its own is no reason, and neither is what the user adds to a file of the user.
    let stage = stage(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    let path = project.to_str().unwrap();
    fs::write(project.join(".mcp.json"), entry_with(&json!({}))).unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
    assert!(is_done && project.join(".claude/settings.local.json").exists(), "{said}");
    write(&stage, ".claude.json", &entry_with(&json!({ "env": { "KEY": "x" } })));
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done && stage.home().join(".claude/settings.json").exists(), "{said}");
}

/// The client may reach the server at the address instead of starting the program.
#[tokio::test]
async fn an_entry_with_an_address_is_another_server_and_not_set_up() {
    let remote = |fields: &Value| {
        let mut entry = json!({ "command": OWN, "args": ["orchestrator"], "timeout": 150_000 });
        for (key, value) in fields.as_object().unwrap() {
            entry[key] = value.clone();
        }
        json!({ "mcpServers": { "bridge": entry } }).to_string()
    };
    for (file, fields) in [
        (".claude.json", json!({ "type": "http", "url": "https://host/SECRET" })),
        (".cursor/mcp.json", json!({ "url": "https://host/SECRET" })),
    ] {
        let stage = stage(&[("claude", IDLE), ("cursor", IDLE)]);
        write(&stage, file, &remote(&fields));
        let before = everything(&stage);
        let client = if file.starts_with(".claude") { "claude-code" } else { "cursor" };
        let (is_done, said) = setup(&stage, &["--yes", "--client", client]).await;
        let why = "`mcpServers.bridge` already exists, and setup did not write it: `https://host`";
        assert!(!is_done && said.contains(why), "{said}");
        assert!(!said.contains("SECRET") && !said.contains("already set up"), "{said}");
        same(&before, &everything(&stage));
    }

    // What the user has added to setup's own entry is not overwritten either.
    let stage = stage(&[("cursor", IDLE)]);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let changed = remote(&json!({ "url": "https://host" }));
    write(&stage, ".cursor/mcp.json", &changed);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(!is_done && said.contains("it: `https://host`"), "{said}");
    assert_eq!(fs::read_to_string(stage.home().join(".cursor/mcp.json")).unwrap(), changed);
}

/// After setup wrote its entry, the next version of the repository may bring another one.
#[tokio::test]
async fn a_recorded_entry_of_a_project_counts_only_as_setup_wrote_it() {
    let stage = stage(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    let path = project.to_str().unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
    assert!(is_done, "{said}");
    fs::remove_file(project.join(".claude/settings.local.json")).unwrap();
    fs::write(project.join(".mcp.json"), entry_with(&json!({ "env": { "A": "b" } }))).unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
    assert!(!is_done && said.contains("has fields that setup does not write"), "{said}");
    assert!(!project.join(".claude/settings.local.json").exists(), "{said}");
}

/// Returns a file of Claude Code's with an entry `bridge` for each of these projects alone.
fn local_entries(entries: &[(&str, Value)]) -> String {
    let projects = entries.iter().map(|(directory, entry)| {
        ((*directory).to_owned(), json!({ "mcpServers": { "bridge": entry } }))
    });
    json!({ "projects": projects.collect::<serde_json::Map<_, _>>() }).to_string()
}

#[tokio::test]
async fn another_authors_entry_for_any_project_gets_no_permission_for_all_projects() {
    for foreign in [
        json!({ "command": "sh", "args": ["-c", "SECRET"] }),
        json!({ "command": OWN, "type": "http", "url": "https://host/SECRET" }),
    ] {
        let stage = stage(&[("claude", IDLE)]);
        let ours = json!({ "command": OWN, "args": ["peer", "--name", "x"] });
        let entries = [("/my/own", ours), ("/their/project", foreign)];
        write(&stage, ".claude.json", &local_entries(&entries));
        let before = everything(&stage);
        let (is_done, said) = setup(&stage, &["--yes"]).await;
        assert!(!is_done && said.contains("/their/project"), "{said}");
        assert!(!said.contains("/my/own") && !said.contains("SECRET"), "{said}");
        same(&before, &everything(&stage));
        // In another project, the permission is for that project alone.
        let path = stage.project().to_str().unwrap().to_owned();
        let (is_done, said) = setup(&stage, &["--yes", "--project", &path]).await;
        assert!(is_done, "{said}");
    }
}

#[tokio::test]
async fn of_many_entries_of_others_only_a_few_are_named() {
    let stage = stage(&[("claude", IDLE)]);
    let names: Vec<_> = (0..300).map(|number| format!("/project\n{number}")).collect();
    let entries = names.iter().map(|name| (name.as_str(), json!({ "command": "sh" })));
    write(&stage, ".claude.json", &local_entries(&entries.collect::<Vec<_>>()));
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(!is_done && said.contains("295 more such entries"), "{said}");
    assert_eq!(said.matches("`projects./project ").count(), 5, "{said}");
}

#[tokio::test]
async fn an_entry_for_one_project_keeps_its_permission_when_setup_removes_by_form() {
    let stage = stage(&[("claude", IDLE)]);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    fs::remove_dir_all(stage.home().join(".local/state/cli-team-bridge/setup")).unwrap();
    let mut all = json(&stage.home().join(".claude.json"));
    all["projects"]["/a/project"] = json!({ "mcpServers": { "bridge": { "command": "sh" } } });
    write(&stage, ".claude.json", &all.to_string());
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--client", "claude-code"]).await;
    assert!(is_done, "{said}");
    let left = json(&stage.home().join(".claude.json"));
    assert!(left["mcpServers"].get("bridge").is_none(), "{left}");
    let settings = json(&stage.home().join(".claude/settings.json"));
    let allowed = settings["permissions"]["allow"].as_array().unwrap();
    assert!(allowed.contains(&json!("mcp__bridge")), "{settings}");
}

#[tokio::test]
async fn words_of_a_file_stay_on_one_line_and_are_cut() {
    let stage = stage(&[("claude", IDLE), ("cursor", IDLE)]);
    let long = "x".repeat(5_000);
    let odd = format!("sh{long}\nclaude-code: all is well");
    let entry = json!({ "mcpServers": { "bridge": { "command": odd } } });
    write(&stage, ".cursor/mcp.json", &entry.to_string());
    let (_, said) = setup(&stage, &["--yes", "--client", "cursor"]).await;
    assert!(said.contains("`shx") && !said.contains("all is well"), "{said}");
    assert!(!said.contains(&long), "{said}");

    let fields = json!({ "env\nsetup: done": 1, long.as_str(): 2 });
    let mut added: Value = serde_json::from_str(&entry_with(&fields)).unwrap();
    added["mcpServers"]["bridge"]["timeout"] = json!(150_000);
    write(&stage, ".claude.json", &added.to_string());
    let (_, said) = setup(&stage, &["--remove", "--dry-run", "--client", "claude-code"]).await;
    assert!(said.contains("in a form that setup does not write"), "{said}");
    assert!(!said.contains("setup: done") && !said.contains(&long), "{said}");
}

#[tokio::test]
async fn a_projects_hook_counts_only_if_its_command_is_ours() {
    let stage = stage(&[("claude", IDLE)]);
    let project = stage.project().to_owned();
    let path = project.to_str().unwrap();
    let hook = |command: &str| json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 60 }] }]);
    let ours = format!("{OWN} hook");
    let brought = json!({ "hooks": {
        "Stop": hook("true # cli-team-bridge hook"),
        "UserPromptSubmit": hook(&ours),
    } });
    fs::create_dir_all(project.join(".claude")).unwrap();
    let file = project.join(".claude/settings.local.json");
    fs::write(&file, brought.to_string()).unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", path]).await;
    assert!(is_done, "{said}");
    let settings = json(&file);
    let stop = settings["hooks"]["Stop"].as_array().unwrap();
    assert_eq!(stop.len(), 2, "{settings}");
    assert_eq!(stop[1]["hooks"][0]["command"], json!(ours), "{settings}");
    let submitted = settings["hooks"]["UserPromptSubmit"].as_array().unwrap();
    assert_eq!(submitted.len(), 1, "ours, with a limit of its own: {settings}");
}

/// Setup would make an entry that the client never sees, and in Gemini CLI's case a client that does not start.
#[tokio::test]
async fn a_file_that_the_client_itself_cannot_read_is_named_and_left_alone() {
    let comma = "{ // mine\n  \"a\": [1, 2],\n}\n";
    for (program, name, file, text, why) in [
        (
            "gemini",
            "Gemini CLI",
            ".gemini/settings.json",
            comma,
            "comma after the last value at line 2 column 14",
        ),
        ("gemini", "Gemini CLI", ".gemini/settings.json", "\u{feff}{}", "byte order mark"),
        (
            "qwen",
            "Qwen Code",
            ".qwen/settings.json",
            comma,
            "comma after the last value at line 2 column 14",
        ),
        (
            "droid",
            "Droid",
            ".factory/mcp.json",
            comma,
            "comma after the last value at line 2 column 14",
        ),
        ("claude", "Claude Code", ".mcp.json", comma, "comment at line 1 column 3"),
        (
            "claude",
            "Claude Code",
            ".claude/settings.local.json",
            comma,
            "comment at line 1 column 3",
        ),
    ] {
        let stage = stage(&[(program, IDLE)]);
        let project = stage.project().to_owned();
        let path = project.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let arguments = ["--yes", "--project", project.to_str().unwrap()];
        let (is_done, said) = setup(&stage, &arguments).await;
        assert!(!is_done && said.contains(&format!("{name} cannot read it: it ")), "{said}");
        assert!(said.contains(why) && said.contains(path.to_str().unwrap()), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let (code, report) = doctor(&stage, arguments[2]).await;
        assert!(code == Some(1) && report.contains(why), "{report}");
    }
    // These read all that setup does, and Gemini CLI reads comments.
    for (program, file, text) in [
        ("zed", ".zed/settings.json", comma),
        ("code", ".vscode/mcp.json", comma),
        ("gemini", ".gemini/settings.json", "// mine\n{ /* two */ }\n"),
    ] {
        let stage = stage(&[(program, IDLE)]);
        let project = stage.project().to_owned();
        fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
        fs::write(project.join(file), text).unwrap();
        let arguments = ["--yes", "--project", project.to_str().unwrap()];
        let (is_done, said) = setup(&stage, &arguments).await;
        let now = fs::read_to_string(project.join(file)).unwrap();
        assert!(is_done && now.contains("// mine") && now.contains("bridge"), "{said}");
    }
}

/// Setup would refuse it, so nobody is sent there.
#[tokio::test]
async fn a_file_that_cannot_be_read_gets_a_remedy_that_can_be_followed() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(8 * 1024 * 1024));
    for (text, why, remedy) in [
        ("{", "it does not parse", "correct FILE, then run"),
        (&long, "it is longer than 8388608 bytes", "remove what FILE does not need, or check it"),
    ] {
        let stage = stage(&[("claude", IDLE)]);
        write(&stage, ".claude.json", text);
        let (code, report) = doctor(&stage, stage.project().to_str().unwrap()).await;
        assert_eq!(code, Some(1), "{report}");
        let file = stage.home().join(".claude.json");
        assert!(report.contains(why), "{report}");
        assert!(report.contains(&remedy.replace("FILE", file.to_str().unwrap())), "{report}");
        assert!(!report.contains("setup --client"), "{report}");
        let (is_done, said) = setup(&stage, &["--yes"]).await;
        assert!(!is_done && said.contains(why), "{said}");
    }
}

/// A tree of such a file for edits took minutes of a slow machine, and gigabytes.
#[tokio::test]
async fn a_file_of_too_many_parts_is_named_and_left_alone() {
    let values = "{},".repeat(340_000);
    let lines = "\n".repeat(1_000_000);
    for (program, file, text) in [
        (
            "gemini",
            ".gemini/settings.json",
            format!("{{\"hooks\": {{\"AfterAgent\": [{values}{{}}]}}}}"),
        ),
        ("gemini", ".gemini/settings.json", format!("{{\"other\": [{values}{{}}]}}")),
        ("cursor", ".cursor/mcp.json", format!("{{{lines}}}")),
        ("codex", ".codex/config.toml", format!("a = [{values}]\n")),
        ("codex", ".codex/config.toml", "[[a]]\n".repeat(170_000)),
        ("codex", ".codex/config.toml", lines.clone()),
    ] {
        let stage = stage(&[(program, IDLE)]);
        let project = stage.project().to_owned();
        let path = project.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
        let arguments = ["--yes", "--project", project.to_str().unwrap()];
        let (is_done, said) = setup(&stage, &arguments).await;
        assert!(!is_done && said.contains("too many to read"), "{said}");
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        assert!(fs::read_to_string(&path).unwrap() == text, "it is as it was");
        let (_, report) = doctor(&stage, arguments[2]).await;
        assert!(report.contains("too many to read"), "{report}");
    }
}

/// The next setup could neither read nor undo it.
#[tokio::test]
async fn a_projects_file_that_would_become_too_long_is_left_alone() {
    let stage = stage(&[("cursor", IDLE)]);
    let project = stage.project().to_owned();
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(1024 * 1024 - 20));
    fs::create_dir(project.join(".cursor")).unwrap();
    fs::write(project.join(".cursor/mcp.json"), &text).unwrap();
    let arguments = ["--yes", "--project", project.to_str().unwrap()];
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(!is_done && said.contains("would be longer than 1048576 bytes"), "{said}");
    assert!(
        fs::read_to_string(project.join(".cursor/mcp.json")).unwrap() == text,
        "it is as it was"
    );
}

/// As editors on Windows write them, perhaps in a folder that both systems share.
#[tokio::test]
async fn a_file_keeps_its_line_ends_and_its_mark() {
    for (client, file, text) in [
        ("codex", ".codex/config.toml", "\u{feff}# mine\r\nmodel = \"x\"\r\n"),
        ("codex", ".codex/config.toml", "# mine\r\nmodel = \"x\"\n\r\n"),
        ("cursor", ".cursor/mcp.json", "\u{feff}{\r\n  \"mine\": 1\r\n}\r\n"),
    ] {
        let stage = stage(&[]);
        write(&stage, file, text);
        let (is_done, said) = setup(&stage, &["--yes", "--client", client]).await;
        assert!(is_done, "{said}");
        let path = stage.home().join(file);
        let written = fs::read_to_string(&path).unwrap();
        let mark = text.chars().next().unwrap();
        assert!(written.starts_with(mark) && written.contains("orchestrator"), "{written:?}");
        let added = written.lines().count() - text.lines().count();
        let ends = |text: &str| text.matches("\r\n").count();
        assert_eq!(ends(&written) - ends(text), added, "{written:?}");
        // Its user goes on with it, so the original is not restored.
        fs::write(&path, written.replace("mine", "MINE")).unwrap();
        let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
        assert!(is_done, "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("mine", "MINE"));
    }
}
