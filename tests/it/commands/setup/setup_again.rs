//! `setup` after a setup: it adds what is missing and keeps the rest, and `--remove` says what it finds.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use super::setup_and_undo::{IDLE, copy_program, json, setup, setup_by, stage, write};
use crate::support::Stage;
use crate::support::home_files::{everything, same};

const OWN: &str = env!("CARGO_BIN_EXE_cli-team-bridge");

/// Changes a JSON file as its user does.
fn change(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = json(path);
    change(&mut value);
    fs::write(path, format!("{value:#}\n")).unwrap();
}

/// Where npm puts its programs need not be on `PATH`: advice to install what is there would never help.
#[tokio::test]
async fn an_adapter_that_is_not_on_path_is_named_with_its_place_and_not_installed_again() {
    let npm = "#!/bin/sh\nif [ \"$1\" = prefix ]; then echo \"$HOME/global\"; exit; fi\n\
        echo \"$@\" >> \"$HOME/npm-calls\"\n/bin/mkdir -p \"$HOME/global/bin\"\n\
        printf '#!/bin/sh\\n' > \"$HOME/global/bin/codex-acp\"\n/bin/chmod +x \"$HOME/global/bin/codex-acp\"\n";
    let stage = stage(&[("codex", IDLE), ("npm", npm)]);
    let line = format!("add `export PATH={}:", stage.home().join("global/bin").display());
    let arguments = ["--yes", "--install-agents"];
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(!is_done && said.contains("the adapter of codex is installed ("), "{said}");
    let next = format!("next: {line}");
    assert!(said.matches(&line).count() == 3, "setup and the doctor below it say so: {said}");
    assert!(said.contains(&next), "nobody is told to start without it: {said}");
    assert!(!said.contains("run `npm install -g @agentclientprotocol/codex-acp`"), "{said}");
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(is_done && said.matches(&line).count() == 3, "{said}");
    let called = fs::read_to_string(stage.home().join("npm-calls")).unwrap();
    assert_eq!(called.lines().count(), 1, "{called}");
}

/// Of these, the vendor's program is what the bridge starts.
#[tokio::test]
async fn an_agent_that_is_not_on_path_is_named_with_its_place() {
    let npm = "#!/bin/sh\n[ \"$1\" = prefix ] && echo \"$HOME/global\"\n";
    for agent in ["gemini", "qwen", "droid"] {
        let stage = stage(&[("npm", npm)]);
        let folder = stage.home().join("global/bin");
        let program = folder.join(agent);
        fs::create_dir_all(&folder).unwrap();
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (_, said) = setup(&stage, &["--yes", "--client", "claude-code"]).await;
        let there = format!("is installed ({}), but not on PATH", program.display());
        assert!(said.contains(&format!("it {there}")), "{said}");
        assert!(said.contains(&format!("`{agent}` {there}")), "by the doctor: {said}");
        let line = format!("next: add `export PATH={}:", folder.display());
        assert!(said.contains(&line), "{said}");
    }
}

#[tokio::test]
async fn a_second_setup_adds_the_missing_hook_and_keeps_the_users_fields() {
    for (client, file, event) in
        [("qwen", ".qwen/settings.json", "Stop"), ("gemini", ".gemini/settings.json", "AfterAgent")]
    {
        let stage = stage(&[]);
        let arguments = ["--client", client, "--yes"];
        assert!(setup(&stage, &arguments).await.0);
        let path = stage.home().join(file);
        let whole = json(&path);
        change(&path, |settings| {
            let entry = &mut settings["mcpServers"]["bridge"];
            entry["env"] = json!({ "MY": "only copy" });
            entry["trust"] = json!(true);
            entry["timeout"] = json!(600_000);
            settings["hooks"].as_object_mut().unwrap().remove(event).unwrap();
        });
        let mut expected = json(&path);
        expected["hooks"][event] = whole["hooks"][event].clone();
        let (is_done, said) = setup(&stage, &arguments).await;
        assert!(is_done, "{said}");
        assert_eq!(json(&path), expected, "{said}");
        let shown: Vec<_> = said.lines().filter(|line| line.starts_with("  + ")).collect();
        assert!(
            shown.len() == 1 && shown[0].starts_with(&format!("  + hooks.{event}: ")),
            "{said}"
        );
        assert!(!said.contains("only copy"), "{said}");
        let before = everything(&stage);
        assert!(setup(&stage, &arguments).await.0);
        same(&before, &everything(&stage));
        // The fields go with the entry, and their names are shown.
        let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
        assert!(
            is_done && said.contains("the fields that were added to the entry: \"env\", \"trust\""),
            "{said}"
        );
        assert!(!path.exists(), "{said}");
    }
}

