//! Values with which a client does not start the bridge, or drops a whole file, and settings that count where a session is.

use super::*;

#[test]
fn a_value_of_the_entry_with_which_it_is_not_started_is_named() {
    let off = |client: &'static str, fields: Value| {
        let user = User::of(client);
        match client {
            "codex" => {
                let fields: String = fields
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(key, value)| match value {
                        Value::Object(_) => format!("{key} = {{ A = 1 }}\n"),
                        value => format!("{key} = {value}\n"),
                    })
                    .collect();
                let entry = format!("[mcp_servers.bridge]\ncommand = '{COMMAND}'\n{fields}");
                user.write(".codex/config.toml", &entry);
            }
            "claude-code" => user.write(".claude.json", &servers(&fields)),
            client => user.write(&format!(".{client}/settings.json"), &servers(&fields)),
        }
        let found = user.find();
        let is_off = |one: &Switch| one.effect == SwitchEffect::Off;
        assert_eq!(found.iter().any(is_off), !found.is_empty(), "{found:?}");
        !found.is_empty()
    };
    let all = ["claude-code", "codex", "gemini", "qwen"];
    for (fields, expected) in [
        (json!({ "cwd": "/nonexistent" }), [false, true, true, true]),
        (json!({ "cwd": "/" }), [false; 4]),
        (json!({ "env": { "A": 1 } }), [true, true, true, false]),
        (json!({ "timeout": 0 }), [true, false, false, false]),
        (json!({ "timeout": "x" }), [true, false, false, false]),
        (json!({ "timeout": 150_000 }), [false; 4]),
        (json!({ "startup_timeout_sec": 0 }), [false, true, false, false]),
        (json!({ "tool_timeout_sec": -5 }), [false, true, false, false]),
        (json!({ "tool_timeout_sec": 0 }), [false; 4]),
        (json!({ "bearer_token_env_var": "X" }), [false, true, false, false]),
    ] {
        assert_eq!(all.map(|client| off(client, fields.clone())), expected, "{fields}");
    }
}

#[test]
fn what_a_trusted_projects_file_changes_of_codexs_entry_is_judged_with_it() {
    let found = |text: &str| {
        let user = User::of("codex");
        let entry = format!(
            "[mcp_servers.bridge]\ncommand = '{COMMAND}'\nargs = ['orchestrator']\n[projects.\"@P\"]\ntrust_level = 'trusted'\n"
        );
        user.write(".codex/config.toml", &entry);
        user.write("p/.codex/config.toml", &format!("[mcp_servers.bridge]\n{text}\n"));
        user.find().into_iter().map(|one| one.effect).collect::<Vec<_>>()
    };
    assert_eq!(found("cwd = '/nonexistent'"), [SwitchEffect::Off]);
    assert_eq!(found("url = 'http://127.0.0.1:1/'"), [SwitchEffect::Off]);
    assert_eq!(found("args = ['peer']"), [SwitchEffect::Partly]);
    assert_eq!(found("args = ['orchestrator']"), []);
}

#[test]
fn settings_in_the_directory_of_a_session_below_the_projects_count() {
    for (client, of_user, settings, text) in [
        (
            "gemini",
            ".gemini/settings.json",
            ".gemini/settings.json",
            r#"{"mcp":{"excluded":["bridge"]}}"#,
        ),
        (
            "qwen",
            ".qwen/settings.json",
            ".qwen/settings.json",
            r#"{"mcp":{"excluded":["bridge"]}}"#,
        ),
        (
            "claude-code",
            ".claude.json",
            ".claude/settings.json",
            r#"{"permissions":{"deny":["mcp__bridge"]}}"#,
        ),
    ] {
        let user = User::of(client);
        user.write(of_user, &servers(&json!({})));
        user.write(&format!("p/sub/{settings}"), text);
        assert_eq!(user.find(), [], "{client}");
        let (project, below) = (user.project(), user.project().join("sub"));
        let home = |name: &str| (name == "HOME").then(|| user.base.path().into());
        let places = Places::read(home, false).unwrap();
        let directories = [below, project.clone()];
        let found = find(named(client).unwrap(), &places, Some(&project), &directories);
        assert_eq!(found.len(), 1, "{client}: {found:?}");
        assert_eq!(found[0].effect, SwitchEffect::Off);
    }
}

#[test]
fn claude_code_asks_before_a_call_and_drops_a_file_with_a_wrong_value() {
    let says = |settings: Value| {
        let user = User::of("claude-code");
        user.write(".claude.json", &servers(&json!({})));
        user.write(SETTINGS, &settings.to_string());
        user.says().into_iter().map(|(effect, says, _)| (effect, says)).collect::<Vec<_>>()
    };
    let ask = |rule: &str| says(json!({ "permissions": { "ask": [rule] } }));
    for (rule, tools) in [
        ("mcp__bridge", "the bridge's tools"),
        ("mcp__bridge__assign_task", "1 tool of the bridge"),
    ] {
        let expected = format!(
            "Claude Code asks you before each call of {tools}, whatever is allowed, because of `{rule}` among `permissions.ask` in ~/{SETTINGS}"
        );
        assert_eq!(ask(rule), [(SwitchEffect::Partly, expected)]);
    }
    assert_eq!(ask("Bash"), []);
    for (settings, key) in [
        (json!({ "model": 5 }), Some("model")),
        (json!({ "permissions": { "defaultMode": "nonsense" } }), Some("permissions.defaultMode")),
        (json!({ "permissions": { "deny": "Bash" } }), Some("permissions.deny")),
        (json!({ "hooks": { "PreToolUse": {} } }), Some("hooks.PreToolUse")),
        (json!({ "model": "opus", "permissions": { "defaultMode": "dontAsk" } }), None),
        (json!({ "permissions": { "allow": ["Bash", 5] }, "hooks": { "Foo": [] } }), None),
    ] {
        // What is not used asks for nothing.
        let mut dropped = settings.clone();
        dropped["permissions"]["ask"] =
            if key.is_some() { json!(["mcp__bridge"]) } else { json!([]) };
        let found = says(dropped);
        let expected = key.map(|key| format!(
            "Claude Code uses nothing of ~/{SETTINGS}, because of the value of `{key}` there: permissions and hooks there do not count"
        ));
        let found: Vec<_> = found.into_iter().map(|(_, says)| says).collect();
        assert_eq!(found, Vec::from_iter(expected), "{settings}");
    }
}
