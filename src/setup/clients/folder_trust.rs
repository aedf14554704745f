//! Whether Gemini CLI and Qwen Code trust a folder. In one that they do not trust they start no MCP servers, not even the user's own.
//!
//! As Gemini CLI 0.61 decides it: `security.folderTrust.enabled` of the user's settings is on unless it is set to `false`. Then the rules
//! in `trustedFolders.json` decide, of those that fit the one with the longest path. Without a rule, the folder is not trusted, and an
//! interactive session asks. With a wrong level for any folder it does not start at all. An editor may decide otherwise, and so does a variable
//! (`GEMINI_CLI_TRUST_WORKSPACE`), at which the client's row looks.
//!
//! Qwen Code 0.24 has the same files. It looks at the rules only if the setting is on, and takes that of the deepest folder.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_json::value_at;
use crate::setup::known_client::FolderTrust;
use crate::setup::switches::is_nothing;

/// The files that decide.
pub(super) struct TrustFiles {
    pub(super) settings: PathBuf,
    pub(super) rules: PathBuf,
    pub(super) reading: TrustReading,
}

/// Who reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrustReading {
    Gemini,
    Qwen,
}

impl TrustReading {
    /// Says whether rules count with this value of the setting.
    fn is_on(self, setting: &Value) -> bool {
        match self {
            // It takes the word for the value.
            Self::Gemini => {
                let is_word = setting.as_str().is_some_and(|it| it.eq_ignore_ascii_case("false"));
                *setting != Value::Bool(false) && !is_word
            }
            Self::Qwen => !is_nothing(setting),
        }
    }
}

impl TrustFiles {
    /// Returns whether a folder, links resolved, is trusted.
    pub(super) fn trust(&self, folder: &Path) -> FolderTrust {
        judge(self, folder).unwrap_or_else(FolderTrust::Unknown)
    }
}

fn judge(files: &TrustFiles, folder: &Path) -> Result<FolderTrust, String> {
    let enabled = ["security", "folderTrust", "enabled"].map(str::to_owned);
    let setting = value_in(&files.settings, &enabled)?.unwrap_or_default();
    if !files.reading.is_on(&setting) {
        return Ok(FolderTrust::Trusted);
    }
    let rules = match value_in(&files.rules, &[]) {
        Ok(Some(Value::Object(rules))) => Some(Value::Object(rules)),
        Ok(None) => None,
        Ok(Some(_)) => {
            return Ok(FolderTrust::Broken(format!(
                "{}: it is no JSON object",
                files.rules.shown()
            )));
        }
        Err(why) => return Ok(FolderTrust::Broken(why)),
    };
    let rules = rules.as_ref().and_then(Value::as_object).into_iter().flatten();
    let is_level = |level: &Value| level.as_str().is_some_and(|level| LEVELS.contains(&level));
    let wrong = rules.clone().find(|(_, level)| !is_level(level));
    if let (TrustReading::Gemini, Some((folder, level))) = (files.reading, wrong) {
        let [folder, level] =
            [folder.clone(), level.to_string()].map(|word| beginning(&word, CLIENT_WORD_CHARS));
        let why = format!("{}: `{level}` for `{folder}` is no level of trust", files.rules.shown());
        return Ok(FolderTrust::Broken(why));
    }
    let fitting = rules.filter_map(|(path, level)| {
        let (path, level) = (Path::new(path), level.as_str()?);
        let place = if level == "TRUST_PARENT" { path.parent()? } else { path };
        let place = real(place);
        let rank = match files.reading {
            TrustReading::Gemini => path.as_os_str().len(),
            TrustReading::Qwen if !LEVELS.contains(&level) => return None,
            // Of two rules for one folder, the one that refuses counts.
            TrustReading::Qwen => 2 * place.components().count() + usize::from(level == REFUSED),
        };
        folder.starts_with(place).then_some((rank, level))
    });
    Ok(match fitting.max_by_key(|(rank, _)| *rank) {
        Some((_, "TRUST_FOLDER" | "TRUST_PARENT")) => FolderTrust::Trusted,
        Some(_) => FolderTrust::Refused,
        None => FolderTrust::Undecided,
    })
}

/// The levels of trust that a rule may give.
const LEVELS: [&str; 3] = ["TRUST_FOLDER", "TRUST_PARENT", REFUSED];
const REFUSED: &str = "DO_NOT_TRUST";

