//! The places and the kind of calls, as the five agents describe them and as a hostile agent may.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the literals read better without a reference at every call"
)]

use super::*;
use serde_json::json;

fn check(message: Value, kind: &str, paths: &[&str]) {
    let touched = Touched::parse(&message);
    assert_eq!(
        (touched.kind(), touched.paths()),
        (kind, &paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()[..]),
        "{message}"
    );
}

fn check_unknown(message: Value, kind: &str) {
    let touched = Touched::parse(&message);
    let is_unknown = touched.paths().iter().any(String::is_empty);
    assert_eq!((touched.kind(), is_unknown), (kind, true), "{message}");
}

fn check_suspects(arguments: Value, suspects: &[&str]) {
    let touched = Touched::parse(&json!({"kind": "edit", "rawInput": arguments}));
    assert_eq!(touched.suspects(), suspects, "{arguments}");
}

#[test]
fn locations_diffs_and_arguments_are_all_returned() {
    check(json!({}), "other", &[]);
    check(
        json!({
            "kind": "edit", "locations": [{"path": "a", "line": 1}, {"path": "b"}],
            "content": [
                {"type": "diff", "path": "c", "newText": "x"},
                {"type": "content", "content": {"type": "text", "text": "x"}},
                {"type": "terminal", "terminalId": "t"},
            ],
            "rawInput": {
                "file_path": "d", "content": "no path", "absolutePath": "a", "replace": true,
                "edits": [{"notebook-path": "e"}], "files": ["f", "g"], "path": "",
                "changes": {"h": {"type": "update", "move_path": "i"}},
            },
        }),
        "edit",
        &["a", "b", "c", "d", "e", "f", "g", "h", "i"],
    );
}

#[test]
fn the_files_of_a_patch_are_returned() {
    let patch = "\n*** Begin Patch\n*** Update File: a b\n*** Move to: c\n@@\n-x\n+*** Add File: no\n\
        *** Add File: d\r\n+x\n*** Delete File: e\n*** End Patch";
    let paths = ["a b", "c", "d", "e"];
    check(json!({"rawInput": {"input": patch}}), "other", &paths);
    check(json!({"rawInput": patch}), "other", &paths);
    let about = format!("How to write one:\n{patch}");
    check(json!({"rawInput": {"content": about}}), "other", &[]);
    check_suspects(json!({"content": about}), &[]);
    // It may be applied all the same.
    check_suspects(json!({"input": about}), &paths);
    check_suspects(json!(about), &paths);
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/../y\n@@ -1 +1 @@\n-a\n+b\n";
    check_suspects(json!({"patch": diff}), &["x", "../y"]);
    check_suspects(json!({"new_string": diff}), &[]);
    check_suspects(json!({"changes": {"a": {"unified_diff": "@@ -1 +1 @@\n-a\n+b\n"}}}), &[]);
}

#[test]
fn a_text_under_an_unknown_name_may_be_a_place() {
    check_suspects(json!({"file_path": "a", "destination": "/etc/x"}), &["/etc/x"]);
    check_suspects(
        json!({"to": "~/x", "options": [{"where": "../y"}, ["AGENTS.md"]]}),
        &["~/x", "../y", "AGENTS.md"],
    );
    check_suspects(json!({"by_name": {".git/config": {"content": "x"}, "b": 1}}), &[".git/config"]);
    check_suspects(json!({"arguments": "{\"target\": \"/etc/x\", \"n\": 1}"}), &["/etc/x"]);
    check_suspects(json!({"input": "src/a"}), &["src/a"]);
    check_suspects(json!({"mode": "replace", "type": "/etc/x"}), &["/etc/x"]);
    // A text that is named as a path as well is a path.
    check_suspects(json!({"other": "a", "path": "a"}), &[]);
    check(json!({"kind": "edit", "rawInput": {"note": "x".repeat(PATH_BYTES + 1)}}), "edit", &[""]);
}

