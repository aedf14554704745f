//! What switches an entry off, as the real clients were seen to decide it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::find;
use crate::setup::clients::named;
use crate::setup::edits::entry_variables::Values;
use crate::setup::known_client::{Places, Switch, SwitchEffect};

mod approvals;
mod left_out;
mod wrong_values;

/// A home directory and a project in it.
struct User {
    base: tempfile::TempDir,
    client: &'static str,
}

impl User {
    fn of(client: &'static str) -> Self {
        let user = Self { base: tempfile::tempdir().unwrap(), client };
        fs::create_dir(user.base.path().join("p")).unwrap();
        user
    }

    fn project(&self) -> PathBuf {
        self.base.path().join("p")
    }

    /// Writes a file below the home directory, in which `@P` stands for the project.
    fn write(&self, file: &str, text: &str) {
        let path = self.base.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("@P", self.project().to_str().unwrap())).unwrap();
    }

    fn find(&self) -> Vec<Switch> {
        let home = |name: &str| (name == "HOME").then(|| self.base.path().into());
        let places = Places::read(home, false).unwrap();
        let (client, project) = (named(self.client).unwrap(), self.project());
        let values = Values { variable: &variable, workspace: None };
        find(client, &places, Some(&project), std::slice::from_ref(&project), values)
    }

    /// Returns the effect and the words of what is found, with `~` for the home directory.
    fn says(&self) -> Vec<(SwitchEffect, String, String)> {
        let home = self.base.path().to_str().unwrap();
        let short = |text: &str| text.replace(home, "~");
        let found = self.find().into_iter();
        found.map(|one| (one.effect, short(&one.says), short(&one.remedy))).collect()
    }
}

/// The environment of the client.
fn variable(name: &str) -> Option<String> {
    ["A", "B"].contains(&name).then(|| name.to_lowercase())
}

const COMMAND: &str = "/x/cli-team-bridge";

fn entry(fields: &Value) -> Value {
    let mut entry = json!({ "command": COMMAND, "args": ["orchestrator"] });
    for (key, value) in fields.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry
}

fn servers(fields: &Value) -> String {
    json!({ "mcpServers": { "bridge": entry(fields) } }).to_string()
}

const SETTINGS: &str = ".claude/settings.json";

#[test]
fn claude_code_hides_denied_tools_and_starts_no_denied_or_disabled_server() {
    let command = json!([COMMAND, "orchestrator"]);
    let name = json!([{ "serverName": "bridge" }]);
    for (file, settings, expected) in [
        (SETTINGS, json!({ "permissions": { "deny": ["mcp__bridge"] } }), true),
        (SETTINGS, json!({ "permissions": { "deny": ["mcp__bridge__*"] } }), true),
        (SETTINGS, json!({ "permissions": { "deny": ["mcp__bri*"] } }), true),
        (
            SETTINGS,
            json!({ "permissions": { "deny": ["mcp__bridge(*)", "mcp__bridge__"] } }),
            false,
        ),
        ("p/.claude/settings.json", json!({ "permissions": { "deny": ["*"] } }), true),
        ("p/.claude/settings.local.json", json!({ "deniedMcpServers": name }), true),
        (SETTINGS, json!({ "deniedMcpServers": [{ "serverCommand": command }] }), true),
        (
            SETTINGS,
            json!({ "deniedMcpServers": [{ "serverCommand": [COMMAND] }, "bridge"] }),
            false,
        ),
        (SETTINGS, json!({ "deniedMcpServers": [{ "serverName": "*" }] }), false),
        (SETTINGS, json!({ "allowedMcpServers": [] }), true),
        (SETTINGS, json!({ "allowedMcpServers": name }), false),
        (SETTINGS, json!({ "allowedMcpServers": [{ "serverCommand": command }] }), false),
        (SETTINGS, json!({ "allowedMcpServers": [name[0], { "serverCommand": ["/y"] }] }), true),
        (SETTINGS, json!({ "disabledMcpjsonServers": ["bridge"] }), false),
        (SETTINGS, json!({ "disabledMcpServers": ["bridge"] }), false),
        (
            ".claude.json",
            json!({ "projects": { "@P": { "disabledMcpServers": ["bridge"] } } }),
            true,
        ),
        (
            ".claude.json",
            json!({ "projects": { "/q": { "disabledMcpServers": ["bridge"] } } }),
            false,
        ),
    ] {
        let user = User::of("claude-code");
        let mut main = json!({ "mcpServers": { "bridge": entry(&json!({})) } });
        if file == ".claude.json" {
            main["projects"] = settings["projects"].clone();
        } else {
            user.write(file, &settings.to_string());
        }
        user.write(".claude.json", &main.to_string());
        let found = user.find();
        let is_off = found.iter().any(|switch| switch.effect == SwitchEffect::Off);
        assert_eq!(is_off, expected, "{file}: {settings}: {found:?}");
        assert_eq!(found.len(), usize::from(expected), "{found:?}");
    }
}