/// Reads a value in one of the files; none if there is no file.
fn value_in(file: &Path, path: &[String]) -> Result<Option<Value>, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.shown());
    let text = ConfigFile::read(file, None).map_err(|error| named(&error))?.text;
    value_at(&text.unwrap_or_default(), path).map_err(|error| named(&error))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_longest_rule_that_fits_decides_unless_trust_is_off() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join(".gemini")).unwrap();
        fs::create_dir_all(home.join("real/inner")).unwrap();
        std::os::unix::fs::symlink("real", home.join("link")).unwrap();
        let own = home.join(".gemini");
        let files = TrustFiles {
            settings: own.join("settings.json"),
            rules: own.join("trustedFolders.json"),
            reading: TrustReading::Gemini,
        };
        let write = |file: &str, text: &str| {
            let text = text.replace("HOME", home.to_str().unwrap());
            fs::write(own.join(file), text).unwrap();
        };
        let of = |folder: &str| files.trust(&home.join(folder));

        assert_eq!(of("real"), FolderTrust::Undecided, "the default of Gemini CLI");
        write("trustedFolders.json", r#"{ "HOME/link": "TRUST_FOLDER" /* mine */ }"#);
        assert_eq!(["real", "real/inner"].map(of), [FolderTrust::Trusted, FolderTrust::Trusted]);
        assert_eq!(of("realm"), FolderTrust::Undecided);
        let rules = r#"{ "HOME/real": "TRUST_FOLDER", "HOME/real/inner": "DO_NOT_TRUST" }"#;
        write("trustedFolders.json", rules);
        assert_eq!(["real", "real/inner"].map(of), [FolderTrust::Trusted, FolderTrust::Refused]);
        write("trustedFolders.json", r#"{ "HOME/any": "TRUST_PARENT" }"#);
        assert_eq!(of("real/inner"), FolderTrust::Trusted);
        write("trustedFolders.json", r#"{ "HOME/real": "TRUST_FOLDER", "/x": "any word" }"#);
        let FolderTrust::Broken(why) = of("real") else { panic!("a wrong level of any folder") };
        assert!(why.ends_with(r#"`"any word"` for `/x` is no level of trust"#), "{why}");
        write("trustedFolders.json", "[");
        assert!(matches!(of("real"), FolderTrust::Broken(_)));
        write("trustedFolders.json", "[]");
        assert!(matches!(of("real"), FolderTrust::Broken(_)));
        write("settings.json", "[");
        assert!(matches!(of("real"), FolderTrust::Unknown(_)));
        for off in ["false", "\"False\""] {
            let text = r#"{ "security": { "folderTrust": { "enabled": OFF } } }"#;
            write("settings.json", &text.replace("OFF", off));
            assert_eq!(of("real"), FolderTrust::Trusted, "{off}");
        }
    }

    #[test]
    fn the_rule_of_the_deepest_folder_decides_in_qwen_code_if_trust_is_on() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("real/inner")).unwrap();
        let files = TrustFiles {
            settings: home.join("settings.json"),
            rules: home.join("trustedFolders.json"),
            reading: TrustReading::Qwen,
        };
        let of = |folder: &str| files.trust(&home.join(folder));
        let rules = |text: &str| {
            fs::write(&files.rules, text.replace("HOME", home.to_str().unwrap())).unwrap();
        };
        let enabled = |value: &str| {
            let text =
                format!("{{ \"security\": {{ \"folderTrust\": {{ \"enabled\": {value} }} }} }}");
            fs::write(&files.settings, text).unwrap();
        };
        rules("{");
        assert_eq!(of("real"), FolderTrust::Trusted, "it is off by default");
        enabled("false");
        assert_eq!(of("real"), FolderTrust::Trusted);
        enabled("true");
        assert!(matches!(of("real"), FolderTrust::Broken(_)));
        rules(r#"{ "/x": "any word" }"#);
        assert_eq!(of("real"), FolderTrust::Undecided);
        rules(r#"{ "HOME/real/inner": "TRUST_PARENT", "HOME/real": "DO_NOT_TRUST" }"#);
        assert_eq!(["real", "real/inner"].map(of), [FolderTrust::Refused, FolderTrust::Refused]);
        rules(r#"{ "HOME/real": "DO_NOT_TRUST", "HOME/real/inner": "TRUST_FOLDER" }"#);
        assert_eq!(["real", "real/inner"].map(of), [FolderTrust::Refused, FolderTrust::Trusted]);
    }
}