#[tokio::test]
async fn a_second_setup_in_a_project_keeps_the_users_limit() {
    let stage = stage(&[]);
    let project = stage.project().to_owned();
    let arguments = ["--client", "qwen", "--yes", "--project", project.to_str().unwrap()];
    assert!(setup(&stage, &arguments).await.0);
    let path = project.join(".qwen/settings.json");
    let whole = json(&path);
    change(&path, |settings| {
        settings["mcpServers"]["bridge"]["timeout"] = json!(600_000);
        settings["hooks"].as_object_mut().unwrap().remove("Stop").unwrap();
    });
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(is_done, "{said}");
    let mut expected = whole;
    expected["mcpServers"]["bridge"]["timeout"] = json!(600_000);
    assert_eq!(json(&path), expected, "{said}");
}

/// Written by hand, or changed after setup.
#[tokio::test]
async fn arguments_that_the_bridge_does_not_take_are_named_and_corrected() {
    for (is_by_hand, arguments, wrong) in [
        (true, json!(["orchestrate", "SEKRET"]), "`orchestrate` is not a command"),
        (false, json!(["orchestrator", "--projct", "/x"]), "`--projct` is unknown"),
        (false, json!(null), "there are none"),
    ] {
        let stage = stage(&[("claude", IDLE)]);
        let path = stage.home().join(".claude.json");
        if is_by_hand {
            fs::write(&path, "{}").unwrap();
        } else {
            assert!(setup(&stage, &["--yes"]).await.0);
        }
        change(&path, |all| {
            let mut entry = json!({ "command": OWN, "args": arguments, "env": { "MY": "own" } });
            entry.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            all["mcpServers"] = json!({ "bridge": entry });
        });
        let found = doctor(&stage);
        assert!(found.contains(&format!("has wrong arguments: {wrong}")), "{found}");
        assert!(found.contains("setup --client claude-code`, which sets them"), "{found}");
        let (is_done, said) = setup(&stage, &["--yes"]).await;
        assert!(is_done && !said.contains("another copy"), "{said}");
        assert!(!said.contains("SEKRET") && !found.contains("SEKRET"), "{found}\n{said}");
        assert!(said.contains("  + mcpServers.bridge.args: [\"orchestrator\"]"), "{said}");
        assert!(!said.contains("\"…\""), "{said}");
        let entry = &json(&path)["mcpServers"]["bridge"];
        assert_eq!(entry["args"], json!(["orchestrator"]), "{entry}");
        assert_eq!(entry["env"]["MY"], "own", "{entry}");
        assert!(!doctor(&stage).contains("wrong arguments"));
    }
}

#[tokio::test]
async fn arguments_that_somebody_chose_stay() {
    let stage = stage(&[]);
    let arguments = ["--client", "qwen", "--yes"];
    assert!(setup(&stage, &arguments).await.0);
    let path = stage.home().join(".qwen/settings.json");
    change(&path, |all| {
        all["mcpServers"]["bridge"]["args"] = json!(["orchestrator", "--adopt"]);
    });
    let before = everything(&stage);
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(is_done && said.contains("already set up"), "{said}");
    same(&before, &everything(&stage));
}