#[test]
fn what_is_switched_off_is_named_with_its_file_its_key_and_what_turns_it_on() {
    let user = User::of("claude-code");
    user.write(".claude.json", &servers(&json!({})));
    let deny = json!({ "permissions": { "deny": ["mcp__bridge"] }, "disableAllHooks": true });
    user.write(SETTINGS, &deny.to_string());
    assert_eq!(
        user.says(),
        [
            (
                SwitchEffect::Off,
                "Claude Code shows its model none of the bridge's tools, because of `mcp__bridge` among \
                 `permissions.deny` in ~/.claude/settings.json"
                    .to_owned(),
                "if the bridge should run, remove `mcp__bridge` from `permissions.deny` in \
                 ~/.claude/settings.json"
                    .to_owned(),
            ),
            (
                SwitchEffect::Partly,
                "the hooks that bring messages do nothing, because of `disableAllHooks = true` in \
                 ~/.claude/settings.json"
                    .to_owned(),
                "if messages should come between two steps, too, and not only with the bridge's tools, \
                 remove `disableAllHooks` in ~/.claude/settings.json"
                    .to_owned(),
            ),
        ]
    );
    user.write("p/.claude/settings.local.json", r#"{ "disableAllHooks": false }"#);
    user.write(
        SETTINGS,
        r#"{ "permissions": { "deny": ["mcp__bridge__kill_agent"] }, "disableAllHooks": true }"#,
    );
    let says = user.says();
    let hidden = "hides 1 of the bridge's 22 tools from its model (kill_agent)";
    assert_eq!(says.len(), 1, "{says:?}");
    assert!(says[0].0 == SwitchEffect::Partly && says[0].1.contains(hidden), "{says:?}");
}

#[test]
fn a_projects_entry_waits_for_its_approval_unless_a_setting_approves_or_refuses_it() {
    let approved = json!({ "enabledMcpjsonServers": ["bridge"] });
    let refused =
        json!({ "enabledMcpjsonServers": ["bridge"], "disabledMcpjsonServers": ["bridge"] });
    for (settings, expected) in [
        (json!({}), Some(SwitchEffect::Partly)),
        (approved, None),
        (json!({ "enableAllProjectMcpServers": true }), None),
        (refused, Some(SwitchEffect::Off)),
    ] {
        let user = User::of("claude-code");
        user.write("p/.mcp.json", &servers(&json!({})));
        user.write("p/.claude/settings.local.json", &settings.to_string());
        let found: Vec<_> = user.find().iter().map(|switch| switch.effect).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{settings}");
    }
}

/// Checks which texts of a client's file switch it off.
fn check(client: &'static str, file: &str, texts: &[(String, bool)]) {
    for (text, expected) in texts {
        let user = User::of(client);
        user.write(file, text);
        let found = user.find();
        let is_off = found.iter().any(|switch| switch.effect == SwitchEffect::Off);
        assert_eq!(is_off, *expected, "{client}: {text}: {found:?}");
    }
}

#[test]
fn an_entry_can_be_off_by_its_own_fields() {
    let toml = |more: &str| format!("[mcp_servers.bridge]\ncommand = '{COMMAND}'\n{more}\n");
    check(
        "codex",
        ".codex/config.toml",
        &[
            (toml(""), false),
            (toml("enabled = true"), false),
            (toml("enabled = false"), true),
            (toml("enabled_tools = []"), true),
            (toml("enabled_tools = ['assign_task']"), false),
            (toml("enabled_tools = ['assign_task(x)', 'mcp__bridge__assign_task']"), true),
            (toml("disabled_tools = ['assign_task(x)']"), false),
            (toml("enabled_tools = ['assign_task']\ndisabled_tools = ['assign_task']"), true),
        ],
    );
    check(
        "droid",
        ".factory/mcp.json",
        &[
            (servers(&json!({ "disabled": true })), true),
            (servers(&json!({ "disabled": "false" })), true),
            (servers(&json!({ "disabled": 1 })), true),
            (servers(&json!({ "disabled": "" })), false),
            (servers(&json!({ "disabled": false, "enabledTools": [] })), false),
            (servers(&json!({ "enabledTools": ["bridge___assign_task"] })), false),
            (servers(&json!({ "enabledTools": ["x"] })), true),
        ],
    );
    let zed = json!({ "context_servers": { "bridge": entry(&json!({ "enabled": false })) } });
    check("zed", ".config/zed/settings.json", &[(zed.to_string(), true)]);
    let user = User::of("codex");
    user.write(".codex/config.toml", &toml("disabled_tools = ['kill_agent', 'x']"));
    let found = user.find();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].effect == SwitchEffect::Partly && found[0].says.contains("hides 1 of"),
        "{found:?}"
    );
}