#[test]
fn calls_of_the_five_agents_have_no_other_possible_places() {
    for arguments in [
        json!({"file_path": "a", "old_string": "/etc/x", "new_string": "~/x", "replace_all": true}),
        json!({"file_path": "a", "content": "../x"}),
        json!({"file_path": "a", "file_text": "../x\n"}),
        json!({"file_path": "a", "file_content": "key: /etc/x"}),
        json!({"file_path": "a", "contents": "{", "body": "/etc/x"}),
        json!({"file_path": "a", "run_in_background": true, "head_limit": 5, "multiline": false, "-n": true}),
        json!({"file_path": "a", "old_str": "/x", "new_str": "/y", "change_all": false}),
        json!({"file_path": "a", "changes": [{"old_str": "/x", "new_str": "/y"}]}),
        json!({"file_path": "a", "instruction": "see https://x/", "ai_proposed_content": "/x", "allow_multiple": true}),
        json!({"notebook_path": "a", "new_source": "/x", "cell_id": "c1", "cell_type": "code", "edit_mode": "insert"}),
        json!({"path": "a", "pattern": "/api/x", "glob": "/src/**", "output_mode": "content", "type": "rust", "-A": 3}),
        json!({"dir_path": "a", "ignore": ["/dist"], "file_filtering_options": {"respect_git_ignore": true}}),
        json!({"folder": "a", "patterns": ["**/*.rs"], "exclude_patterns": ["/x"]}),
        json!({"changes": {"a": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-/x\n+~/y\n", "move_path": null}}}),
    ] {
        let touched = Touched::parse(&json!({"kind": "edit", "rawInput": arguments}));
        assert_eq!(
            (touched.kind(), touched.paths()),
            ("edit", &["a".to_owned()][..]),
            "{arguments}"
        );
        check_suspects(arguments, &[]);
    }
}

#[test]
fn an_unread_document_is_an_unknown_place() {
    let diff = "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-a\n+b\n";
    let patch = "*** Begin Patch\n*** Add File: AGENTS.md\n+x\n*** End Patch";
    let mut arguments = vec![
        json!({"file_path": "a", "data": format!("Apply:\n{patch}")}),
        json!({"file_path": "a", "data": format!("apply_patch <<'EOF'\n{patch}\nEOF")}),
        json!({"file_path": "a", "patch": format!("AGENTS.md\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n")}),
        json!({"file_path": "a", "arguments": "{\"path\":\"/etc/x\"};"}),
        json!({"file_path": "a", "arguments": "\u{feff}{\"path\":\"/etc/x\"}"}),
        json!({"file_path": "a", "arguments": "{path:'/etc/x'}"}),
        json!({"file_path": "a", "arguments": "{path:/etc/x}"}),
        json!({"file_path": "a", "arguments": "['/etc/x']"}),
        json!({"file_path": "a", "arguments": "[\"/etc/x\",]"}),
        json!({"file_path": "a", "arguments": "path: /etc/x"}),
        json!({"file_path": "a", "arguments": "<path>/etc/x</path>"}),
        json!({"file_path": "a", "arguments": "path=/etc/x"}),
        json!({"file_path": "a", "targets": "src/a.rs\n/etc/x"}),
    ];
    for name in ["hunks", "edit", "edits_text", "apply", "unified_patch", "data", "changes"] {
        arguments.push(json!({"file_path": "a", name: diff}));
    }
    for arguments in arguments {
        let touched = Touched::parse(&json!({"kind": "edit", "rawInput": arguments}));
        let is_unknown = touched.all().any(String::is_empty);
        assert!(is_unknown, "{arguments}: {touched:?}");
        let is_shown = touched.all().any(|place| place.contains(['\n', '{', '<']));
        assert!(!is_shown, "{arguments}: {touched:?}");
    }
    for name in ["patches", "diffs"] {
        check_suspects(json!({name: [diff]}), &["AGENTS.md"]);
    }
    // A glob is no document.
    check_suspects(
        json!({"include": ["**/*.{ts,tsx}", "{src,tests}/**"]}),
        &["**/*.{ts,tsx}", "{src,tests}/**"],
    );
    // A JSON list inside a text is read, also under the name of a path.
    check_suspects(json!({"sources": "[\"/etc/x\"]"}), &["/etc/x"]);
    // A duplicate key has two values.
    check_suspects(json!({"data": r#"{"to": "/etc/x", "to": "src/a"}"#}), &["/etc/x", "src/a"]);
    check(json!({"rawInput": {"files": "[\"/etc/x\"]"}}), "other", &["[\"/etc/x\"]", "/etc/x"]);
}

#[test]
fn a_diff_after_a_whole_patch_is_read_too() {
    let both = "*** Begin Patch\n*** Update File: a\n@@\n-x\n*** End Patch\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n";
    check(json!({"rawInput": {"patch": both}}), "other", &["a"]);
    check_suspects(json!({"patch": both}), &["b"]);
}

#[test]
fn of_very_many_suspects_one_more_than_the_limit_is_kept() {
    let names: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
    let touched = Touched::parse(&json!({"rawInput": {"names": names}}));
    assert_eq!(touched.suspects().len(), limits::LOOKED_PATHS + 1);
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    check(json!({"rawInput": deep}), "other", &[""]);
}

#[test]
fn malformed_content_is_an_unknown_place() {
    for place in [json!({"line": 4}), json!({"path": 5}), json!("a"), json!({"path": ""})] {
        check(json!({"kind": "read", "locations": [place]}), "read", &[""]);
    }
    for part in [
        json!({"type": "diff"}),
        json!({"type": "patch", "files": ["a"]}),
        json!({"text": "x"}),
        json!(42),
    ] {
        check(json!({"kind": "edit", "content": [part]}), "edit", &[""]);
    }
    check(json!({"content": [{"type": "patch", "path": "a"}]}), "other", &["a"]);
    let long = "x".repeat(PATH_BYTES + 1);
    check(json!({"locations": [{"path": long}]}), "other", &[""]);
}

#[test]
fn a_field_of_the_wrong_type_is_an_unknown_place() {
    let diff = json!({"type": "diff", "path": "src/a", "newText": "x"});
    for locations in [
        json!({"path": "/etc/passwd"}),
        json!("/etc/passwd"),
        json!(5),
        json!(true),
        json!([[{"path": "/etc/passwd"}]]),
        json!([null]),
    ] {
        check_unknown(json!({"kind": "edit", "locations": locations, "content": [diff]}), "edit");
    }
    let in_order = json!([{"path": "src/a"}]);
    for content in [
        json!({"type": "diff", "path": "/etc/passwd"}),
        json!("/etc/passwd"),
        json!(["/etc/passwd"]),
        json!([[{"type": "diff", "path": "/etc/passwd"}]]),
        json!([{"type": ["content", "diff"], "content": {"type": "text", "text": "x"}}]),
    ] {
        check_unknown(json!({"kind": "edit", "locations": in_order, "content": content}), "edit");
    }
    for absent in [json!(null), json!([])] {
        check(json!({"kind": "edit", "locations": absent, "content": [diff]}), "edit", &["src/a"]);
        check(
            json!({"kind": "edit", "locations": in_order, "content": absent}),
            "edit",
            &["src/a"],
        );
    }
}

#[test]
fn a_kind_that_is_not_a_word_is_other_and_each_word_in_it_counts() {
    for kind in [json!({"execute": 1}), json!(5), json!(["edit"]), json!([["execute"]])] {
        check(json!({"kind": kind}), "other", &[]);
    }
    check(json!({"kind": ["edit", "execute"]}), "execute", &[]);
    check(json!({"kind": null, "locations": [{"path": "a"}]}), "other", &["a"]);
    let mut all = Touched::parse(&json!({"kind": ["execute"], "locations": "/etc/passwd"}));
    all.add(Touched::parse(&json!({"kind": "edit", "locations": [{"path": "src/a"}]})));
    assert_eq!((all.kind(), all.paths()), ("execute", &[String::new(), "src/a".to_owned()][..]));
}

#[test]
fn a_linked_resource_in_a_content_block_is_a_place() {
    let block = |block: Value| json!({"content": [{"type": "content", "content": block}]});
    for harmless in [
        json!({"type": "text", "text": "/etc/passwd"}),
        json!({"type": "image", "mimeType": "image/png", "data": "AAAA", "uri": null}),
        json!({"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}),
        json!(null),
    ] {
        check(block(harmless), "other", &[]);
    }
    let link = "file:///etc/passwd";
    for named in [
        json!({"type": "resource_link", "uri": link, "name": "a"}),
        json!({"type": "resource", "resource": {"uri": link, "text": "x"}}),
        json!({"type": "image", "mimeType": "image/png", "data": "AAAA", "uri": link}),
        json!({"type": "diff", "path": link}),
        json!({"type": "text", "text": "x", "path": link}),
    ] {
        check(block(named), "other", &[link]);
    }
    for unknown in [
        json!("x"),
        json!([{"type": "diff", "path": "a"}]),
        json!({"type": "content", "content": {"type": "diff", "path": "a"}}),
        json!({"type": "resource", "resource": [{"uri": "a"}]}),
        json!({"type": "resource_link", "uri": ["a"]}),
        json!({"type": "diff"}),
        json!({"text": "x"}),
    ] {
        check(block(unknown), "other", &[""]);
    }
    check(
        json!({"content": [{"type": "terminal", "content": {"type": "diff", "path": "a"}}]}),
        "other",
        &["a"],
    );
}

#[test]
fn a_call_that_shows_a_command_runs_it() {
    for input in [
        json!({"command": ["rg", "--pre", "./x", "y"], "parsed_cmd": []}),
        json!({"cmd": "cat x"}),
        json!([{"more": {"command_line": "x"}}]),
        json!({"script": "rm x"}),
        json!({"path": "a", "code": "import os"}),
        json!({"options": {"run": ["touch", "x"]}}),
        json!({"arguments": "{\"exec\": \"x\"}"}),
        json!({"path": "a", "shell_cmd": "x"}),
        json!({"path": "a", "command_to_run": "x"}),
        json!({"path": "a", "bash_command": "x"}),
        json!({"path": "a", "cmd_string": "x"}),
        json!({"path": "a", "post-command": "x"}),
        json!({"path": "a", "sh": "x"}),
        json!({"path": "a", "runScript": "x"}),
        json!({"path": "a", "binary": "sh", "args": ["x"]}),
    ] {
        let touched = Touched::parse(&json!({"kind": "search", "rawInput": input}));
        assert_eq!(touched.kind(), "execute", "{input}");
    }
    for input in [
        json!({"run": false}),
        json!({"code": 7}),
        json!({"script": ""}),
        json!({"run_in_background": true}),
        json!({"description": "x", "prompt": "x"}),
    ] {
        check(json!({"kind": "read", "rawInput": input}), "read", &[]);
    }
    check(
        json!({"kind": "edit", "rawInput": {"changes": {"/p/run-all.rs": {"type": "add", "content": "x"}}}}),
        "edit",
        &["/p/run-all.rs"],
    );
    check(json!({"kind": "read", "rawInput": {"command": null}}), "read", &[]);
}

#[test]
fn the_worst_of_several_kinds_counts_in_any_order() {
    let merged = |kinds: [&str; 3]| {
        let mut all = Touched::default();
        for kind in kinds {
            all.add(Touched::parse(&json!({"kind": kind})));
        }
        all.kind().to_owned()
    };
    assert_eq!(merged(["read", "execute", "edit"]), "execute");
    assert_eq!(merged(["edit", "read", "search"]), "edit");
    assert_eq!(merged(["search", "comet", "edit"]), "comet");
    assert_eq!(merged(["read", "read", &"x".repeat(WORD_BYTES + 1)]), "other");
}

#[test]
fn of_very_many_places_one_more_than_the_limit_is_kept() {
    let places: Vec<_> = (0..1000).map(|number| json!({"path": number.to_string()})).collect();
    let mut touched = Touched::parse(&json!({"locations": places}));
    assert_eq!(touched.paths().len(), limits::LOOKED_PATHS + 1);
    touched.add(Touched::parse(&json!({"locations": [{"path": "another"}]})));
    assert_eq!(touched.paths().len(), limits::LOOKED_PATHS + 1);
}