fn doctor(stage: &Stage) -> String {
    let mut program = std::process::Command::new(OWN);
    program.args(["doctor", "--no-start"]).env_clear().envs(stage.environment());
    let output = program.current_dir(stage.project()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What a user has who keeps the settings of both clients in one file.
#[tokio::test]
async fn two_clients_with_one_file_get_their_edits_in_one_run() {
    let stage = stage(&[]);
    let mine = "{ \"mine\" : 1 }\n";
    write(&stage, "dotfiles/both.json", mine);
    for folder in [".gemini", ".qwen"] {
        fs::create_dir(stage.home().join(folder)).unwrap();
        symlink("../dotfiles/both.json", stage.home().join(folder).join("settings.json")).unwrap();
    }
    let both = ["--client", "gemini", "--client", "qwen"];
    let (is_done, said) = setup(&stage, &[&both[..], &["--yes"]].concat()).await;
    assert!(is_done, "{said}");
    let path = stage.home().join("dotfiles/both.json");
    let settings = json(&path);
    assert_eq!(settings["mcpServers"]["bridge"]["command"], OWN, "{settings}");
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.keys().collect::<Vec<_>>(), ["AfterAgent", "PostToolBatch", "Stop"]);
    let before = everything(&stage);
    assert!(setup(&stage, &[&both[..], &["--yes"]].concat()).await.0);
    same(&before, &everything(&stage));

    for (client, other) in [("gemini", "qwen"), ("qwen", "gemini")] {
        let (is_done, said) = setup(&stage, &["--remove", "--client", client, "--yes"]).await;
        assert!(!is_done && said.contains(&format!("add `--client {other}`")), "{said}");
        same(&before, &everything(&stage));
    }
    let (is_done, said) = setup(&stage, &[&["--remove", "--yes"], &both[..]].concat()).await;
    assert!(is_done, "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), mine, "{said}");
}

/// A package manager keeps each version in its own directory, and the link to it stays.
#[tokio::test]
async fn the_entry_names_the_program_as_its_user_starts_it() {
    let stage = stage(&[("claude", IDLE)]);
    let real = stage.home().join("cellar/1.0/cli-team-bridge");
    copy_program(&real);
    let link = stage.home().join("bin/cli-team-bridge");
    symlink(&real, &link).unwrap();
    for program in [&link, &real] {
        let (is_done, said) = setup_by(program, &stage, &["--yes"]);
        assert!(is_done, "{said}");
        let entry = &json(&stage.home().join(".claude.json"))["mcpServers"]["bridge"];
        assert_eq!(entry["command"], link.to_str().unwrap());
        let settings = fs::read_to_string(stage.home().join(".claude/settings.json")).unwrap();
        assert!(!settings.contains("cellar"), "{settings}");
    }
    let next = stage.home().join("cellar/1.1/cli-team-bridge");
    fs::create_dir_all(next.parent().unwrap()).unwrap();
    fs::rename(&real, &next).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&next, &link).unwrap();
    let before = everything(&stage);
    let (is_done, said) = setup_by(&link, &stage, &["--yes"]);
    assert!(is_done && said.contains("already set up"), "{said}");
    same(&before, &everything(&stage));
}

#[tokio::test]
async fn a_moved_program_is_shown_with_what_goes_and_what_comes() {
    let stage = stage(&[("claude", IDLE)]);
    let moved = stage.home().join("old/cli-team-bridge");
    copy_program(&moved);
    let mut program = std::process::Command::new(&moved);
    program.args(["setup", "--yes"]).env_clear().envs(stage.environment());
    let output = program.current_dir(stage.project()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let settings = stage.home().join(".claude/settings.json");
    change(&settings, |settings| {
        settings["mine"] = json!(1);
        settings["hooks"].as_object_mut().unwrap().remove("Stop").unwrap();
    });
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let old = moved.to_str().unwrap();
    for shown in [
        format!("  - mcpServers.bridge: {{\"command\":\"{old}\""),
        format!("  + mcpServers.bridge: {{\"command\":\"{OWN}\""),
        format!("  - permissions.allow: [… \"Bash({old} watch:*)\"]"),
        format!("  + permissions.allow: [… \"Bash({OWN} watch:*)\"]"),
    ] {
        assert!(said.contains(&shown), "{shown}: {said}");
    }
    for file in [".claude.json", ".claude/settings.json"] {
        let text = fs::read_to_string(stage.home().join(file)).unwrap();
        assert!(text.contains(OWN) && !text.contains(old), "{text}");
    }
    assert_eq!(json(&settings)["mine"], 1);
    assert!(json(&settings)["hooks"]["Stop"].is_array());
}

#[tokio::test]
async fn remove_names_a_copy_of_its_hooks_under_another_event() {
    let stage = stage(&[("claude", IDLE)]);
    assert!(setup(&stage, &["--yes"]).await.0);
    let file = stage.home().join(".claude/settings.json");
    change(&file, |settings| {
        settings["hooks"]["SubagentStop"] = settings["hooks"]["Stop"].clone();
    });
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    let stays = "  stays: a copy of its hooks in `hooks.SubagentStop`, which you have to remove";
    assert!(is_done && said.matches("  stays: ").count() == 1 && said.contains(stays), "{said}");
    let left = json(&file);
    assert_eq!(left["hooks"].as_object().unwrap().len(), 1, "{left}");
}

#[tokio::test]
async fn remove_names_what_has_taken_the_place_of_its_entry() {
    let stage = stage(&[]);
    let project = stage.project().to_owned();
    let named = project.to_str().unwrap();
    let clients = ["--client", "claude-code", "--client", "qwen", "--client", "cursor"];
    let arguments = [&clients[..], &["--yes", "--project", named]].concat();
    assert!(setup(&stage, &arguments).await.0);
    for file in [".mcp.json", ".qwen/settings.json"] {
        change(&project.join(file), |settings| {
            let args = ["-c", "evil", "SECRET"];
            settings["mcpServers"]["bridge"] = json!({ "command": "/bin/sh", "args": args });
        });
    }
    fs::write(project.join(".cursor/mcp.json"), "{}\n").unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--project", named]).await;
    assert!(is_done, "{said}");
    let stays = "  stays: `mcpServers.bridge`, which setup did not write: `/bin/sh`";
    assert_eq!(said.matches(stays).count(), 2, "{said}");
    assert!(!said.contains("SECRET") && !said.contains("- mcpServers.bridge"), "{said}");
    for file in [".mcp.json", ".cursor/mcp.json"] {
        let path = project.join(file);
        let nothing = format!("Nothing to undo in {path:?}; its record is removed.");
        assert!(said.contains(&nothing), "{nothing}: {said}");
        assert!(!said.contains(&format!("Undone in {path:?}")), "{said}");
    }
    assert_eq!(json(&project.join(".mcp.json"))["mcpServers"]["bridge"]["command"], "/bin/sh");
    // What let it run is gone, and so are the hooks beside it.
    assert!(!project.join(".claude/settings.local.json").exists(), "{said}");
    assert!(json(&project.join(".qwen/settings.json")).get("hooks").is_none(), "{said}");
}

#[tokio::test]
async fn an_entry_that_leads_nowhere_is_corrected_and_the_users_fields_in_it_stay() {
    let stage = stage(&[]);
    let arguments = ["--client", "qwen", "--yes"];
    assert!(setup(&stage, &arguments).await.0);
    let path = stage.home().join(".qwen/settings.json");
    change(&path, |settings| {
        let entry = &mut settings["mcpServers"]["bridge"];
        entry["env"] = json!({ "MY": "only copy" });
        entry["command"] = json!("/gone/cli-team-bridge");
    });
    let mut expected = json(&path);
    expected["mcpServers"]["bridge"]["command"] = json!(OWN);
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(is_done, "{said}");
    assert_eq!(json(&path), expected, "{said}");
    for shown in [
        "  - mcpServers.bridge.command: \"/gone/cli-team-bridge\"".to_owned(),
        format!("  + mcpServers.bridge.command: \"{OWN}\""),
    ] {
        assert!(said.contains(&shown), "{shown}: {said}");
    }
    let before = everything(&stage);
    assert!(setup(&stage, &arguments).await.0);
    same(&before, &everything(&stage));
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done && !path.exists(), "{said}");

    // One that its user has written, too.
    write(
        &stage,
        ".qwen/settings.json",
        r#"{"mcpServers": {"bridge": {"command": "/gone/cli-team-bridge", "args": ["orchestrator"]}}}"#,
    );
    let (is_done, said) = setup(&stage, &arguments).await;
    assert!(is_done, "{said}");
    assert_eq!(json(&path)["mcpServers"]["bridge"]["command"], OWN, "{said}");
}

/// The repository may have brought the fields, and the entry would start something else with them.
#[tokio::test]
async fn a_projects_entry_that_leads_nowhere_is_corrected_only_if_nothing_was_added_to_it() {
    let stage = stage(&[]);
    let project = stage.project().to_owned();
    let arguments = ["--client", "qwen", "--yes", "--project", project.to_str().unwrap()];
    assert!(setup(&stage, &arguments).await.0);
    let path = project.join(".qwen/settings.json");
    for (field, is_corrected) in [("timeout", true), ("env", false)] {
        change(&path, |settings| {
            let entry = &mut settings["mcpServers"]["bridge"];
            entry[field] = json!(600_000);
            entry["command"] = json!("/gone/cli-team-bridge");
        });
        let (is_done, said) = setup(&stage, &arguments).await;
        assert_eq!(is_done, is_corrected, "{said}");
        let refusal = "starts a program that is missing: `/gone/cli-team-bridge`. Correct its `command` by hand";
        assert_eq!(said.contains(refusal), !is_corrected, "{said}");
        let command = if is_corrected { OWN } else { "/gone/cli-team-bridge" };
        assert_eq!(json(&path)["mcpServers"]["bridge"]["command"], command, "{said}");
    }
}

#[tokio::test]
async fn another_version_in_a_package_cache_renews_the_copy_and_a_copy_that_is_gone_is_made_anew() {
    let stage = stage(&[("claude", IDLE)]);
    let cached = stage.home().join("_npx/1f/cli-team-bridge");
    copy_program(&cached);
    let copy = stage.home().join(".local/bin/cli-team-bridge");
    let run = |arguments: &[&str]| {
        let (is_done, said) = setup_by(&cached, &stage, arguments);
        assert!(is_done, "{said}");
        said
    };
    let is_renewed = || fs::read(&copy).unwrap() == fs::read(&cached).unwrap();
    run(&["--yes"]);
    let settings = fs::read(stage.home().join(".claude.json")).unwrap();
    // As another version has other bytes.
    let bytes = [fs::read(&cached).unwrap(), b"newer".to_vec()].concat();
    fs::write(&cached, bytes).unwrap();
    let said = run(&["--dry-run"]);
    assert!(said.contains("is another version") && !is_renewed(), "{said}");
    run(&["--yes"]);
    assert!(is_renewed());
    fs::remove_file(&copy).unwrap();
    let said = run(&["--yes"]);
    assert!(said.contains("is gone") && is_renewed(), "{said}");
    let said = run(&["--yes"]);
    assert!(!said.contains("The program that your clients start"), "{said}");
    assert_eq!(fs::read(stage.home().join(".claude.json")).unwrap(), settings);
    run(&["--remove", "--yes"]);
    assert!(!copy.exists());
}
