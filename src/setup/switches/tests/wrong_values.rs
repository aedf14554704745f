//! Values with which a client does not start the bridge, or drops a whole file, and settings that count where a session is.

use super::*;

#[test]
fn a_limit_for_the_start_that_is_too_short_is_named() {
    let user = User::of("claude-code");
    user.write(".claude.json", &servers(&json!({})));
    let with = |limit: &Value| {
        let settings = json!({ "env": { "MCP_TIMEOUT": limit } });
        user.write(".claude/settings.json", &settings.to_string());
        user.says()
    };
    for fine in [json!("30000"), json!("0"), json!("x"), json!(60_000), Value::Null] {
        assert_eq!(with(&fine), [], "{fine}");
    }
    for short in [json!("1"), json!(1)] {
        let found = with(&short);
        let says = "Claude Code gives the bridge only 1 ms to start, because of `env.MCP_TIMEOUT` in ~/.claude/settings.json";
        assert!(found.len() == 1 && found[0].1 == says, "{found:?}");
        assert_eq!(found[0].0, SwitchEffect::Partly);
    }
}

#[test]
fn a_limit_for_each_call_that_is_too_short_for_a_wait_is_named() {
    let user = User::of("claude-code");
    let found = |fields: &Value, settings: &str, set: Option<&str>| {
        user.write(".claude.json", &servers(fields));
        user.write(SETTINGS, settings);
        let variable_here = |name: &str| match name {
            "HOME" => Some(user.base.path().into()),
            "MCP_TOOL_TIMEOUT" => set.map(Into::into),
            _ => None,
        };
        let places = Places::read(variable_here, false).unwrap();
        let (client, project) = (named("claude-code").unwrap(), user.project());
        let values = Values { variable: &variable, workspace: None };
        let found = find(client, &places, Some(&project), std::slice::from_ref(&project), values);
        found.into_iter().map(|one| one.says).collect::<Vec<_>>()
    };
    let short = r#"{ "env": { "MCP_TOOL_TIMEOUT": "2000" } }"#;
    let long = r#"{ "env": { "MCP_TOOL_TIMEOUT": "150000" } }"#;
    let says = found(&json!({}), short, None);
    assert!(says.len() == 1 && says[0].contains("after 2000 ms"), "{says:?}");
    assert!(says[0].contains("`env.MCP_TOOL_TIMEOUT` in "), "{says:?}");
    let says = found(&json!({}), "{}", Some("2000"));
    assert!(says.len() == 1 && says[0].contains("MCP_TOOL_TIMEOUT in the environment"), "{says:?}");
    assert_eq!(found(&json!({}), long, Some("2000")), [""; 0], "the settings count first");
    assert_eq!(found(&json!({ "timeout": 150_000 }), short, None), [""; 0]);
    assert_eq!(found(&json!({}), "{}", Some("0")), [""; 0]);
}

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
        (json!({ "timeout": 0 }), [true, false, true, true]),
        (json!({ "timeout": -5 }), [true, false, true, true]),
        (json!({ "timeout": "x" }), [true, false, true, true]),
        (json!({ "timeout": 1500.5 }), [true, false, false, false]),
        (json!({ "timeout": 150_000 }), [false; 4]),
        (json!({ "timeout": 2_147_483_647 }), [false; 4]),
        (json!({ "timeout": 2_147_483_648_u32 }), [false, false, true, true]),
        (json!({ "includeTools": "list_agents" }), [false, false, true, true]),
        (json!({ "includeTools": [5, "list_agents"] }), [false, false, true, true]),
        (json!({ "includeTools": null, "excludeTools": ["x", 5] }), [false; 4]),
        (json!({ "excludeTools": {} }), [false, false, true, true]),
        (json!({ "startup_timeout_sec": 0 }), [false, true, false, false]),
        (json!({ "startup_timeout_ms": 0 }), [false, true, false, false]),
        (json!({ "tool_timeout_sec": -5 }), [false, true, false, false]),
        (json!({ "tool_timeout_sec": 0 }), [false; 4]),
        (json!({ "bearer_token_env_var": "X" }), [false, true, false, false]),
    ] {
        assert_eq!(all.map(|client| off(client, fields.clone())), expected, "{fields}");
    }
}

/// As their code looks for a name in it.
#[test]
fn a_text_in_the_place_of_the_list_of_hidden_tools_hides_those_whose_names_are_in_it() {
    for (text, hidden) in
        [("list_agents", 1), ("list_agents, send_message", 2), ("list_agent", 0), ("", 0)]
    {
        for client in ["gemini", "qwen"] {
            let user = User::of(client);
            let fields = json!({ "excludeTools": text });
            user.write(&format!(".{client}/settings.json"), &servers(&fields));
            let found = user.says();
            assert_eq!(found.len(), usize::from(hidden > 0), "{client}: {found:?}");
            if hidden > 0 {
                assert_eq!(found[0].0, SwitchEffect::Partly);
                let words = format!("hides {hidden} of the bridge's");
                assert!(found[0].1.contains(&words), "{client}: {found:?}");
            }
        }
    }
}

