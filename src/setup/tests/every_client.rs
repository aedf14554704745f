//! The promise for every client: its files can be created, changed once, and restored.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::setup::clients::{CLIENTS, named};
use crate::setup::edits::config_edit::FileEdits;
use crate::setup::known_client::{ClientFile, Places, SERVER, Server};
use crate::setup::setup_plan::{Addition, Earlier, Removal, plan_addition, plan_removal};
use crate::setup::setup_record::{Owner, SetupRecord};
use crate::setup::unrecorded_edits::{recognize, take_out};

fn places(variables: &[(&str, &str)], is_mac: bool) -> Places {
    let find = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).into())
    };
    Places::read(find, is_mac).unwrap()
}

fn server() -> Server {
    Server { program: "/b/cli-team-bridge".to_owned() }
}

fn all_files() -> Vec<(&'static str, ClientFile)> {
    let places = places(&[("HOME", "/home/u")], false);
    let of = |client: &'static crate::setup::known_client::Client| {
        let files = (client.for_user)(&places, &server()).into_iter();
        let files = files.chain((client.for_project)(Path::new("/p"), &server()));
        files.map(|file| (client.name, file)).collect::<Vec<_>>()
    };
    CLIENTS.iter().flat_map(of).collect()
}

/// Texts that a user's file may have, by its kind.
fn texts(path: &Path) -> [Option<&'static str>; 3] {
    if path.extension().is_some_and(|kind| kind == "toml") {
        [None, Some("# mine\nmodel = \"x\"\n"), Some("a = 1\n\n[b]\nc = 2")]
    } else {
        [None, Some("{\n\t\"a\": [1, 2],\n\t\"b\": {}\n}"), Some("{\"a\":1}\n")]
    }
}

#[test]
fn a_file_is_changed_once_and_is_then_as_it_was_to_the_byte() {
    for (name, file) in all_files() {
        for before in texts(&file.path) {
            let planned = plan_addition(before, &file.edits, name, None).unwrap();
            let Addition::Write { after, original, ours, made, .. } = planned else {
                panic!("{name}: nothing was added to {before:?}");
            };
            assert_eq!(original.as_deref(), before);
            let owner = Owner { client: name, project: None };
            let record = SetupRecord::new(owner, &file.path, before, &after, (ours, made));
            let earlier = Earlier { record, original };
            let again = plan_addition(Some(&after), &file.edits, name, Some(&earlier));
            assert_eq!(again, Ok(Addition::Nothing), "{name}");
            let expected = before.map_or(Removal::Delete, |text| Removal::Write(text.to_owned()));
            assert_eq!(plan_removal(&after, &earlier), Ok(expected), "{name}");
            // After a change by the user, only our edits are removed.
            let touched = format!("{after}\n");
            let left = plan_removal(&touched, &earlier).unwrap();
            match left {
                Removal::Write(left) => assert!(!left.contains("bridge"), "{name}: {left}"),
                other => assert_eq!((before, other), (None, Removal::Delete), "{name}"),
            }
        }
    }
}

#[test]
fn a_moved_program_gets_its_new_path_and_the_original_is_kept() {
    let places = places(&[("HOME", "/home/u")], false);
    let moved = Server { program: "/new/cli-team-bridge".to_owned() };
    for client in &CLIENTS {
        let files = (client.for_user)(&places, &server());
        for (file, new) in files.iter().zip((client.for_user)(&places, &moved)) {
            let before = texts(&file.path)[1];
            let planned = plan_addition(before, &file.edits, client.name, None).unwrap();
            let Addition::Write { after, original, ours, made, .. } = planned else {
                panic!("nothing was added");
            };
            let owner = Owner { client: client.name, project: None };
            let record = SetupRecord::new(owner, &file.path, before, &after, (ours, made));
            let earlier = Earlier { record, original };
            let planned =
                plan_addition(Some(&after), &new.edits, client.name, Some(&earlier)).unwrap();
            let Addition::Write { after, original, .. } = planned else {
                panic!("{}: the path did not change", client.name);
            };
            assert_eq!(original.as_deref(), before);
            assert!(after.contains("/new/") && !after.contains("/b/"), "{after}");
        }
    }
}

/// Returns what is written into a JSON file that does not exist yet.
fn written(file: &ClientFile) -> Value {
    written_by(&file.edits)
}

fn written_by(edits: &FileEdits) -> Value {
    match plan_addition(None, edits, "any", None).unwrap() {
        Addition::Write { after, .. } => serde_json::from_str(&after).unwrap(),
        Addition::Nothing => panic!("nothing was written"),
    }
}

