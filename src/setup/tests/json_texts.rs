//! JSON with comments, odd spaces, and entries of others.

use serde_json::{Value, json};

use crate::setup::edits::config_edit::{
    EditError, Edited, Entry, FileEdits, Item, JsonEdit, SamePurpose, program_of,
};
use crate::setup::edits::edit_json::{add, has, take_out, value_at};

fn entry(value: Value) -> JsonEdit {
    JsonEdit::Entry(Entry { path: vec!["mcpServers".to_owned(), "bridge".to_owned()], value })
}

fn ours() -> JsonEdit {
    entry(json!({ "command": "/b/cli-team-bridge", "args": ["orchestrator"], "timeout": 150_000 }))
}

fn item(path: &[&str], value: &str) -> JsonEdit {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    let same_purpose = Some(SamePurpose::Containing("bridge hook".to_owned()));
    JsonEdit::Item(Item { path, value: json!(value), same_purpose })
}

fn added(edits: &FileEdits) -> &[JsonEdit] {
    match edits {
        FileEdits::Json(edits) => edits,
        FileEdits::Toml(_) => panic!("it is JSON"),
    }
}

/// Adds edits to a text, and removes them again.
#[track_caller]
fn check(text: &str, edits: &[JsonEdit], expected: &str) {
    let edited = add(text, edits).unwrap();
    assert_eq!(edited.text, expected);
    assert!(has(&edited.text, edits).unwrap());
    let again = add(&edited.text, edits).unwrap();
    assert_eq!(again.text, expected, "a second time changes nothing");
    assert!(again.added.is_empty());
    let left = take_out(&edited.text, added(&edited.added), &edited.made).unwrap();
    let content = |text: &str| text.split_whitespace().collect::<String>();
    let before = if text.trim().is_empty() { "{}" } else { text };
    assert_eq!(content(&left), content(before), "{left}");
}

#[test]
fn an_entry_joins_the_others_and_comments_stay() {
    check(
        "{\n    // mine\n    \"a\": 1, /* two */\n    \"mcpServers\": {\n        \"other\": { \"url\": \"x\" } // last\n    }\n}\n",
        &[ours()],
        "{\n    // mine\n    \"a\": 1, /* two */\n    \"mcpServers\": {\n        \"other\": { \"url\": \"x\" }, // last\n        \
         \"bridge\": {\n            \"command\": \"/b/cli-team-bridge\",\n            \"args\": [\"orchestrator\"],\n            \
         \"timeout\": 150000\n        }\n    }\n}\n",
    );
}

#[test]
fn an_empty_file_gets_the_whole_structure() {
    let expected = "{\n  \"mcpServers\": {\n    \"bridge\": {\n      \"command\": \"/b/cli-team-bridge\",\n      \
                    \"args\": [\"orchestrator\"],\n      \"timeout\": 150000\n    }\n  }\n}\n";
    for text in ["", "  \n", "{}\n"] {
        check(text, &[ours()], expected);
    }
}

#[test]
fn lists_keep_the_items_of_others() {
    let edits = [item(&["permissions", "allow"], "mcp__bridge"), item(&["hooks", "Stop"], "x")];
    check(
        "{\n  \"permissions\": {\"allow\": [\"Bash(ls)\"], \"deny\": []}\n}",
        &edits,
        "{\n  \"permissions\": {\"allow\": [\"Bash(ls)\", \"mcp__bridge\"], \"deny\": []},\n  \"hooks\": {\n    \"Stop\": [\"x\"]\n  }\n}",
    );
}

#[test]
fn a_byte_order_mark_and_line_ends_stay() {
    let text = "\u{feff}{\r\n  \"a\": 1\r\n}\r\n";
    let edited = add(text, &[item(&["list"], "x")]).unwrap();
    assert_eq!(edited.text, "\u{feff}{\r\n  \"a\": 1,\r\n  \"list\": [\"x\"]\r\n}\r\n");
}

#[test]
fn an_item_of_the_users_own_for_the_same_purpose_is_enough() {
    let text =
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"/old/cli-team-bridge hook\"}]}]}}";
    let edited = add(text, &[item(&["hooks", "Stop"], "/new/cli-team-bridge hook")]).unwrap();
    assert_eq!(edited.text, text);
    assert!(edited.added.is_empty());
}

#[test]
fn an_entry_of_the_users_own_is_never_overwritten() {
    let text = "{\"mcpServers\": {\"bridge\": {\"command\": \"other\", \"args\": [\"x\"]}}}";
    let error = add(text, &[ours()]).unwrap_err().to_string();
    assert!(error.starts_with("`mcpServers.bridge` already exists"), "{error}");
    assert!(error.contains("`other`"), "without its arguments, which may be keys: {error}");
}

#[test]
fn a_command_is_shown_without_what_may_be_a_key() {
    for (command, shown) in [
        ("/b/other", "/b/other"),
        ("npx -y x --key SEKRET", "npx …"),
        ("  npx\tSEKRET", "npx …"),
        ("KEY=SEKRET npx", "KEY=… …"),
        ("https://me:SEKRET@host/SEKRET", "https://host"),
        ("", ""),
    ] {
        assert_eq!(program_of(command), shown);
    }
}

