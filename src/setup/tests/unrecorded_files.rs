//! Files that setup has written and of which no record is left: what has setup's form is found, and nothing else.

use std::path::Path;

use serde_json::{Value, json};

use crate::setup::clients::{CLIENTS, named};
use crate::setup::edits::config_edit::{FileEdits, JsonEdit};
use crate::setup::known_client::{ClientFile, Places, Server};
use crate::setup::setup_plan::{Addition, plan_addition};
use crate::setup::unrecorded_edits::{Recognized, recognize, take_out};

fn places() -> Places {
    Places::read(|name| (name == "HOME").then(|| "/home/u".into()), false).unwrap()
}

fn edits(files: Vec<ClientFile>) -> Vec<FileEdits> {
    files.into_iter().map(|file| file.edits).collect()
}

/// Returns the files of Claude Code that a user has, with setup's edits for a program.
fn claude_files(program: &str) -> Vec<FileEdits> {
    let server = Server { program: program.to_owned() };
    edits((named("claude-code").unwrap().for_user)(&places(), &server))
}

fn look_at(texts: &[&str]) -> Vec<Recognized> {
    recognize(texts, false, claude_files).unwrap()
}

fn count(recognized: &Recognized) -> usize {
    match &recognized.ours {
        FileEdits::Json(edits) => edits.len(),
        FileEdits::Toml(entries) => entries.len(),
    }
}

fn added(before: Option<&str>, edits: &FileEdits) -> String {
    match plan_addition(before, edits, "any", None).unwrap() {
        Addition::Write { after, .. } => after,
        Addition::Nothing => panic!("nothing was added"),
    }
}

/// Returns a settings file for these permissions and this `PostToolUse` hook.
fn settings(allow: &Value, hook: &Value) -> String {
    json!({ "permissions": { "allow": allow }, "hooks": { "PostToolUse": [hook] } }).to_string()
}

#[test]
fn what_setup_wrote_for_any_client_and_program_is_removed_and_nothing_else() {
    for program in ["/b/cli-team-bridge", "/it's a $HOME/\u{fc}/cli-team-bridge"] {
        for client in &CLIENTS {
            let of = |program: &str| {
                let server = Server { program: program.to_owned() };
                let of_user = edits((client.for_user)(&places(), &server));
                let of_project = edits((client.for_project)(Path::new("/p"), &server));
                [of_user, of_project]
            };
            for scope in [0, 1] {
                let files = of(program)[scope].clone();
                let before = |file: &FileEdits| match file {
                    FileEdits::Json(_) => "{\n  // mine\n  \"a\": [1]\n}\n",
                    FileEdits::Toml(_) => "# mine\na = 1\n",
                };
                let texts: Vec<_> =
                    files.iter().map(|file| added(Some(before(file)), file)).collect();
                let texts: Vec<_> = texts.iter().map(String::as_str).collect();
                let found = recognize(&texts, false, |program| of(program)[scope].clone()).unwrap();
                for ((text, file), found) in texts.iter().zip(&files).zip(&found) {
                    let left = take_out(text, &found.ours).unwrap();
                    assert!(!left.contains("bridge"), "{}: {left}", client.name);
                    assert!(left.contains("mine"), "{}: {left}", client.name);
                    assert!(found.others.is_empty(), "{}: {:?}", client.name, found.others);
                    // The edits that are shown are those that setup shows when it adds them.
                    let edits =
                        |edits: &FileEdits| serde_json::to_value(edits).unwrap().to_string();
                    assert_eq!(edits(&found.ours).len(), edits_without_purpose(file).len());
                }
            }
        }
    }
}

fn edits_without_purpose(edits: &FileEdits) -> String {
    let mut edits = edits.clone();
    if let FileEdits::Json(edits) = &mut edits {
        for edit in edits {
            if let JsonEdit::Item(item) = edit {
                item.same_purpose = None;
            }
        }
    }
    serde_json::to_value(edits).unwrap().to_string()
}

