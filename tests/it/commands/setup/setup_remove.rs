//! `setup --remove` without records: after they were lost, and after a project has moved.

use std::fs;

use super::setup_and_undo::{IDLE, copy_program, json, setup, stage, write};
use crate::support::home_files::{everything, same};
use crate::support::{Stage, Terminal};

/// Loses the records, as a user does who clears `~/.local/state`.
fn lose_records(stage: &Stage) {
    fs::remove_dir_all(stage.home().join(".local/state/cli-team-bridge")).unwrap();
}

fn read(stage: &Stage, file: &str) -> String {
    fs::read_to_string(stage.home().join(file)).unwrap()
}

#[tokio::test]
async fn without_records_remove_shows_and_removes_what_has_the_form_of_setup() {
    let stage = stage(&[("claude", IDLE), ("codex", IDLE), ("zed", IDLE)]);
    write(&stage, ".claude.json", "{\"mcpServers\":{\"other\":{\"env\":{\"KEY\":\"SECRET\"}}}}");
    write(&stage, ".claude/settings.json", "{\"permissions\":{\"allow\":[\"Read\"]}}");
    write(&stage, ".codex/config.toml", "# mine\nmodel = \"x\"   # why\n");
    write(&stage, ".config/zed/settings.json", "// mine\n{\n  \"theme\": \"One\", // dark\n}\n");
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    lose_records(&stage);
    let before = everything(&stage);

    let (is_done, said) = setup(&stage, &["--remove", "--dry-run"]).await;
    assert!(is_done && said.contains("setup has no record of these files"), "{said}");
    for shown in [
        "- mcpServers.bridge: {",
        "- permissions.allow: [… \"mcp__bridge\"]",
        "- hooks.Stop: [… {",
        "- mcp_servers.bridge: {",
        "- context_servers.bridge: {",
    ] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
    assert!(!said.contains("SECRET"), "{said}");
    same(&before, &everything(&stage));
    let (is_done, said) = setup(&stage, &["--remove"]).await;
    assert!(!is_done && said.contains("there is no terminal to ask at"), "{said}");
    same(&before, &everything(&stage));

    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done && said.contains("setup --remove --client zed` removes them"), "{said}");
    same(&before, &everything(&stage));

    let mut terminal = Terminal::run_with(&stage, &["setup", "--remove"], (160, 300));
    for file in
        [".claude.json", ".claude/settings.json", ".codex/config.toml", ".config/zed/settings.json"]
    {
        terminal.until_shows(&format!("{file}\"? [y/N]")).await;
        terminal.press("y\n");
    }
    assert_eq!(terminal.ended("next: restart the clients").await, Some(0));
    let claude = json(&stage.home().join(".claude.json"));
    let left = serde_json::json!({ "mcpServers": { "other": { "env": { "KEY": "SECRET" } } } });
    assert_eq!(claude, left);
    let settings = json(&stage.home().join(".claude/settings.json"));
    assert_eq!(settings["permissions"]["allow"], serde_json::json!(["Read"]), "{settings}");
    assert_eq!(read(&stage, ".codex/config.toml"), "# mine\nmodel = \"x\"   # why\n");
    let zed = read(&stage, ".config/zed/settings.json");
    assert!(zed.contains("// mine") && zed.contains("// dark"), "{zed}");
    for (path, text) in everything(&stage) {
        let is_copy = path.extension().is_some_and(|end| end == "before-remove");
        assert!(is_copy || !text.contains("cli-team-bridge"), "{}: {text}", path.display());
    }
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done && said.contains("Nothing to undo"), "{said}");
}

