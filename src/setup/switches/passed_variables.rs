//! Which variables of its own environment a client passes on to the bridge, as the clients were seen to do it. Only those count in which an
//! agent's login may be.

use std::path::Path;

use serde_json::Value;

use super::find_switches::texts;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_json;

/// What Gemini CLI looks for in the name of a variable, in any letters. It keeps such a variable to itself.
const KEPT_BY_GEMINI: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "KEY",
    "AUTH",
    "CREDENTIAL",
    "CREDS",
    "PRIVATE",
    "CERT",
];

/// The variable of a session that Claude Code takes out of the environment of whatever it starts. Its entry cannot name it either: there,
/// too, it is empty.
const KEPT_BY_CLAUDE_CODE: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// Says whether a client passes a variable on. `entries` are what its files have for the bridge, and `settings` the other settings there.
pub fn passes_variable(
    client: &str,
    name: &str,
    (entries, settings): (&[&Value], &[Value]),
) -> bool {
    let is_in_env = || entries.iter().any(|entry| entry["env"].get(name).is_some());
    match client {
        // It passes a few on, such as `PATH`, in none of which a login is.
        "codex" => {
            let has = |one: &Value| one == name || one["name"] == name;
            let listed = |entry: &&Value| {
                entry["env_vars"].as_array().is_some_and(|all| all.iter().any(has))
            };
            is_in_env() || entries.iter().any(listed)
        }
        "gemini" => {
            let upper = name.to_uppercase();
            let allows = |settings: &Value| {
                let allowed = &settings["security"]["environmentVariableRedaction"]["allowed"];
                texts(allowed).iter().any(|one| one.to_uppercase() == upper)
            };
            !KEPT_BY_GEMINI.iter().any(|part| upper.contains(part))
                || is_in_env()
                || settings.iter().any(allows)
        }
        "claude-code" => name != KEPT_BY_CLAUDE_CODE,
        _ => true,
    }
}

/// Reads the settings of Gemini CLI that may let variables through; none of another client.
pub fn settings_in(client: &str, file: &Path) -> Option<Value> {
    let text = ConfigFile::look(file, None).ok().filter(|_| client == "gemini")?.text?;
    edit_json::value_at(&text, &[]).ok()?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_variable_is_passed_on_by_habit_or_by_an_entry() {
        let (key, token) = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN");
        let passes = |client: &str, name: &str, entry: Value| {
            passes_variable(client, name, (&[&json!({}), &entry], &[]))
        };
        let all = ["claude-code", "codex", "gemini", "qwen", "droid"];
        let of = |name: &str| all.map(|client| passes(client, name, json!({})));
        assert_eq!(of(key), [true, false, false, true, true]);
        assert_eq!(of(token), [false, false, false, true, true]);
        assert_eq!(of("OPENAI_MODEL"), [true, false, true, true, true]);
        for (client, entry) in [
            ("codex", json!({ "env_vars": ["A", key] })),
            ("codex", json!({ "env_vars": [{ "name": key, "source": "local" }] })),
            ("codex", json!({ "env": { key: "x" } })),
            ("gemini", json!({ "env": { key: "$ANTHROPIC_API_KEY" } })),
        ] {
            assert!(passes(client, key, entry.clone()), "{client}: {entry}");
        }
        let settings = json!({ "security": { "environmentVariableRedaction": { "allowed": ["anthropic_api_key"] } } });
        assert!(passes_variable("gemini", key, (&[], &[settings])));
        // It would be empty.
        let entry = json!({ "env": { token: "${CLAUDE_CODE_OAUTH_TOKEN}" } });
        assert!(!passes("claude-code", token, entry));
    }
}