#[test]
fn gemini_cli_and_qwen_code_have_lists_of_servers() {
    let text = |settings: Value| {
        let mut all = json!({ "mcpServers": { "bridge": entry(&json!({})) } });
        all["mcp"] = settings;
        all.to_string()
    };
    for (client, file, by_pattern) in
        [("gemini", ".gemini/settings.json", false), ("qwen", ".qwen/settings.json", true)]
    {
        let texts = [
            (text(json!({})), false),
            (text(json!({ "excluded": ["bridge"] })), true),
            (text(json!({ "excluded": ["bri*"] })), by_pattern),
            (text(json!({ "excluded": ["?ridge"] })), by_pattern),
            (text(json!({ "allowed": ["x"] })), true),
            (text(json!({ "allowed": ["br*"] })), !by_pattern),
            (text(json!({ "allowed": [] })), by_pattern),
            (servers(&json!({ "includeTools": ["x"] })), true),
            (servers(&json!({ "includeTools": ["assign_task(a)"] })), false),
        ];
        check(client, file, &texts);
        let user = User::of(client);
        user.write(file, &text(json!({ "allowed": ["x"] })));
        user.write(
            &Path::new("p").join(file).to_string_lossy(),
            r#"{ "mcp": { "allowed": ["bridge"] } }"#,
        );
        assert_eq!(user.find(), [], "the lists count together");
        user.write(file, &servers(&json!({ "excludeTools": ["kill_agent(a)"] })));
        assert_eq!(user.find(), [], "hidden tools are named as they are");
    }
    let user = User::of("gemini");
    user.write(".gemini/settings.json", &servers(&json!({})));
    user.write(".gemini/mcp-server-enablement.json", r#"{ "bridge": { "enabled": false } }"#);
    assert_eq!(
        user.says()[0].2,
        "if the bridge should run, remove `bridge` from ~/.gemini/mcp-server-enablement.json"
    );
}

#[test]
fn all_hooks_can_be_off_which_is_a_note() {
    for (client, file, settings) in [
        ("gemini", ".gemini/settings.json", json!({ "hooksConfig": { "enabled": false } })),
        ("qwen", ".qwen/settings.json", json!({ "disableAllHooks": true })),
    ] {
        let user = User::of(client);
        let mut own: Value = serde_json::from_str(&servers(&json!({}))).unwrap();
        user.write(file, &own.to_string());
        assert_eq!(user.find(), []);
        for (key, value) in settings.as_object().unwrap() {
            own[key] = value.clone();
        }
        user.write(file, &own.to_string());
        let found = user.says();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].0 == SwitchEffect::Partly && found[0].1.contains("the hooks"),
            "{found:?}"
        );
        let on = settings.to_string().replace("true", "TRUE").replace("false", "true");
        user.write(&format!("p/{file}"), &on.replace("TRUE", "false"));
        assert_eq!(user.find(), [], "the project's settings decide");
    }
}