#[tokio::test]
async fn without_records_what_setup_would_not_write_stays_and_is_named() {
    let stage = stage(&[]);
    let by_hand = "{\"mcpServers\":{\"bridge\":{\"command\":\"cli-team-bridge\",\"args\":[\"orchestrator\"]}}}";
    write(&stage, ".claude.json", by_hand);
    write(&stage, ".claude/settings.json", "{\"permissions\":{\"allow\":[\"mcp__bridge\"]}}");
    write(&stage, ".cursor/mcp.json", "{\"mcpServers\":{\"bridge\":{\"command\":\"/x/other\"}}}");
    write(&stage, ".gemini/settings.json", "{ \"a\": ");
    let before = everything(&stage);
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done && said.contains("Nothing to undo"), "{said}");
    let named =
        ".claude.json\": `mcpServers.bridge` names this program in a form that setup does not";
    assert!(said.contains(named), "{said}");
    assert!(!said.contains(".cursor") && !said.contains(".gemini"), "{said}");
    same(&before, &everything(&stage));
}

/// A client with a record has only what the record says: an entry that its user wrote like setup's is not setup's.
#[tokio::test]
async fn with_a_record_an_entry_of_the_user_in_the_form_of_setup_stays() {
    let stage = stage(&[("claude", IDLE)]);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let written = read(&stage, ".claude.json");
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    write(&stage, ".claude.json", &written);
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    assert_eq!(read(&stage, ".claude.json"), written);
    assert!(!stage.home().join(".claude").exists(), "{said}");
}

/// As README prints it, and as setup would write it too.
fn by_hand(further: &str) -> String {
    format!(
        "{{ \"mcpServers\": {{ \"bridge\": {{ \"command\": \"/x/cli-team-bridge\", \"args\": [\"orchestrator\"], \"timeout\": 150000{further} }} }} }}\n"
    )
}

#[tokio::test]
async fn remove_leaves_entries_that_setup_never_wrote_however_often_it_runs() {
    let stage = stage(&[]);
    for file in [".gemini/settings.json", ".qwen/settings.json"] {
        write(&stage, file, &by_hand(""));
    }
    let before = everything(&stage);
    let (is_done, said) = setup(&stage, &["--yes", "--client", "gemini"]).await;
    assert!(is_done, "{said}");
    for _ in 0..2 {
        let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
        let hint = "setup --remove --client qwen` removes them";
        assert!(is_done && said.contains(hint), "{said}");
        // It remembers that Gemini's entry is its user's.
        let mut now = everything(&stage);
        now.retain(|path, _| !path.starts_with(stage.home().join(".local")));
        same(&before, &now);
    }
}

#[tokio::test]
async fn of_a_file_from_which_entries_go_by_their_form_a_copy_is_kept() {
    let stage = stage(&[]);
    write(&stage, ".qwen/settings.json", &by_hand(""));
    write(&stage, ".gemini/settings.json", &by_hand(", \"env\": { \"A\": \"1\" }"));
    let clients = ["--client", "qwen", "--client", "gemini"];
    let (is_done, said) = setup(&stage, &[&["--remove", "--yes"], &clients[..]].concat()).await;
    assert!(
        is_done && said.contains("gemini/settings.json\": `mcpServers.bridge` names"),
        "{said}"
    );
    assert!(!read(&stage, ".qwen/settings.json").contains("bridge"), "{said}");
    assert_eq!(read(&stage, ".gemini/settings.json"), by_hand(", \"env\": { \"A\": \"1\" }"));
    let copy = said.split("(as it was: \"").nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(fs::read_to_string(copy.unwrap()).unwrap(), by_hand(""));
}