/// A timer of Node.js takes both.
#[test]
fn a_limit_that_is_a_text_or_nothing_is_no_problem_in_gemini_cli_and_qwen_code() {
    for (fields, expected) in [
        (json!({ "timeout": "150000" }), false),
        (json!({ "timeout": null }), false),
        (json!({ "timeout": "0" }), true),
        (json!({ "timeout": "9000000000" }), true),
    ] {
        for client in ["gemini", "qwen"] {
            let user = User::of(client);
            user.write(&format!(".{client}/settings.json"), &servers(&fields));
            assert_eq!(!user.find().is_empty(), expected, "{client}: {fields}");
        }
    }
}

/// As the code of Qwen Code 0.24 decides when it moves them.
#[test]
fn the_old_names_of_qwen_codes_lists_count_until_the_settings_have_the_new_form() {
    for (settings, key) in [
        (json!({ "excludeMCPServers": ["bridge"] }), Some("excludeMCPServers")),
        (json!({ "allowMCPServers": ["other"] }), Some("allowMCPServers")),
        (json!({ "allowMCPServers": ["bridge"] }), None),
        (json!({ "excludeMCPServers": ["bridge"], "$version": 3 }), None),
    ] {
        let mut settings = settings;
        settings["mcpServers"] = json!({ "bridge": entry(&json!({})) });
        for (client, counts) in [("qwen", true), ("gemini", false)] {
            let user = User::of(client);
            user.write(&format!(".{client}/settings.json"), &settings.to_string());
            let found = user.says();
            let expected = key.filter(|_| counts);
            assert_eq!(found.len(), usize::from(expected.is_some()), "{client}: {found:?}");
            if let Some(key) = expected {
                let words = format!("because of `{key}` in ~/.qwen/settings.json");
                assert!(found[0].1.contains(&words), "{found:?}");
            }
        }
    }
}

#[test]
fn an_entry_of_a_project_without_a_program_takes_the_place_of_the_users_in_droid() {
    for entry in [json!({}), json!({ "disabled": true }), json!({ "disabledTools": ["x"] })] {
        let user = User::of("droid");
        user.write(".factory/mcp.json", &servers(&json!({})));
        assert_eq!(user.find(), []);
        let project = json!({ "mcpServers": { "bridge": entry } });
        user.write("p/.factory/mcp.json", &project.to_string());
        let found = user.says();
        assert_eq!(found.len(), 1, "{found:?}");
        let words = "because of `mcpServers.bridge` in ~/p/.factory/mcp.json, which takes the place of yours and names no program";
        assert!(found[0].0 == SwitchEffect::Off && found[0].1.ends_with(words), "{found:?}");
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
        let found = find(
            named(client).unwrap(),
            &places,
            Some(&project),
            &directories,
            Values { variable: &variable, workspace: None },
        );
        assert_eq!(found.len(), 1, "{client}: {found:?}");
        assert_eq!(found[0].effect, SwitchEffect::Off);
    }
}

/// Returns what a session of Codex in a directory below the project's finds there, and one in the project's.
fn in_codex_sessions(files: &[(&str, &str)], trusted: &str) -> [Vec<String>; 2] {
    let user = User::of("codex");
    let entry = format!(
        "[mcp_servers.bridge]\ncommand = '{COMMAND}'\nargs = ['orchestrator']\n[projects.\"@P{trusted}\"]\ntrust_level = 'trusted'\n"
    );
    user.write(".codex/config.toml", &entry);
    fs::create_dir_all(user.project().join(".git")).unwrap();
    fs::create_dir_all(user.project().join("sub/deep")).unwrap();
    for (file, text) in files {
        user.write(&format!("p/{file}"), text);
    }
    let (project, home) = (user.project(), user.base.path());
    let places = Places::read(|name| (name == "HOME").then(|| home.into()), false).unwrap();
    [project.join("sub/deep"), project.clone()].map(|session| {
        let all = find(
            named("codex").unwrap(),
            &places,
            Some(&project),
            std::slice::from_ref(&session),
            Values { variable: &variable, workspace: None },
        );
        let here = format!("(in a session in {})", session.display());
        let of_here = all
            .into_iter()
            .filter(|one| !one.says.contains("(in a session in ") || one.says.contains(&here));
        of_here.map(|one| one.says.replace(home.to_str().unwrap(), "~")).collect()
    })
}

