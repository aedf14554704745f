//! What Qwen Code and Claude Code want to be approved of a project.

use super::*;

/// Setup does not write through a link in a project, not even beside it.
#[test]
fn before_setup_can_approve_an_entry_for_claude_code_the_link_to_it_has_to_go() {
    let user = User::of("claude-code");
    user.write("p/.mcp.json", &servers(&json!({})));
    let set_up = "run `cli-team-bridge setup --client claude-code --project .`";
    let plain = format!("approve it when it asks, or {set_up}");
    assert_eq!(user.says()[0].2, plain);
    let file = user.project().join(".mcp.json");
    fs::rename(&file, user.project().join("other.json")).unwrap();
    std::os::unix::fs::symlink("other.json", &file).unwrap();
    let opened = format!(
        "approve it when it asks, or put a real file and real directories in place of the links in ~/p/.mcp.json, then {set_up}"
    );
    assert_eq!(user.says()[0].2, opened);
}

#[test]
fn the_only_entry_may_be_in_the_file_that_qwen_code_shares_with_others() {
    let user = User::of("qwen");
    user.write("p/.mcp.json", &servers(&json!({ "timeout": 150_000, "type": "stdio" })));
    let found = user.says();
    let words = "asks you before it starts the bridge from ~/p/.mcp.json";
    assert!(found.len() == 1 && found[0].1.contains(words), "{found:?}");
}