#[tokio::test]
async fn a_moved_project_loses_its_entries_at_its_new_place() {
    let stage = stage(&[("claude", IDLE), ("cursor", IDLE)]);
    let (old, new) = (stage.home().join("old"), stage.home().join("new"));
    fs::create_dir_all(old.join(".claude/bridge")).unwrap();
    fs::write(old.join(".mcp.json"), "{\"mcpServers\":{}}").unwrap();
    let (is_done, said) = setup(&stage, &["--yes", "--project", old.to_str().unwrap()]).await;
    assert!(is_done, "{said}");
    fs::rename(&old, &new).unwrap();
    let named = new.to_str().unwrap();
    let clients = ["--client", "claude-code", "--client", "cursor"];
    let (is_done, said) =
        setup(&stage, &[&["--remove", "--yes", "--project", named], &clients[..]].concat()).await;
    assert!(is_done && said.contains("setup has no record of these files"), "{said}");
    for file in [".mcp.json", ".claude/settings.local.json", ".cursor/mcp.json"] {
        let text = fs::read_to_string(new.join(file)).unwrap();
        assert!(!text.contains("bridge"), "{file}: {text}");
    }
    // The records of the old place stay until its user says that it is gone for good.
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(!is_done && said.contains("old\" is not there now, so the record stays"), "{said}");
    let named = old.to_str().unwrap();
    let forget = format!("setup --remove --project {named}` forgets it");
    assert!(said.contains(&forget), "{said}");
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--project", named]).await;
    assert!(is_done && said.contains("it has none of setup's changes"), "{said}");
    let kept = fs::read_dir(stage.home().join(".local/state/cli-team-bridge/setup")).unwrap();
    let mut kept = kept.map(|entry| entry.unwrap().path());
    assert!(kept.all(|path| path.extension().is_none_or(|end| end != "original")));
    assert!(!old.exists());
}

#[tokio::test]
async fn who_declines_is_told_how_to_call_the_program_later() {
    let stage = stage(&[("cursor", IDLE)]);
    let program = env!("CARGO_BIN_EXE_cli-team-bridge");
    assert!(setup(&stage, &["--yes"]).await.0);
    let before = everything(&stage);
    let mut terminal = Terminal::run_with(&stage, &["setup", "--remove"], (100, 200));
    terminal.until_shows("Undo this? [y/N]").await;
    terminal.press("n\n");
    let next = format!("next: run `{program} setup --remove` again when you want to undo this.");
    assert_eq!(terminal.ended(&next).await, Some(0));
    same(&before, &everything(&stage));
}

/// Its disk may not be mounted, and then there is no directory, or an empty one.
#[tokio::test]
async fn a_project_that_is_not_there_now_is_undone_when_it_is_back() {
    let stage = stage(&[("claude", IDLE), ("cursor", IDLE)]);
    let (place, away) = (stage.home().join("disk"), stage.home().join("away"));
    fs::create_dir_all(place.join(".cursor")).unwrap();
    fs::write(place.join(".cursor/mcp.json"), "{ \"mine\" : 1 }").unwrap();
    let before = everything(&stage);
    assert!(setup(&stage, &["--yes"]).await.0);
    let (is_done, said) = setup(&stage, &["--yes", "--project", place.to_str().unwrap()]).await;
    assert!(is_done, "{said}");
    fs::rename(&place, &away).unwrap();
    for is_empty in [false, true] {
        if is_empty {
            fs::create_dir(&place).unwrap();
        }
        let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
        let why = "disk\" is not there now, so the record stays. Run this again when it is back";
        assert!(!is_done && said.matches(why).count() == 3, "{said}");
        assert!(!stage.home().join(".claude.json").exists(), "the others are undone: {said}");
    }
    fs::remove_dir(&place).unwrap();
    fs::rename(&away, &place).unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    same(&before, &everything(&stage));
}

/// Links may lead from the places of clients to a directory on another disk.
#[tokio::test]
async fn a_file_on_a_disk_that_is_not_there_now_keeps_its_record() {
    let stage = stage(&[]);
    let disk = tempfile::tempdir().unwrap();
    let (place, away) = (disk.path().join("dotfiles"), disk.path().join("away"));
    fs::create_dir(&place).unwrap();
    fs::write(place.join("mcp.json"), "{ \"mine\" : 1 }").unwrap();
    fs::create_dir(stage.home().join(".cursor")).unwrap();
    std::os::unix::fs::symlink(place.join("mcp.json"), stage.home().join(".cursor/mcp.json"))
        .unwrap();
    assert!(setup(&stage, &["--yes", "--client", "cursor"]).await.0);
    fs::rename(&place, &away).unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(!is_done && said.contains("If it is gone for good, remove \""), "{said}");
    fs::rename(&away, &place).unwrap();
    let (is_done, said) = setup(&stage, &["--remove", "--yes"]).await;
    assert!(is_done, "{said}");
    assert_eq!(fs::read_to_string(place.join("mcp.json")).unwrap(), "{ \"mine\" : 1 }");
}

