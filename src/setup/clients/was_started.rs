//! Whether a client has ever been started with its present home directory. Any command of its own would make files there at the first
//! time, which no undo of setup's would remove.

use serde_json::Value;

use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_json;
use crate::setup::known_client::{Client, Places, Server};

/// What Claude Code writes into `~/.claude.json` when it is started: one is of version 2.1.329, the others are of older ones, too.
const KEYS_OF_CLAUDE_CODE: [&str; 3] = ["firstStartTime", "numStartups", "userID"];

/// The only file of Codex that setup writes.
const FILE_OF_CODEX: &str = "config.toml";

/// Says whether a client has been started before, as far as that is known of it.
pub fn was_started(client: &Client, places: &Places) -> bool {
    match client.name {
        "claude-code" => {
            let server = Server { program: String::new() };
            let files = (client.for_user)(places, &server);
            let all = files.first().and_then(|file| {
                let text = ConfigFile::look(&file.path, None).ok()?.text?;
                edit_json::value_at(&text, &[]).ok().flatten()
            });
            let all = all.unwrap_or(Value::Null);
            KEYS_OF_CLAUDE_CODE.iter().any(|key| all.get(*key).is_some())
        }
        "codex" => {
            let directory = (client.directory)(places);
            let parts = directory.and_then(|place| place.read_dir().ok()).into_iter().flatten();
            parts.flatten().any(|part| part.file_name() != FILE_OF_CODEX)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::setup::clients::named;

    #[test]
    fn a_client_that_has_left_no_file_of_its_own_was_never_started() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::read(|name| (name == "HOME").then(|| home.path().into()), false);
        let places = places.unwrap();
        let was_started = |client: &str| was_started(named(client).unwrap(), &places);
        let check = |expected: [bool; 2]| {
            assert_eq!(["claude-code", "codex"].map(was_started), expected);
        };
        let write = |file: &str, text: &str| fs::write(home.path().join(file), text).unwrap();
        check([false, false]);
        fs::create_dir_all(home.path().join(".claude")).unwrap();
        fs::create_dir_all(home.path().join(".codex")).unwrap();
        write(".claude.json", r#"{ "a": 1, "mcpServers": {} }"#);
        write(".codex/config.toml", "");
        check([false, false]);
        write(".claude.json", r#"{ "firstStartTime": "2026-11-29T11:30:11.663Z" }"#);
        write(".codex/history.jsonl", "");
        check([true, true]);
        write(".claude.json", r#"{ "numStartups": 3 }"#);
        check([true, true]);
        assert!(was_started("gemini"));
    }
}