#[test]
fn codex_adds_the_fields_of_a_project_that_the_user_trusts() {
    let server = |more: &str| format!("[mcp_servers.bridge]\n{more}\n");
    let own = server(&format!("command = '{COMMAND}'"));
    let trusted = format!("{own}[projects.'@P']\ntrust_level = 'trusted'\n");
    let own_off = trusted.replace("[projects", "enabled = false\n[projects");
    for (of_user, of_project, expected) in [
        (&trusted, "enabled = false", true),
        (&own, "enabled = false", false),
        (&trusted, "disabled_tools = ['x']", false),
        (&trusted, "enabled_tools = []", true),
        (&own_off, "", true),
        (&own_off, "enabled = true", false),
        (&own_off, &format!("command = '{COMMAND}'"), true),
    ] {
        let user = User::of("codex");
        user.write(".codex/config.toml", of_user);
        user.write("p/.codex/config.toml", &server(of_project));
        let found = user.find();
        let is_off = found.iter().any(|switch| switch.effect == SwitchEffect::Off);
        assert_eq!(is_off, expected, "{of_user} {of_project}: {found:?}");
    }
}

#[test]
fn a_projects_entry_without_a_program_takes_the_place_of_the_users() {
    for (client, file) in [("gemini", ".gemini/settings.json"), ("qwen", ".qwen/settings.json")] {
        let user = User::of(client);
        user.write(file, &servers(&json!({})));
        let in_project = format!("p/{file}");
        user.write(&in_project, r#"{ "mcpServers": { "bridge": { "excludeTools": ["x"] } } }"#);
        let (effect, _, remedy) = &user.says()[0];
        let expected =
            format!("if the bridge should run, remove `mcpServers.bridge` in ~/{in_project}");
        assert_eq!((*effect, remedy), (SwitchEffect::Off, &expected));
        user.write(&in_project, &servers(&json!({})));
        let found = user.find();
        let is_off = found.iter().any(|switch| switch.effect == SwitchEffect::Off);
        assert!(!is_off, "an entry of the project's own: {found:?}");
    }
}

#[test]
fn gemini_cli_and_qwen_code_have_lists_of_tools_for_all_servers() {
    let text = |tools: Value| {
        let mut all = json!({ "mcpServers": { "bridge": entry(&json!({})) } });
        all["tools"] = tools;
        all.to_string()
    };
    let texts = [
        (text(json!({ "core": ["read_file"] })), true),
        (text(json!({ "core": [] })), true),
        (text(json!({ "core": ["read_file", "mcp_bridge_*"] })), false),
        (text(json!({ "core": [], "allowed": ["mcp_bridge_assign_task"] })), false),
        (text(json!({ "exclude": ["mcp_bridge_*"] })), true),
        (text(json!({ "exclude": ["mcp_bridge_assign_task", "bridge"] })), false),
    ];
    check("gemini", ".gemini/settings.json", &texts);
    let all = ["mcp__bridge__*", "mcp__bridge"];
    check("qwen", ".qwen/settings.json", &[(text(json!({ "disabled": all })), false)]);
    for (client, file, tools) in [
        ("gemini", ".gemini/settings.json", json!({ "exclude": ["mcp_bridge_kill_agent"] })),
        (
            "gemini",
            ".gemini/settings.json",
            json!({ "exclude": ["kill_agent", "mcp_bridge_steer(x)"] }),
        ),
        ("qwen", ".qwen/settings.json", json!({ "disabled": ["mcp__bridge__kill_agent"] })),
    ] {
        let user = User::of(client);
        user.write(file, &servers(&json!({})));
        user.write(&format!("p/{file}"), &json!({ "tools": tools }).to_string());
        let found = user.says();
        assert_eq!(found.len(), 1, "{found:?}");
        let (effect, says, _) = &found[0];
        let hidden = says.contains("hides 1 of the bridge's 22 tools from its model (kill_agent)");
        assert!(*effect == SwitchEffect::Partly && hidden, "{found:?}");
    }
}

/// Each case is a file of rules, what the settings say beside the entry, and how many tools are hidden.
#[test]
fn rules_of_gemini_cli_hide_the_tools_that_they_deny() {
    let rule = |fields: &str| format!("[[rule]]\n{fields}\n");
    let deny = |fields: &str| rule(&format!("decision = 'deny'\npriority = 500\n{fields}"));
    let all = "toolName = '*'\nmcpName = 'bridge'";
    let stop = "toolName = 'kill_agent'\nmcpName = 'bridge'";
    let allow = rule(&format!("decision = 'allow'\npriority = 600\n{stop}"));
    let low = format!("{}priority = 99\n", deny(all).replace("priority = 500\n", ""));
    let none = json!({});
    for (rules, settings, hidden) in [
        (deny(all), &none, 22),
        (deny("toolName = '*'"), &none, 22),
        (deny("toolName = 'mcp_bridge_*'"), &none, 22),
        (deny("toolName = '*'\nmcpName = '*'"), &none, 22),
        (deny("toolName = ['mcp_bridge_kill_agent', 'x']"), &none, 1),
        (format!("{}{allow}", deny(all)), &none, 21),
        (format!("{}{}", deny(all), allow.replace("600", "400")), &none, 22),
        (deny("toolName = '*'\nmcpName = 'other'"), &none, 0),
        (deny("toolName = 'run_shell_command'\ncommandPrefix = 'rm'"), &none, 0),
        (deny(&format!("{all}\nargsPattern = 'x'")), &none, 0),
        (deny(&format!("{all}\nmodes = ['plan']")), &none, 0),
        (deny(&format!("{all}\nsubagent = 'x'")), &none, 0),
        (deny(&format!("{all}\ninteractive = false")), &none, 0),
        // Gemini CLI does not take a file with a wrong rule.
        (format!("{}[[rule]]\ntoolName = 'x'\n", deny(all)), &none, 0),
        (low.clone(), &none, 22),
        (low, &json!({ "mcp": { "allowed": ["bridge"] } }), 0),
        (deny(all), &json!({ "mcp": { "allowed": ["bridge"] } }), 22),
        (deny(all), &json!({ "policyPaths": ["/x"] }), 0),
    ] {
        let user = User::of("gemini");
        let mut own: Value = serde_json::from_str(&servers(&json!({}))).unwrap();
        for (key, value) in settings.as_object().unwrap() {
            own[key] = value.clone();
        }
        user.write(".gemini/settings.json", &own.to_string());
        user.write(".gemini/policies/mine.toml", &rules);
        let found = user.says();
        let said = found.first().map_or("", |(_, says, _)| says.as_str());
        let expected = match hidden {
            0 => "",
            22 => {
                "shows its model none of the bridge's tools, because of `rule` in ~/.gemini/policies/mine.toml"
            }
            _ => &format!("hides {hidden} of the bridge's 22 tools"),
        };
        assert!(said.contains(expected) && (said.is_empty() == (hidden == 0)), "{rules} {found:?}");
    }
}