/// As its user does who adds a hook at the same event, or lets ours wait longer.
#[tokio::test]
async fn of_a_group_with_a_hook_of_the_user_only_ours_is_taken_out() {
    for is_recorded in [true, false] {
        let stage = stage(&[("claude", IDLE)]);
        assert!(setup(&stage, &["--yes"]).await.0);
        let path = stage.home().join(".claude/settings.json");
        let mut settings = json(&path);
        let mine = serde_json::json!({ "type": "command", "command": "mine" });
        let hooks = &mut settings["hooks"];
        hooks["Stop"][0]["hooks"].as_array_mut().unwrap().insert(0, mine.clone());
        hooks["PostToolUse"][0]["hooks"][0]["timeout"] = serde_json::json!(77);
        hooks["PostToolUse"][0]["matcher"] = serde_json::json!("Bash");
        let command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap();
        let wrapped = format!("nice {command}");
        hooks["UserPromptSubmit"][0]["hooks"][0]["command"] = wrapped.clone().into();
        fs::write(&path, format!("{settings:#}\n")).unwrap();
        if !is_recorded {
            lose_records(&stage);
        }
        let (is_done, said) =
            setup(&stage, &["--remove", "--yes", "--client", "claude-code"]).await;
        assert!(is_done, "{said}");
        assert!(said.contains("remove it by hand if you do not need it"), "{said}");
        let left = json(&path);
        assert_eq!(left["hooks"]["Stop"], serde_json::json!([{ "hooks": [mine] }]), "{said}");
        let submitted = &left["hooks"]["UserPromptSubmit"];
        assert_eq!(submitted[0]["hooks"][0]["command"], wrapped, "{said}");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("cli-team-bridge").count(), 1, "{text}");
    }
}

