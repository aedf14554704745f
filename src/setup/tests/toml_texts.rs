//! TOML with comments, and entries of others.

use serde_json::json;

use crate::setup::edits::config_edit::{Entry, FileEdits};
use crate::setup::edits::edit_toml::{add, has, take_out};

fn ours() -> Entry {
    let value = json!({ "command": "/b/cli-team-bridge", "args": ["orchestrator"], "tool_timeout_sec": 150 });
    Entry { path: vec!["mcp_servers".to_owned(), "bridge".to_owned()], value }
}

const TABLE: &str = "[mcp_servers.bridge]\ncommand = \"/b/cli-team-bridge\"\nargs = [\"orchestrator\"]\ntool_timeout_sec = 150\n";

fn added(edits: &FileEdits) -> &[Entry] {
    match edits {
        FileEdits::Toml(entries) => entries,
        FileEdits::Json(_) => panic!("it is TOML"),
    }
}

/// Adds our entry to a text, and removes it again.
#[track_caller]
fn check(text: &str, expected: &str) {
    let edited = add(text, &[ours()]).unwrap();
    assert_eq!(edited.text, expected);
    assert!(has(&edited.text, &[ours()]).unwrap());
    let again = add(&edited.text, &[ours()]).unwrap();
    assert_eq!(again.text, expected, "a second time changes nothing");
    let left = take_out(&edited.text, added(&edited.added), &edited.made).unwrap();
    assert_eq!(left, text);
}

#[test]
fn an_entry_has_a_heading_of_its_own_and_comments_stay() {
    check("", TABLE);
    let mine = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    check(mine, &format!("{mine}\n{TABLE}"));
    check("model = \"x\"\n\n[tui]\na = 1\n", &format!("model = \"x\"\n\n[tui]\na = 1\n\n{TABLE}"));
}

#[test]
fn an_inline_table_gets_the_entry_too() {
    let edited = add("mcp_servers = { other = { command = \"y\" } }\n", &[ours()]).unwrap();
    assert!(has(&edited.text, &[ours()]).unwrap(), "{}", edited.text);
    let left = take_out(&edited.text, added(&edited.added), &edited.made).unwrap();
    assert!(left.contains("other") && !left.contains("bridge"), "{left}");
}

#[test]
fn a_toml_text_that_cannot_be_edited_is_an_error_with_the_reason() {
    let error = |text: &str| add(text, &[ours()]).unwrap_err().to_string();
    let taken = error("[mcp_servers.bridge]\ncommand = \"other\"\n");
    assert!(taken.starts_with("`mcp_servers.bridge` already exists"), "{taken}");
    assert!(error("a = 1\nb = \n").contains("near line 2"), "{}", error("a = 1\nb = \n"));
    assert!(error("mcp_servers = 1\n").starts_with("`mcp_servers` is not a table"));
    let deep = |depth| format!("a = {}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(error(&deep(10_000)).contains("does not parse"));
    assert!(error(&deep(100_000)).contains("too many to read"));
}

#[test]
fn a_table_of_others_below_ours_stays() {
    let edited = add("", &[ours()]).unwrap();
    let changed = format!("{}\n[mcp_servers.theirs]\ncommand = \"z\"\n", edited.text);
    let left = take_out(&changed, added(&edited.added), &edited.made).unwrap();
    assert_eq!(left.trim_start(), "[mcp_servers.theirs]\ncommand = \"z\"\n");
}

#[test]
fn comments_that_their_owner_has_put_above_our_heading_stay() {
    let mine = "# [tui]\n# theme = \"dark\"\n";
    for (before, after) in [
        ("", ""),
        ("model = \"x\"\n\n", ""),
        (
            "a = \"\"\"\n##\n[mcp_servers.bridge]\n\"\"\"\n\n",
            "\n[mcp_servers.theirs]\ncommand = \"z\"\n",
        ),
        ("[tui]\nb = 1\n\n", "\n[[profiles]]\nc = 1\n"),
    ] {
        let edited = add("", &[ours()]).unwrap();
        let changed = format!("{before}{mine}\n{TABLE}{after}");
        let left = take_out(&changed, added(&edited.added), &edited.made).unwrap();
        assert_eq!(left, format!("{before}{mine}{after}"));
    }
    // A comment of the next table is that table's.
    let edited = add("", &[ours()]).unwrap();
    let changed = format!("a = 1\n\n{TABLE}\n# theirs\n[b]\n");
    let left = take_out(&changed, added(&edited.added), &edited.made).unwrap();
    assert_eq!(left, "a = 1\n\n# theirs\n[b]\n");
}

#[test]
fn a_text_without_our_entry_stays_as_it_is() {
    for text in ["", "a = 1", "# mine\n\n[mcp_servers.bridge]\ncommand = 'other'"] {
        let made = [vec!["mcp_servers".to_owned()]];
        assert_eq!(take_out(text, &[ours()], &made).as_deref(), Ok(text));
    }
}

#[test]
fn line_ends_and_the_mark_stay() {
    for text in [
        "\u{feff}# mine\r\nmodel = \"x\"\r\n[b]\r\nc = 1",
        "a = 1\r\n\r\n[b]\nc = \"\"\"\r\nx\"\"\"\r\n",
    ] {
        let edited = add(text, &[ours()]).unwrap();
        assert!(edited.text.starts_with(text), "{:?}", edited.text);
        assert!(edited.text.ends_with("150\r\n") && has(&edited.text, &[ours()]).unwrap());
        let left = take_out(&edited.text, added(&edited.added), &edited.made).unwrap();
        assert_eq!(left.trim_end(), text.trim_end());
    }
}