#[test]
fn a_limit_of_a_client_is_not_lowered_and_one_of_an_earlier_setup_stays_and_can_be_undone() {
    let places = places(&[("HOME", "/home/u")], false);
    for client in &CLIENTS {
        for file in (client.for_user)(&places, &server()) {
            let now = client.to_write(&file.edits);
            if !["gemini", "qwen"].contains(&client.name) {
                assert_eq!(now, file.edits, "{}", client.name);
                continue;
            }
            let entry = &written_by(&now)["mcpServers"][SERVER];
            assert_eq!(
                (&entry["command"], entry.get("timeout")),
                (&"/b/cli-team-bridge".into(), None)
            );
            let planned = plan_addition(None, &file.edits, client.name, None).unwrap();
            let Addition::Write { after, original, ours, made, .. } = planned else {
                panic!("nothing was added");
            };
            assert!(after.contains("150000"), "{after}");
            let owner = Owner { client: client.name, project: None };
            let record = SetupRecord::new(owner, &file.path, None, &after, (ours, made));
            let earlier = Earlier { record, original };
            let again = plan_addition(Some(&after), &now, client.name, Some(&earlier));
            assert_eq!(again, Ok(Addition::Nothing), "{}", client.name);
            assert_eq!(plan_removal(&after, &earlier), Ok(Removal::Delete), "{}", client.name);
            for text in [after, written_by(&now).to_string()] {
                let edits_for = |program: &str| {
                    let server = Server { program: program.to_owned() };
                    let files = (client.for_user)(&places, &server).into_iter();
                    files.map(|file| client.in_each_form(&file.edits)).collect::<Vec<_>>()
                };
                let found = recognize(&[&text], false, edits_for).unwrap();
                let left = take_out(&text, &found[0].ours).unwrap();
                assert!(!left.contains("bridge"), "{}: {left}", client.name);
            }
        }
    }
}

#[test]
fn qwen_code_and_gemini_cli_get_the_hooks_that_announce_messages() {
    let places = places(&[("HOME", "/home/u")], false);
    for (client, expected) in
        [("qwen", &["PostToolBatch", "Stop"] as &[&str]), ("gemini", &["AfterAgent"])]
    {
        let files = (named(client).unwrap().for_user)(&places, &server());
        let [file] = &files[..] else { panic!("{client}: {files:?}") };
        let settings = written(file);
        let hooks = settings["hooks"].as_object().unwrap();
        assert_eq!(hooks.keys().collect::<Vec<_>>(), expected, "{client}");
        for definitions in hooks.values() {
            let hook = &definitions[0]["hooks"][0];
            assert_eq!(hook["command"], "/b/cli-team-bridge hook", "{client}");
            // Milliseconds: older versions of Qwen Code would wait 15 ms.
            assert_eq!(hook["timeout"], 15_000, "{client}");
        }
    }
}

#[test]
fn the_files_for_claude_code_follow_its_documentation() {
    let places = places(&[("HOME", "/home/u"), ("CLAUDE_CONFIG_DIR", "/c")], false);
    let files = (named("claude-code").unwrap().for_user)(&places, &server());
    let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(paths, [PathBuf::from("/c/.claude.json"), PathBuf::from("/c/settings.json")]);
    let server = &written(&files[0])["mcpServers"][SERVER];
    assert_eq!(server["command"], "/b/cli-team-bridge");
    assert_eq!(server["timeout"], 150_000);
    let settings = written(&files[1]);
    let allowed =
        ["mcp__bridge", "Bash(/b/cli-team-bridge watch:*)", "Bash(cli-team-bridge watch:*)"];
    assert_eq!(settings["permissions"]["allow"], serde_json::json!(allowed));
    for event in ["PostToolUse", "UserPromptSubmit", "Stop"] {
        let hook = &settings["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["command"], "/b/cli-team-bridge hook", "{event}");
        assert_eq!(hook["timeout"], 15);
    }
    assert_eq!(settings["hooks"]["PostToolUse"][0]["matcher"], "*");
}

#[test]
fn files_are_where_the_platform_and_the_user_want_them() {
    let check = |client: &str, variables: &[(&str, &str)], is_mac: bool, expected: &str| {
        let places = places(&[variables, &[("HOME", "/home/u")]].concat(), is_mac);
        let files = (named(client).unwrap().for_user)(&places, &server());
        assert_eq!(files[0].path, Path::new(expected), "{client}");
    };
    check("claude-code", &[], false, "/home/u/.claude.json");
    check("codex", &[], false, "/home/u/.codex/config.toml");
    check("codex", &[("CODEX_HOME", "/x")], false, "/x/config.toml");
    check("codex", &[("CODEX_HOME", "relative")], false, "/home/u/.codex/config.toml");
    check("gemini", &[], false, "/home/u/.gemini/settings.json");
    check("qwen", &[], false, "/home/u/.qwen/settings.json");
    check("droid", &[], false, "/home/u/.factory/mcp.json");
    check("vscode", &[], false, "/home/u/.config/Code/User/mcp.json");
    check("vscode", &[("XDG_CONFIG_HOME", "/x")], false, "/x/Code/User/mcp.json");
    check("vscode", &[], true, "/home/u/Library/Application Support/Code/User/mcp.json");
    check("cursor", &[], true, "/home/u/.cursor/mcp.json");
    check("zed", &[], true, "/home/u/.config/zed/settings.json");
    let desktop = "/home/u/Library/Application Support/Claude/claude_desktop_config.json";
    check("claude-desktop", &[], true, desktop);
    assert!(Places::read(|_| None, false).is_none());
}