#[tokio::test]
async fn our_hook_in_a_group_of_the_user_moves_with_the_program() {
    let stage = stage(&[("claude", IDLE)]);
    let moved = stage.home().join("old/cli-team-bridge");
    copy_program(&moved);
    let (is_done, said) = super::setup_and_undo::setup_by(&moved, &stage, &["--yes"]);
    assert!(is_done, "{said}");
    let path = stage.home().join(".claude/settings.json");
    let mut settings = json(&path);
    let mine = serde_json::json!({ "type": "command", "command": "mine" });
    settings["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(mine.clone());
    fs::write(&path, format!("{settings:#}\n")).unwrap();
    let (is_done, said) = setup(&stage, &["--yes"]).await;
    assert!(is_done, "{said}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(moved.to_str().unwrap()), "{text}");
    let stop = json(&path)["hooks"]["Stop"].clone();
    assert_eq!(stop[0]["hooks"], serde_json::json!([mine]), "{stop}");
    assert!(setup(&stage, &["--remove", "--yes"]).await.0);
    assert_eq!(json(&path), serde_json::json!({ "hooks": { "Stop": [{ "hooks": [mine] }] } }));
}

#[tokio::test]
async fn without_records_the_copy_of_the_program_stays_and_is_named() {
    let stage = stage(&[("claude", IDLE)]);
    let cached = stage.home().join("_npx/1f/cli-team-bridge");
    copy_program(&cached);
    let mut program = std::process::Command::new(&cached);
    program.args(["setup", "--yes"]).env_clear().envs(stage.environment());
    let output = program.current_dir(stage.project()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    lose_records(&stage);
    let (is_done, said) = setup(&stage, &["--remove", "--yes", "--client", "claude-code"]).await;
    assert!(is_done && said.contains("Removed setup's entries from"), "{said}");
    let why = "cli-team-bridge\": setup may have made this copy of the program";
    assert!(said.contains(why), "{said}");
    assert!(stage.home().join(".local/bin/cli-team-bridge").exists(), "{said}");
}

#[tokio::test]
async fn the_next_setup_removes_the_copies_that_a_killed_one_left() {
    let stage = stage(&[("cursor", IDLE)]);
    write(&stage, ".cursor/mcp.json", "{}");
    assert!(setup(&stage, &["--yes"]).await.0);
    let folder = stage.home().join(".local/state/cli-team-bridge/setup");
    let before = everything(&stage);
    // What a kill leaves before the record is written, and while the original is.
    let id = "0190c42e-59cf-7d2a-8f5c-9d3c1b7a2e61";
    let left =
        ["0123456789abcdef.original".to_owned(), format!(".0123456789abcdef.original.{id}.tmp")];
    let others = ["mine.original", "0123456789abcdef.original.orig", ".mine.tmp"];
    let names = || left.iter().map(String::as_str).chain(others);
    for name in names() {
        fs::write(folder.join(name), "a key").unwrap();
    }
    // One that a living process writes.
    let written = format!(".fedcba9876543210.original.{}1.tmp", &id[..35]);
    let writer = fs::File::create_new(folder.join(&written)).unwrap();
    writer.lock().unwrap();
    assert!(setup(&stage, &["--dry-run"]).await.0);
    assert!(names().all(|name| folder.join(name).exists()), "a trial changes nothing");
    assert!(setup(&stage, &["--yes"]).await.0);
    for name in &left {
        assert!(!folder.join(name).exists(), "{name}");
    }
    for name in others.iter().copied().chain([written.as_str()]) {
        assert!(folder.join(name).exists(), "{name}");
        fs::remove_file(folder.join(name)).unwrap();
    }
    assert_eq!(everything(&stage), before, "the record and its original stay");
}

/// A second removal, or one after a kill, has no records: what the first has put back must not go by its form.
#[tokio::test]
async fn a_second_remove_leaves_the_entry_that_the_first_has_put_back() {
    for takes_over in [true, false] {
        let stage = stage(&[("cursor", IDLE), ("claude", IDLE)]);
        let own = env!("CARGO_BIN_EXE_cli-team-bridge");
        let program = if takes_over { "/gone/cli-team-bridge" } else { own };
        let entry = serde_json::json!({ "command": program, "args": ["orchestrator"] });
        let cursor =
            serde_json::json!({ "mcpServers": { "bridge": entry }, "mine": 1 }).to_string();
        write(&stage, ".cursor/mcp.json", &cursor);
        // Beside an entry of the user's, setup adds only permissions and hooks.
        assert!(setup(&stage, &["--client", "claude-code", "--yes"]).await.0);
        lose_records(&stage);
        fs::remove_file(stage.home().join(".claude/settings.json")).unwrap();
        let claude = read(&stage, ".claude.json");

        let (is_done, said) = setup(&stage, &["--yes"]).await;
        assert!(is_done, "{said}");
        let clients = ["--remove", "--client", "cursor", "--client", "claude-code", "--yes"];
        for _ in 0..3 {
            let (is_done, said) = setup(&stage, &clients).await;
            assert!(is_done, "{said}");
            assert_eq!(read(&stage, ".cursor/mcp.json"), cursor, "{said}");
            assert_eq!(read(&stage, ".claude.json"), claude, "{said}");
        }
        let (is_done, said) = setup(&stage, &clients).await;
        assert!(is_done && said.contains("so the entries in its form there are yours"), "{said}");
        // What the advice says: it asks. After that, nothing has to be remembered.
        let mut terminal = Terminal::run_with(&stage, &["setup", "--remove"], (160, 300));
        for file in [".claude.json", ".cursor/mcp.json"] {
            terminal.until_shows(&format!("{file}\"? [y/N]")).await;
            terminal.press("y\n");
        }
        assert_eq!(terminal.ended("next: restart the clients").await, Some(0));
        let records = stage.home().join(".local/state/cli-team-bridge/setup");
        let names = fs::read_dir(&records).unwrap().flatten();
        let names: Vec<_> = names.map(|one| one.file_name().into_string().unwrap()).collect();
        assert!(!names.iter().any(|name| name.ends_with(".undone")), "{names:?}");
    }
}
