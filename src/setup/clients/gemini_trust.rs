//! Whether Gemini CLI trusts a folder. In one that it does not trust it starts no MCP servers, not even the user's own.
//!
//! As Gemini CLI 0.61 decides it: `security.folderTrust.enabled` of the user's settings is on unless it is set to `false`. Then the rules
//! in `trustedFolders.json` decide, of those that fit the one with the longest path. Without a rule, the folder is not trusted, and an
//! interactive session asks. An editor may decide otherwise, and so does a variable
//! (`GEMINI_CLI_TRUST_WORKSPACE`), at which the client's row looks.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::edit_json::value_at;
use crate::setup::known_client::FolderTrust;

/// The files that decide.
pub(super) struct TrustFiles {
    pub(super) settings: PathBuf,
    pub(super) rules: PathBuf,
}

impl TrustFiles {
    /// Returns whether a folder, links resolved, is trusted.
    pub(super) fn trust(&self, folder: &Path) -> FolderTrust {
        judge(self, folder).unwrap_or_else(FolderTrust::Unknown)
    }
}

fn judge(files: &TrustFiles, folder: &Path) -> Result<FolderTrust, String> {
    let enabled = ["security", "folderTrust", "enabled"].map(str::to_owned);
    if value_in(&files.settings, &enabled)? == Some(Value::Bool(false)) {
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
    let fitting = rules.filter_map(|(path, level)| {
        let (path, level) = (Path::new(path), level.as_str()?);
        let place = if level == "TRUST_PARENT" { path.parent()? } else { path };
        folder.starts_with(real(place)).then_some((path.as_os_str().len(), level))
    });
    Ok(match fitting.max_by_key(|(length, _)| *length) {
        Some((_, "TRUST_FOLDER" | "TRUST_PARENT")) => FolderTrust::Trusted,
        Some(_) => FolderTrust::Refused,
        None => FolderTrust::Undecided,
    })
}

/// Reads a value in a file of Gemini's; none if there is no file.
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
        write("trustedFolders.json", "[");
        assert!(matches!(of("real"), FolderTrust::Broken(_)));
        write("trustedFolders.json", "[]");
        assert!(matches!(of("real"), FolderTrust::Broken(_)));
        write("settings.json", "[");
        assert!(matches!(of("real"), FolderTrust::Unknown(_)));
        write("settings.json", r#"{ "security": { "folderTrust": { "enabled": false } } }"#);
        assert_eq!(of("real"), FolderTrust::Trusted);
    }
}
