//! Facts about the five agents beyond their profiles and login signs: the version that the bridge is tested with, and whether a
//! started session proves a login.

/// One of the five agents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) profile: &'static str,
    /// The version of the ACP program that the bridge is tested with (`e2e/programs.txt`).
    pub(crate) tested: &'static str,
    /// Whether it opens a session only for a user who is logged in, as observed with the tested version.
    pub(crate) session_needs_login: bool,
}

/// All five.
pub(crate) const KINDS: [Kind; 5] = [
    Kind { profile: "codex", tested: "2.6.0", session_needs_login: true },
    Kind { profile: "claude-code", tested: "0.100.0", session_needs_login: false },
    Kind { profile: "gemini", tested: "0.61.0", session_needs_login: true },
    Kind { profile: "qwen", tested: "0.24.4", session_needs_login: true },
    Kind { profile: "droid", tested: "0.215.0", session_needs_login: true },
];

/// Finds the kind of a profile's agents.
pub(crate) fn of_profile(profile: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.profile == profile)
}

impl Kind {
    /// Says whether a version is older than the one that the bridge is tested with. A text that is not a version is not older.
    pub(crate) fn is_older(&self, version: &str) -> bool {
        let found = numbers(version).zip(numbers(self.tested));
        found.is_some_and(|(found, tested)| found < tested)
    }
}

/// Parses `1.2.3`, and ignores a suffix.
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
    use std::path::Path;

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
}