#[test]
fn a_json_text_that_cannot_be_edited_is_an_error_with_the_reason() {
    let error = |text: &str| add(text, &[ours()]).unwrap_err().to_string();
    assert!(error("{\n \"a\": 1\n \"b\"").contains("line"), "{}", error("{\n \"a\": 1\n \"b\""));
    assert!(error("[]").starts_with("its whole content is not an object"));
    assert!(error("{\"mcpServers\": []}").starts_with("`mcpServers` is not an object"));
    assert!(error("{\"mcpServers\": {}, \"mcpServers\": {}}").contains("appears twice"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(error(&deep).contains("does not parse"));
}

/// A repository's file may be written to keep the editor busy for hours.
#[test]
fn an_object_of_thousands_of_lines_is_not_edited() {
    let lines = "\n".repeat(100_000);
    let many = |error: Result<_, EditError>| match error {
        Err(EditError::TooMany { path, .. }) => path.join("."),
        other => panic!("{other:?}"),
    };
    let servers = format!("{{\"mcpServers\": {{{lines}}}}}");
    assert_eq!(many(add(&servers, &[ours()]).map(drop)), "mcpServers");
    assert_eq!(many(add(&format!("{{{lines}}}"), &[ours()]).map(drop)), "");
    let list = format!("{{\"list\": [{lines}\"x\"]}}");
    assert_eq!(many(add(&list, &[item(&["list"], "y")]).map(drop)), "list");
    assert_eq!(many(take_out(&list, &[item(&["list"], "x")], &[]).map(drop)), "list");
    let Ok(Edited { text, made, .. }) = add("", &[ours()]) else { panic!("it is empty") };
    let grown = text.replacen('{', &format!("{{{lines}"), 1);
    assert_eq!(many(take_out(&grown, &[ours()], &made).map(drop)), "");
    let within = text.replacen("\"mcpServers\": {", &format!("\"mcpServers\": {{{lines}"), 1);
    assert_eq!(many(take_out(&within, &[ours()], &made).map(drop)), "mcpServers");
    // The lines of another object do not count.
    let elsewhere = format!("{{\"projects\": {{{lines}}}}}");
    assert!(add(&elsewhere, &[ours()]).is_ok());
}

#[test]
fn changes_of_others_stay_when_ours_are_removed() {
    let edited = add("{\n  \"a\": 1\n}\n", &[ours(), item(&["list"], "x")]).unwrap();
    let changed = edited
        .text
        .replace("\"a\": 1", "\"a\": 2")
        .replace("[\"x\"]", "[\"x\", \"theirs\"]")
        .replace("150000", "90000");
    let left = take_out(&changed, added(&edited.added), &edited.made).unwrap();
    // A space stays where the first item of a list was.
    assert_eq!(left, "{\n  \"a\": 2,\n  \"list\": [ \"theirs\"]\n}\n");
    let replaced = edited.text.replace("/b/cli-team-bridge", "/b/another");
    let left = take_out(&replaced, added(&edited.added), &edited.made).unwrap();
    assert!(left.contains("/b/another"), "it is no longer ours: {left}");
    let untouched = add("", &[]).unwrap();
    assert_eq!(take_out("{}", &[ours()], &[]), Ok("{}".to_owned()));
    assert!(matches!(untouched.added, FileEdits::Json(none) if none.is_empty()));
    assert!(matches!(take_out("{", &[], &[]), Err(EditError::Unparsable(_))));
}

#[test]
fn a_value_is_read_between_comments_and_in_no_other_place() {
    let value = |text: &str| {
        let path = ["servers", "bridge"].map(str::to_owned);
        value_at(text, &path)
    };
    let text = "\u{feff}// mine\n{ \"servers\": { \"a\": 1, /* it */ \"bri\\u0064ge\": { \"x\": [1, ] }, }, }\n";
    assert_eq!(value(text), Ok(Some(json!({ "x": [1] }))));
    for none in ["", " \n", "// only a comment", "{}", "{ \"bridge\": 1 }", "{ \"servers\": {} }"] {
        assert_eq!(value(none), Ok(None), "{none}");
    }
    for (text, problem) in [
        ("[1]", "its whole content is not an object"),
        ("{ \"servers\": [] }", "`servers` is not an object"),
        ("{ \"servers\": {}, \"servers\": {} }", "the key `servers` appears twice"),
        ("{ \"servers\": { \"bridge\": 1, \"bridge\": 2 } }", "`servers.bridge` appears twice"),
        ("{ \"servers\": ", "it does not parse"),
    ] {
        let error = value(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

/// Records keep the edits that were made, and a newer setup undoes those of an older one.
#[test]
fn an_edit_that_an_older_setup_recorded_is_still_read() {
    let text =
        r#"{ "item": { "path": ["hooks", "Stop"], "value": 1, "same_purpose": "bridge hook" } }"#;
    let JsonEdit::Item(read) = serde_json::from_str(text).unwrap() else { panic!("{text}") };
    assert_eq!(read.same_purpose, Some(SamePurpose::Containing("bridge hook".to_owned())));
    let command = SamePurpose::Running { command: "/b/cli-team-bridge hook".to_owned() };
    let written = JsonEdit::Item(Item { same_purpose: Some(command), ..read });
    let again = serde_json::to_string(&written).unwrap();
    assert_eq!(serde_json::from_str::<JsonEdit>(&again).unwrap(), written);
}