/// As `codex mcp list` of 0.166 shows it.
#[test]
fn codex_reads_the_trusted_files_from_the_repositorys_root_to_the_session() {
    let (off, on) =
        ("[mcp_servers.bridge]\nenabled = false", "[mcp_servers.bridge]\nenabled = true");
    let (root, sub) = (".codex/config.toml", "sub/.codex/config.toml");
    for (files, trusted, expected) in [
        (&[(root, off)][..], "", [1, 1]),
        (&[(sub, off)], "", [1, 0]),
        (&[(root, off), (sub, on)], "", [0, 1]),
        (&[(root, off)], "/sub", [0, 0]),
        (&[(sub, off)], "/sub", [1, 0]),
        (&[(root, off), (sub, off)], "/other", [0, 0]),
    ] {
        let found = in_codex_sessions(files, trusted);
        assert_eq!(found.each_ref().map(Vec::len), expected, "{files:?} {trusted}: {found:?}");
    }
}

/// As `codex mcp list` of 0.166 takes them: with another value it refuses to start.
#[test]
fn a_value_with_which_codex_takes_no_configuration_is_named_where_it_counts() {
    let (root, sub) = (".codex/config.toml", "sub/.codex/config.toml");
    for (text, key) in [
        ("model = 5", Some("model")),
        ("approval_policy = 'nonsense'", Some("approval_policy")),
        ("sandbox_mode = 'x'", Some("sandbox_mode")),
        ("hide_agent_reasoning = 'x'", Some("hide_agent_reasoning")),
        ("model_context_window = 5.5", Some("model_context_window")),
        ("features = 5", Some("features")),
        ("[features]\nplugins = 'x'", Some("features.plugins")),
        ("[mcp_servers.bridge]\nenabled_tools = 'x'", Some("mcp_servers.bridge.enabled_tools")),
        ("[mcp_servers.other]\nenabled = false", Some("mcp_servers.other")),
        ("mcp_servers = 5", Some("mcp_servers")),
        ("model = 'x'\napproval_policy = 'never'\nunknown = 5", None),
        ("[features.multi_agent_v2]\nenabled = true", None),
        ("[mcp_servers.other]\nurl = 'http://x'", None),
    ] {
        let [_, of_root] = in_codex_sessions(&[(root, text)], "");
        let words = key.map(|key| format!("because of `{key}` in ~/p/{root}, which "));
        let is_named = words.as_ref().map(|words| of_root.iter().any(|one| one.contains(words)));
        assert!(is_named.unwrap_or(of_root.is_empty()), "{text}: {of_root:?}");
    }
    let found = in_codex_sessions(&[(root, "model = 5"), (sub, "model = 'x'")], "");
    assert_eq!(found.each_ref().map(Vec::len), [0, 1], "the nearest value counts: {found:?}");
    let found = in_codex_sessions(&[(root, "model = 5")], "/other");
    assert_eq!(found.each_ref().map(Vec::len), [0, 0], "it reads no file that is not trusted");
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
        (json!({ "hooks": { "PermissionRequest": 5 } }), Some("hooks.PermissionRequest")),
        (json!({ "hooks": { "PreToolUse": null, "Stop": "x" } }), None),
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

/// As `codex mcp list` of 0.166 shows the servers of a trusted, an untrusted and an undecided project.
#[test]
fn codex_reads_no_entry_of_a_project_that_the_user_does_not_trust() {
    let off = format!("[mcp_servers.bridge]\ncommand = '{COMMAND}'\nenabled = false\n");
    let on = off.replace("false", "true");
    let trust = |level: &str| format!("[projects.'@P']\ntrust_level = '{level}'\n");
    let (yet, refused) = ("because you do not trust ~/p yet", "because you do not trust ~/p");
    for (of_user, of_project, expected) in [
        (String::new(), &on, Some((SwitchEffect::Partly, yet))),
        (trust("untrusted"), &on, Some((SwitchEffect::Off, refused))),
        (trust("trusted"), &on, None),
        (
            trust("trusted"),
            &off,
            Some((
                SwitchEffect::Off,
                "because of `mcp_servers.bridge.enabled = false` in ~/p/.codex/config.toml",
            )),
        ),
        (format!("{on}{}", trust("untrusted")), &off, None),
        (
            format!("{off}{}", trust("untrusted")),
            &on,
            Some((
                SwitchEffect::Off,
                "because of `mcp_servers.bridge.enabled = false` in ~/.codex/config.toml",
            )),
        ),
    ] {
        let user = User::of("codex");
        user.write(".codex/config.toml", &of_user);
        user.write("p/.codex/config.toml", of_project);
        let says = user.says();
        let found = says.iter().map(|(effect, says, _)| (*effect, says.as_str()));
        let found: Vec<_> = found.collect();
        let fits = |(effect, words): (SwitchEffect, &str)| matches!(found[..], [(is, says)] if is == effect && says.ends_with(words));
        assert!(expected.map_or(found.is_empty(), fits), "{of_user}: {found:?}");
    }
}

#[test]
fn a_file_that_the_client_cannot_read_switches_nothing_off() {
    let check = |client: &'static str, entry: &str, file: &str, off: &str| {
        let user = User::of(client);
        user.write(entry, &servers(&json!({})));
        user.write(file, off);
        assert_eq!(user.find().len(), 1, "{client}");
        user.write(file, &format!("{off},"));
        assert_eq!(user.find(), [], "{client}");
        user.write(file, &format!("// mine\n{off}"));
        // Claude Code reads no comments.
        assert_eq!(user.find().len(), usize::from(client != "claude-code"), "{client}");
    };
    let denied = r#"{ "permissions": { "deny": ["mcp__bridge"] } }"#;
    check("claude-code", ".claude.json", SETTINGS, denied);
    let excluded = r#"{ "mcp": { "excluded": ["bridge"] } }"#;
    check("gemini", ".gemini/settings.json", "p/.gemini/settings.json", excluded);
}