/// The hash is that of Qwen Code 0.24.4 for this entry.
#[test]
fn what_a_project_brings_waits_for_the_approval_of_qwen_code() {
    let asks = |file: &str| format!("asks you before it starts the bridge from ~/p/{file}");
    let user = User::of("qwen");
    let entry = servers(&json!({ "timeout": 150_000 }));
    user.write(".qwen/settings.json", &entry);
    assert_eq!(user.find(), []);
    let approve = |status: &str, hash: &str| {
        let record = json!({ "bridge": { "hash": hash, "status": status } });
        let text = format!("{{ \"@P\": {record} }}");
        user.write(".qwen/mcpApprovals.json", &text);
    };
    let hash = "9e5760063c2006c8d30be6efa438fff4a8c1a1517ddcbdc7a0ab55edf30d60b1";
    for file in [".qwen/settings.json", ".mcp.json"] {
        user.write(&format!("p/{file}"), &entry);
        let check = |effect: SwitchEffect, words: &str| {
            let found = user.says();
            assert!(found.len() == 1 && found[0].0 == effect, "{file}: {found:?}");
            assert!(found[0].1.contains(words), "{file}: {found:?}");
            assert!(found[0].2.ends_with("run `qwen mcp approve bridge` in ~/p"), "{found:?}");
        };
        check(SwitchEffect::Partly, &asks(file));
        approve("approved", "of another entry");
        check(SwitchEffect::Partly, &asks(file));
        approve("rejected", hash);
        check(SwitchEffect::Off, "`bridge` in ~/.qwen/mcpApprovals.json, where you have rejected");
        approve("approved", hash);
        assert_eq!(user.find(), [], "{file}");
        user.write(".qwen/mcpApprovals.json", "{}");
        fs::remove_file(user.project().join(file)).unwrap();
    }
    // A number and its keys are written as JavaScript does it.
    let odd = json!({ "b": "1", "10": "2", "9": "3", "a": "\u{1f}\u{2028}é", "01": "x", "😀": "y", "\u{fffd}": "z" });
    let of_odd = "6a9456a582be6d03aaba0dfb76b4b59e5dc12185176bd421e32445cb1a8d9e3b";
    for (fields, hash) in [
        (json!({ "timeout": 150_000.0 }), hash),
        (json!({ "timeout": 1.5e21, "env": odd }), of_odd),
    ] {
        // In this file the limit itself is not judged.
        user.write("p/.mcp.json", &servers(&fields));
        approve("approved", hash);
        assert_eq!(user.find(), [], "{fields}");
    }
    // In its own file, the values of variables count, in the shared one the text.
    let named = json!({ "args": ["orchestrator", "/$A-${B}", "${NONE}"], "env": { "X": "/${A}/y" }, "timeout": 150_000 });
    fs::remove_file(user.project().join(".mcp.json")).unwrap();
    for (file, hash) in [
        (".qwen/settings.json", "be982e6d90a49ffe0ff378f5ba8ba5a76c8c543d5bc54d0e8d700b457ff6b554"),
        (".mcp.json", "aebf4a45889ae7bbef379ba71a0ecf550ff03a49d070d4cd13cd14b4b3733031"),
    ] {
        user.write(&format!("p/{file}"), &servers(&named));
        approve("approved", hash);
        assert_eq!(user.find(), [], "{file}");
        fs::remove_file(user.project().join(file)).unwrap();
    }
    // Claude Code writes the type.
    approve("approved", hash);
    let typed = servers(&json!({ "timeout": 150_000, "type": "stdio" }));
    user.write("p/.mcp.json", &typed);
    assert_eq!(user.find(), []);
    user.write("p/.mcp.json", r#"{ "mcpServers": { "bridge": { "url": "http://x" } } }"#);
    let (effect, says, _) = &user.says()[0];
    assert!(*effect == SwitchEffect::Off && says.contains("~/p/.mcp.json, which takes the place"));
}

#[test]
fn nothing_is_to_be_approved_in_a_folder_that_qwen_code_does_not_trust() {
    let user = User::of("qwen");
    let trust = |on: bool| {
        let settings = json!({ "security": { "folderTrust": { "enabled": on } } });
        user.write(".qwen/settings.json", &settings.to_string());
    };
    user.write("p/.qwen/settings.json", &servers(&json!({})));
    user.write(".qwen/trustedFolders.json", r#"{ "@P": "DO_NOT_TRUST" }"#);
    trust(false);
    assert_eq!(user.find().len(), 1);
    trust(true);
    assert_eq!(user.find(), [], "`qwen mcp approve` changes nothing there");
}

/// As Claude Code 2.1.329 was seen to do it: with one value of the wrong kind, it uses nothing of that file.
#[test]
fn a_file_that_claude_code_drops_denies_rejects_and_approves_nothing() {
    let user = User::of("claude-code");
    let local = "p/.claude/settings.local.json";
    let says = |settings: Value| {
        user.write(local, &settings.to_string());
        user.says().into_iter().map(|(effect, says, _)| (effect, says)).collect::<Vec<_>>()
    };
    let with = |mut settings: Value, key: &str, value: &Value| {
        settings[key] = value.clone();
        settings
    };
    user.write("p/.mcp.json", &servers(&json!({})));
    for (key, value) in [
        ("enableAllProjectMcpServers", json!("x")),
        ("disableAllHooks", json!("x")),
        ("includeCoAuthoredBy", json!("x")),
        ("cleanupPeriodDays", json!("x")),
        ("disabledMcpjsonServers", json!([5, "bridge"])),
    ] {
        let deny = json!({ "permissions": { "deny": ["mcp__bridge"] } });
        let approve = json!({ "enabledMcpjsonServers": ["bridge"] });
        for settings in [with(deny, key, &value), with(approve, key, &value)] {
            let found = says(settings);
            let is_said = |words: &str| found.iter().any(|(_, says)| says.contains(words));
            let dropped = format!("because of the value of `{key}`");
            assert!(found.len() == 2 && is_said(&dropped) && is_said("asks you"), "{found:?}");
        }
    }
    // What it takes, it takes at its word.
    for approved in [
        json!({ "enabledMcpjsonServers": "bridge" }),
        json!({ "enableAllProjectMcpServers": "true", "cleanupPeriodDays": 0 }),
    ] {
        assert_eq!(says(approved), []);
    }
    let rejected = says(json!({ "disabledMcpjsonServers": "bridge" }));
    assert!(rejected.len() == 1 && rejected[0].0 == SwitchEffect::Off, "{rejected:?}");
    let other = says(json!({ "disabledMcpjsonServers": "my-bridge-x" }));
    assert!(other.len() == 1 && other[0].1.contains("asks you"), "{other:?}");
}

#[test]
fn a_file_of_which_claude_code_says_that_it_uses_nothing_counts_for_nothing() {
    let user = User::of("claude-code");
    user.write(".claude.json", &servers(&json!({})));
    user.write(SETTINGS, r#"{ "permissions": { "deny": ["mcp__bridge"] }, "any": 5 }"#);
    let found = |unused: &[PathBuf]| {
        let home = |name: &str| (name == "HOME").then(|| user.base.path().into());
        let places = Places::read(home, false).unwrap().without(unused);
        let (client, project) = (named("claude-code").unwrap(), user.project());
        let values = Values { variable: &variable, workspace: None };
        find(client, &places, Some(&project), std::slice::from_ref(&project), values).len()
    };
    assert_eq!(found(&[]), 1);
    assert_eq!(found(&[user.base.path().join(SETTINGS)]), 0);
}
