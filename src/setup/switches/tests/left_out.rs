//! Entries that Claude Code 2.1.329 takes for none: it uses the bridge from elsewhere, if it has it there.

use super::*;
use crate::setup::known_client::EntryScope;
use crate::setup::switches::{EntryLeftOut, left_out};

impl User {
    fn left_out(&self) -> Vec<EntryLeftOut> {
        let home = |name: &str| (name == "HOME").then(|| self.base.path().into());
        let places = Places::read(home, false).unwrap();
        let (client, project) = (named(self.client).unwrap(), self.project());
        let values = Values { variable: &variable, workspace: None };
        left_out(client, &places, Some(&project), std::slice::from_ref(&project), values)
    }

    /// Writes the user's own file of Claude Code.
    fn write_own(&self, of_user: Option<&Value>, of_project: Value) {
        let mut all = json!({ "projects": {} });
        if let Some(fields) = of_user {
            all["mcpServers"] = json!({ "bridge": entry(fields) });
        }
        all["projects"][self.project().to_str().unwrap()] = of_project;
        self.write(".claude.json", &all.to_string());
    }
}

#[test]
fn an_entry_that_claude_code_leaves_out_switches_nothing_off_if_it_has_another() {
    let local = |fields: Value| json!({ "mcpServers": { "bridge": entry(&fields) } });
    let (local_scope, of_project) = (EntryScope::Local, EntryScope::Project);
    let settings = ".claude/settings.local.json";
    let check = |scope, fields: Value, of_project: Value, setting: &str| {
        let user = User::of("claude-code");
        // In a session that has no other entry, this one does not start.
        for of_user in [None, Some(&json!({}))] {
            match scope {
                EntryScope::Project => {
                    user.write_own(of_user, of_project.clone());
                    user.write("p/.mcp.json", &servers(&fields));
                }
                EntryScope::Local | EntryScope::User => {
                    user.write_own(of_user, local(fields.clone()));
                }
            }
            if setting == settings {
                user.write(
                    &format!("p/{settings}"),
                    &json!({ "disabledMcpjsonServers": ["bridge"] }).to_string(),
                );
            }
            let (off, left_out) = (user.find(), user.left_out());
            if of_user.is_none() {
                assert_eq!(left_out, [], "{fields} {setting}");
                continue;
            }
            assert_eq!(off, [], "{fields} {setting}");
            assert_eq!(left_out.len(), 1, "{fields} {setting}: {left_out:?}");
            let EntryLeftOut { is_local, says, remedy, .. } = &left_out[0];
            assert_eq!(*is_local, scope == EntryScope::Local);
            assert!(says.starts_with("Claude Code takes the bridge from "), "{says}");
            assert!(says.contains(setting) && remedy.contains(setting), "{says}: {remedy}");
        }
    };
    let rejected = json!({ "disabledMcpjsonServers": ["bridge"] });
    check(local_scope, json!({ "timeout": "x" }), json!({}), "mcpServers.bridge.timeout");
    check(local_scope, json!({ "env": { "A": 1 } }), json!({}), "mcpServers.bridge.env");
    check(of_project, json!({ "env": null }), json!({}), "mcpServers.bridge.env");
    check(local_scope, json!({ "type": "local" }), json!({}), "\"type\"");
    check(of_project, json!({ "type": "local" }), json!({}), "\"type\"");
    // Without `url`.
    check(of_project, json!({ "type": "http" }), json!({}), "\"type\"");
    check(local_scope, json!({ "type": "sse" }), json!({}), "\"type\"");
    for arguments in [json!(null), json!("orchestrator"), json!(["orchestrator", 5])] {
        check(local_scope, json!({ "args": arguments }), json!({}), "mcpServers.bridge.args");
    }
    let text = json!({ "disabledMcpjsonServers": "bridge" });
    check(of_project, json!({}), text, "disabledMcpjsonServers");
    check(of_project, json!({}), rejected, "disabledMcpjsonServers");
    check(of_project, json!({}), json!({}), settings);
    // One that it starts is not left out, whatever becomes of it.
    let user = User::of("claude-code");
    user.write_own(Some(&json!({})), local(json!({ "command": "/gone/cli-team-bridge" })));
    assert_eq!(user.left_out(), []);
}

#[test]
fn an_entry_of_the_user_that_claude_code_takes_for_none_switches_nothing_off_beside_that_of_the_project()
 {
    let user = User::of("claude-code");
    user.write_own(Some(&json!({ "type": "local" })), json!({}));
    user.write("p/.mcp.json", &servers(&json!({})));
    user.write(".claude/settings.json", r#"{ "enabledMcpjsonServers": "bridge" }"#);
    assert_eq!(user.find(), []);
    let left_out = user.left_out();
    assert!(
        left_out.len() == 1 && left_out[0].says.contains("takes no bridge from"),
        "{left_out:?}"
    );
    assert!(left_out[0].file.ends_with(".claude.json"), "{left_out:?}");
}
