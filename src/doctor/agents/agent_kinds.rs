//! What is known of the five agents besides their profiles: the vendor's own program, the version that the bridge is tested with, and
//! the signs of a login.
//!
//! A sign is a variable with a key, or a file that a login leaves. Neither is read: what a key is worth only its vendor knows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One of the five agents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) profile: &'static str,
    /// The vendor's own program, which also logs in; of some agents it is the one that speaks ACP.
    pub(crate) cli: &'static str,
    /// The version of the program that speaks ACP with which the bridge is tested (`e2e/programs.txt`).
    pub(crate) tested: &'static str,
    /// Variables that hold a key, or choose a cloud that has one.
    keys: &'static [&'static str],
    /// The variable that moves its files, what they are below by default, and the files that a login leaves there.
    moved_by: &'static str,
    folder: &'static str,
    login_files: &'static [&'static str],
}

/// All of them.
pub(crate) const KINDS: [Kind; 5] = [
    Kind {
        profile: "codex",
        cli: "codex",
        tested: "2.6.0",
        keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        moved_by: "CODEX_HOME",
        folder: ".codex",
        login_files: &["auth.json"],
    },
    Kind {
        profile: "claude-code",
        cli: "claude",
        tested: "0.100.0",
        keys: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ],
        moved_by: "CLAUDE_CONFIG_DIR",
        folder: ".claude",
        login_files: &[".credentials.json"],
    },
    Kind {
        profile: "gemini",
        cli: "gemini",
        tested: "0.61.0",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
        moved_by: "",
        folder: ".gemini",
        login_files: &["oauth_creds.json", "gemini-credentials.json"],
    },
    Kind {
        profile: "qwen",
        cli: "qwen",
        tested: "0.24.4",
        keys: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"],
        moved_by: "QWEN_HOME",
        folder: ".qwen",
        login_files: &["oauth_creds.json"],
    },
    Kind {
        profile: "droid",
        cli: "droid",
        tested: "0.215.0",
        keys: &["FACTORY_API_KEY"],
        moved_by: "",
        folder: ".factory",
        login_files: &["auth.v2.file", "auth.v2.keyring", "auth.v2.loginkeychain", "auth.json"],
    },
];

/// What shows that the user is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginSign {
    /// A variable that the agent is given.
    Variable(&'static str),
    /// A file that a login leaves.
    File(PathBuf),
    /// None. On a Mac the keychain may have it, which is not asked.
    NotSeen,
}

/// Finds what is known of the agents of a profile.
pub(crate) fn of_profile(profile: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.profile == profile)
}

impl Kind {
    /// Looks for a sign of a login. `variable` knows the environment that the agent is given.
    pub(crate) fn login(&self, variable: impl Fn(&str) -> Option<OsString>) -> LoginSign {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(key) = self.keys.iter().find(|key| set(key).is_some()) {
            return LoginSign::Variable(key);
        }
        let home = || Some(Path::new(&set("HOME")?).join(self.folder));
        let Some(folder) = set(self.moved_by).map(PathBuf::from).or_else(home) else {
            return LoginSign::NotSeen;
        };
        let mut files = self.login_files.iter().map(|file| folder.join(file));
        files.find(|file| file.is_file()).map_or(LoginSign::NotSeen, LoginSign::File)
    }

    /// Says whether a version is older than the one that the bridge is tested with. What is no version is not.
    pub(crate) fn is_older(&self, version: &str) -> bool {
        let found = numbers(version).zip(numbers(self.tested));
        found.is_some_and(|(found, tested)| found < tested)
    }
}

/// Reads `1.2.3`, with or without more behind it.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.trim_start_matches('v').splitn(3, '.');
    let mut number = || {
        let part = parts.next()?;
        let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    };
    Some([number()?, number()?, number()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Load};

    #[test]
    fn the_tested_versions_are_those_of_the_tests_and_each_kind_has_a_profile() {
        let programs = include_str!("../../../e2e/programs.txt");
        let nowhere =
            Load { project: Path::new("/nowhere"), home: None, config_home: None, explicit: None };
        let config = Config::load(nowhere).unwrap();
        for kind in &KINDS {
            let line = programs.lines().find(|line| line.split(' ').next() == Some(kind.profile));
            let version = line.unwrap().split_whitespace().last();
            assert_eq!(version, Some(kind.tested), "{}", kind.profile);
            assert!(config.profile(kind.profile).is_ok(), "{}", kind.profile);
        }
    }

    #[test]
    fn a_version_is_older_by_its_numbers() {
        let gemini = of_profile("gemini").unwrap();
        for (version, expected) in [
            ("0.60.9", true),
            ("v0.9.0", true),
            ("0.61.0", false),
            ("0.61.0-nightly.3", false),
            ("0.100.0", false),
            ("1.0.0", false),
            ("soon", false),
            ("99999999999999999999.0.0", false),
        ] {
            assert_eq!(gemini.is_older(version), expected, "{version}");
        }
    }

    #[test]
    fn a_login_is_seen_by_a_key_or_by_its_file() {
        let home = tempfile::tempdir().unwrap();
        let codex = of_profile("codex").unwrap();
        let at_home = |name: &str| (name == "HOME").then(|| home.path().into());
        assert_eq!(codex.login(at_home), LoginSign::NotSeen);
        let file = home.path().join(".codex/auth.json");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "secret").unwrap();
        assert_eq!(codex.login(at_home), LoginSign::File(file));
        let keyed = |name: &str| (name == "CODEX_API_KEY").then(|| "x".into());
        assert_eq!(codex.login(keyed), LoginSign::Variable("CODEX_API_KEY"));
        assert_eq!(codex.login(|_| Some("".into())), LoginSign::NotSeen);
    }
}
