//! Whether Gemini CLI and Qwen Code trust a folder. In one that they do not trust they start no MCP servers, not even the user's own.
//!
//! As Gemini CLI 0.61 decides it: `security.folderTrust.enabled` of the user's settings is on unless it is set to `false`. Then the rules
//! in `trustedFolders.json` decide, of those that fit the one with the longest path. Without a rule, the folder is not trusted, and an
//! interactive session asks. With a wrong level for any folder it does not start at all. An editor may decide otherwise, and so does a variable
//! (`GEMINI_CLI_TRUST_WORKSPACE`), at which the client's row looks.
//!
//! Qwen Code 0.24 has the same files. It looks at the rules only if the setting is on, and takes that of the deepest folder.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::setup::config_file::{ConfigFile, ConfigFileError};
use crate::setup::edits::edit_json::value_at;
use crate::setup::edits::json_reader::JsonReader;
use crate::setup::known_client::FolderTrust;
use crate::setup::switches::{is_new_form, is_nothing};

/// The files that decide.
pub(super) struct TrustFiles {
    pub(super) settings: PathBuf,
    /// The settings of the folder itself, if they decide whether rules count there.
    pub(super) in_folder: Option<PathBuf>,
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
    /// Returns what it accepts in the rules, which is not what it accepts in its settings.
    fn rules_reader(self) -> JsonReader {
        let title = match self {
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
        };
        JsonReader { title, comments: true, byte_order_mark: false }
    }

    /// Says whether rules count with this value of the setting.
    fn is_on(self, setting: &Value) -> bool {
        match self {
            // It takes the word for the value.
            Self::Gemini => {
                let is_word = setting.as_str().is_some_and(|it| it.eq_ignore_ascii_case("false"));
                setting.is_null() || !is_nothing(setting) && !is_word
            }
            Self::Qwen => !is_nothing(setting),
        }
    }
}

impl TrustFiles {
    /// Reads the setting with which rules count: that of the folder itself, if it has one, and else the user's. Qwen Code also takes the
    /// form that it had before settings had sections, as far as the first start has not replaced that.
    fn setting(&self) -> Result<Value, String> {
        let of_folder = self.in_folder.as_ref().and_then(|file| value_in(file, &[]).ok()?);
        if let Some(value) = of_folder.map(|all| all["security"]["folderTrust"]["enabled"].clone())
            && value.is_boolean()
        {
            return Ok(value);
        }
        let all = value_in(&self.settings, &[])?.unwrap_or_default();
        let value = all["security"]["folderTrust"]["enabled"].clone();
        let is_old = self.reading == TrustReading::Qwen && value.is_null() && !is_new_form(&all);
        Ok(if is_old { all["folderTrust"].clone() } else { value })
    }

    /// Reads the rules; none if there is no file.
    fn read_rules(&self) -> Result<Option<Map<String, Value>>, String> {
        let named = |why: &dyn std::fmt::Display| format!("{}: {why}", self.rules.shown());
        let text = match ConfigFile::read(&self.rules, None) {
            Ok(file) => file.text,
            // Both take it for no file.
            Err(ConfigFileError::Broken { .. }) => None,
            Err(error) => return Err(named(&error)),
        };
        let Some(text) = text else { return Ok(None) };
        self.reading.rules_reader().check(&text).map_err(|error| named(&error))?;
        match value_at(&text, &[]).map_err(|error| named(&error))? {
            Some(Value::Object(rules)) => Ok(Some(rules)),
            Some(_) => Err(named(&"it is no JSON object")),
            None => Err(named(&"it is empty")),
        }
    }

    /// Returns whether a folder, links resolved, is trusted.
    pub(super) fn trust(&self, folder: &Path) -> FolderTrust {
        judge(self, folder).unwrap_or_else(FolderTrust::Unknown)
    }
}

fn judge(files: &TrustFiles, folder: &Path) -> Result<FolderTrust, String> {
    if !files.reading.is_on(&files.setting()?) {
        return Ok(FolderTrust::Trusted);
    }
    let rules = match files.read_rules() {
        Ok(rules) => rules.unwrap_or_default(),
        Err(why) => return Ok(FolderTrust::Broken(why)),
    };
    let rules = rules.iter();
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
            in_folder: None,
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
        for (text, words) in [
            ("\u{feff}{ \"HOME/real\": \"TRUST_FOLDER\" }", "byte order mark"),
            ("{ \"HOME/real\": \"TRUST_FOLDER\", }", "comma after the last value"),
            ("", "it is empty"),
        ] {
            write("trustedFolders.json", text);
            let FolderTrust::Broken(why) = of("real") else { panic!("{text}") };
            assert!(why.contains(words), "{why}");
        }
        fs::remove_file(own.join("trustedFolders.json")).unwrap();
        std::os::unix::fs::symlink("/nowhere/rules.json", own.join("trustedFolders.json")).unwrap();
        assert_eq!(of("real"), FolderTrust::Undecided, "a broken link is no file");
        write("settings.json", "[");
        assert!(matches!(of("real"), FolderTrust::Unknown(_)));
        for off in ["false", "\"False\"", "0", "\"\""] {
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
            in_folder: Some(home.join("real/settings.json")),
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
        // The folder's own settings decide, and else the user's, also in their first form.
        let in_folder = |on: bool| {
            let text =
                format!("{{ \"security\": {{ \"folderTrust\": {{ \"enabled\": {on} }} }} }}");
            fs::write(home.join("real/settings.json"), text).unwrap();
        };
        in_folder(false);
        assert_eq!(of("real"), FolderTrust::Trusted);
        fs::write(&files.settings, "{}").unwrap();
        in_folder(true);
        assert_eq!(of("real"), FolderTrust::Refused);
        fs::remove_file(home.join("real/settings.json")).unwrap();
        assert_eq!(of("real"), FolderTrust::Trusted);
        fs::write(&files.settings, r#"{ "folderTrust": true }"#).unwrap();
        assert_eq!(of("real"), FolderTrust::Refused);
        fs::write(&files.settings, r#"{ "$version": 3, "folderTrust": true }"#).unwrap();
        assert_eq!(of("real"), FolderTrust::Trusted);
    }
}