#[test]
fn numbers_may_differ_and_an_entry_with_fields_of_the_user_stays() {
    let text = json!({ "mcpServers": { "bridge": {
        "type": "stdio", "command": "/b/cli-team-bridge", "args": ["orchestrator"], "timeout": 600_000,
        "env": { "KEY": "SECRET" },
    } } });
    let text = text.to_string();
    let found = look_at(&[&text, "{}"]);
    assert_eq!((count(&found[0]), count(&found[1])), (0, 0));
    assert_eq!(found[0].others, ["mcpServers.bridge"]);
    assert!(!format!("{found:?}").contains("SECRET"));
    let text =
        text.replace(r#","env":{"KEY":"SECRET"}"#, "").replace(r#""env":{"KEY":"SECRET"},"#, "");
    let found = look_at(&[&text, "{}"]);
    assert_eq!(count(&found[0]), 1);
    assert_eq!(take_out(&text, &found[0].ours).unwrap(), "{\"mcpServers\":{}}");
}

#[test]
fn an_entry_that_setup_would_not_write_stays_with_its_permission() {
    let ours = ["mcp__bridge"];
    let entry = |command: &str, args: Value, kind: &str| {
        let entry = json!({ "type": kind, "command": command, "args": args, "timeout": 1 });
        json!({ "mcpServers": { "bridge": entry } }).to_string()
    };
    let hook = json!({ "hooks": [] });
    let settings = settings(&json!(ours), &hook);
    for (text, is_named) in [
        // Another author's.
        (entry("sh", json!(["orchestrator"]), "stdio"), false),
        (entry("/b/other-bridge", json!(["orchestrator"]), "stdio"), false),
        // Written by hand, as the documentation shows.
        (entry("cli-team-bridge", json!(["orchestrator"]), "stdio"), true),
        (entry("/b/cli-team-bridge", json!(["peer", "--name", "x"]), "stdio"), true),
        (entry("/b/cli-team-bridge", json!(["orchestrator", "--no-watch"]), "stdio"), true),
        (entry("/b/cli-team-bridge", json!(["orchestrator"]), "http"), true),
        (
            json!({ "mcpServers": { "bridge": { "command": "/b/cli-team-bridge" } } }).to_string(),
            true,
        ),
        (json!({ "mcpServers": { "bridge": "/b/cli-team-bridge" } }).to_string(), true),
    ] {
        let found = look_at(&[&text, &settings]);
        assert_eq!((count(&found[0]), count(&found[1])), (0, 0), "{text}");
        let named: &[&str] = if is_named { &["mcpServers.bridge"] } else { &[] };
        assert_eq!(found[0].others, named, "{text}");
    }
}

#[test]
fn hooks_and_permissions_count_only_in_the_form_of_setup() {
    let hook = |command: &str| json!({ "matcher": "*", "hooks": [{ "type": "command", "command": command, "timeout": 15 }] });
    let ours = hook("/b/cli-team-bridge hook");
    let both = json!(["mcp__bridge", "Bash(cli-team-bridge watch:*)", "mcp__bridge_2", "Read"]);
    let found = look_at(&["{}", &settings(&both, &ours)]);
    assert_eq!(count(&found[1]), 3, "{found:?}");
    assert!(found[1].others.is_empty(), "{found:?}");

    // Alone, what names no program may be the user's.
    let by_hand = hook("cli-team-bridge hook");
    let found = look_at(&["{}", &settings(&both, &by_hand)]);
    assert_eq!(count(&found[1]), 0, "{found:?}");
    assert_eq!(found[1].others, ["permissions.allow", "hooks.PostToolUse"]);

    let two = json!({ "matcher": "*", "hooks": [ours["hooks"][0], { "type": "command", "command": "x" }] });
    let found = look_at(&["{}", &settings(&json!([]), &two)]);
    assert_eq!(found[1].ours.each()[0].value(), &ours, "what others have added is no part of it");
    assert!(found[1].others.is_empty(), "{found:?}");
    for other in [hook("/b/cli-team-bridge hook; rm x"), hook("'/b/cli-team-bridge' hook")] {
        let found = look_at(&["{}", &settings(&json!([]), &other)]);
        assert_eq!(count(&found[1]), 0, "{other}");
        assert_eq!(found[1].others, ["hooks.PostToolUse"], "{other}");
    }
    assert!(look_at(&["", ""]).iter().all(|found| count(found) == 0 && found.others.is_empty()));
    assert!(recognize(&["{}", "{"], false, claude_files).is_err_and(|(at, _)| at == 1));
}