/// As Gemini CLI 0.61 was seen to do it.
#[test]
fn some_values_end_each_session_of_gemini_cli() {
    let user = User::of("gemini");
    let settings = |other: Value, context: Value| {
        let all = json!({ "mcpServers": { "o": other, "bridge": entry(&json!({})) }, "context": context });
        user.write(".gemini/settings.json", &all.to_string());
        user.says()
    };
    assert_eq!(settings(json!({ "command": "x" }), json!({ "fileName": "x" })), []);
    for (found, key, what) in [
        (settings(json!(null), json!({})), "mcpServers.o", "is `null`"),
        (settings(json!({}), json!({ "fileName": 5 })), "context.fileName", "is a number"),
    ] {
        let [(effect, says, remedy)] = &found[..] else { panic!("{found:?}") };
        let named = format!("`{key}` in ~/.gemini/settings.json");
        assert_eq!(*effect, SwitchEffect::Off);
        assert!(says.contains(&format!("{named}, which {what}: with it,")), "{says}");
        assert!(remedy.contains(&named), "{remedy}");
    }
    // The project's file is read only in a trusted folder.
    settings(json!({}), json!({}));
    user.write("p/.gemini/settings.json", r#"{ "mcpServers": { "o": null } }"#);
    assert_eq!(user.find(), []);
    user.write(".gemini/trustedFolders.json", r#"{ "@P": "TRUST_FOLDER" }"#);
    assert_eq!(user.find().len(), 1);
}

/// As Qwen Code 0.24 was seen to do it, which goes on with such a value in a project.
#[test]
fn some_values_of_the_user_end_each_session_of_qwen_code() {
    let user = User::of("qwen");
    let fine = json!({ "mcpServers": { "bridge": entry(&json!({})) } });
    for (key, value) in [("mcpServers.o", json!(null)), ("context.fileName", json!(5))] {
        let mut all = fine.clone();
        let (table, name) = key.split_once('.').unwrap();
        all[table][name] = value;
        user.write(".qwen/settings.json", &all.to_string());
        let found = user.says();
        let named = format!("`{key}` in ~/.qwen/settings.json");
        assert!(found.len() == 1 && found[0].1.contains(&named), "{found:?}");
        assert_eq!(found[0].0, SwitchEffect::Off);
    }
    user.write(".qwen/settings.json", &fine.to_string());
    let of_project = r#"{ "mcpServers": { "o": null }, "context": { "fileName": 5 } }"#;
    user.write("p/.qwen/settings.json", of_project);
    assert_eq!(user.find(), []);
}

#[test]
fn codex_may_give_the_bridge_too_little_time_to_start() {
    let user = User::of("codex");
    let check = |field: &str, expected: Option<&str>| {
        let entry = format!("command = '{COMMAND}'\nargs = ['orchestrator']\n{field}\n");
        user.write(".codex/config.toml", &format!("[mcp_servers.bridge]\n{entry}"));
        let found = user.says();
        let Some(expected) = expected else { return assert_eq!(found, [], "{field}") };
        let [(effect, says, _)] = &found[..] else { panic!("{field}: {found:?}") };
        assert_eq!(*effect, SwitchEffect::Partly, "{field}");
        assert!(says.contains(expected), "{field}: {says}");
    };
    check("startup_timeout_sec = 10", None);
    check("startup_timeout_ms = 5000", None);
    check("startup_timeout_sec = 0.001", Some("only 0.001 s to start"));
    let file = "`mcp_servers.bridge.startup_timeout_ms` in ~/.codex/config.toml";
    check("startup_timeout_ms = 1", Some(file));
}
