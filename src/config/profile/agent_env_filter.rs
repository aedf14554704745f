//! The filter that decides which variables of our own environment an agent gets.
//!
//! The environment of a child is built from nothing: a short list that any program needs, the variables that the profile passes on, and
//! those that it sets. Keys and tokens of other programs stay out, and so does the identity of the bridge itself.

use crate::domain::env_vars;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::str::FromStr;

/// Variables that every program may need: the user and the home directory, the language, temporary files, and the network.
const ALWAYS: [&str; 12] = [
    "HOME",
    "PATH",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "USER",
    "SHELL",
    "XDG_*",
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_*",
];

/// The name of variables to pass on: whole, or with a `*` at its beginning, its end, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvPattern {
    any_before: bool,
    text: String,
    any_after: bool,
}

/// Why a text is not a pattern of variable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEnvPattern {
    /// It is not the name of any variable.
    #[error("it must be the name of a variable, without `=`")]
    NotAName,
    /// A `*` stands between other characters.
    #[error("a `*` is allowed only at its beginning or end")]
    StarInside,
    /// It would pass on the bridge's own variables as a group.
    #[error("a variable of the bridge itself must be named in full, such as `BRIDGE_SCRIPT`")]
    OwnVariables,
}

impl EnvPattern {
    /// Says whether the variable `name` is passed on; the bridge's own need their full name.
    pub fn matches(&self, name: &OsStr) -> bool {
        let (name, text) = (name.as_encoded_bytes(), self.text.as_bytes());
        if (self.any_before || self.any_after) && name.starts_with(env_vars::PREFIX.as_bytes()) {
            return false;
        }
        match (self.any_before, self.any_after) {
            (false, false) => name == text,
            (false, true) => name.starts_with(text),
            (true, false) => name.ends_with(text),
            (true, true) => text.is_empty() || name.windows(text.len()).any(|part| part == text),
        }
    }
}

impl EnvPattern {
    /// Says whether this pattern matches every variable that `other` matches.
    pub(in crate::config) fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        if !other.any_before && !other.any_after {
            return self.matches(OsStr::new(&other.text));
        }
        // Where the other pattern has a star, this one needs a star, too: then its text is part of every name that the other matches.
        let (text, part) = (other.text.as_str(), self.text.as_str());
        match (self.any_before, self.any_after) {
            (false, false) => false,
            (false, true) => !other.any_before && text.starts_with(part),
            (true, false) => part.is_empty() || !other.any_after && text.ends_with(part),
            (true, true) => text.contains(part),
        }
    }
}

impl FromStr for EnvPattern {
    type Err = InvalidEnvPattern;

    fn from_str(pattern: &str) -> Result<Self, InvalidEnvPattern> {
        if pattern.is_empty() || pattern.contains(['=', '\0']) {
            return Err(InvalidEnvPattern::NotAName);
        }
        let (any_before, rest) = strip(pattern.strip_prefix('*'), pattern);
        let (any_after, text) = strip(rest.strip_suffix('*'), rest);
        if text.contains('*') {
            return Err(InvalidEnvPattern::StarInside);
        }
        if text.starts_with(env_vars::PREFIX) && (any_before || any_after) {
            return Err(InvalidEnvPattern::OwnVariables);
        }
        Ok(Self { any_before, text: text.to_owned(), any_after })
    }
}

impl fmt::Display for EnvPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = |any| if any { "*" } else { "" };
        write!(f, "{}{}{}", star(self.any_before), self.text, star(self.any_after))
    }
}

/// Returns the variables of `own` that `pass` and the general list match, with those of `set` on top, ordered by name.
pub(in crate::config) fn filter<'a>(
    own: impl Iterator<Item = (OsString, OsString)>,
    pass: &[EnvPattern],
    set: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(OsString, OsString)> {
    let always = ALWAYS.map(|pattern| {
        EnvPattern::from_str(pattern).expect("the general list holds patterns, as its test shows")
    });
    let mut environment: BTreeMap<OsString, OsString> = own
        .filter(|(name, _)| always.iter().chain(pass).any(|pattern| pattern.matches(name)))
        .collect();
    environment.extend(set.map(|(name, value)| (name.into(), value.into())));
    environment.into_iter().collect()
}

/// Returns whether a star was stripped, and the rest.
fn strip<'a>(stripped: Option<&'a str>, whole: &'a str) -> (bool, &'a str) {
    stripped.map_or((false, whole), |rest| (true, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pass: &[&str], name: &str, passes: bool) {
        let pass: Vec<EnvPattern> = pass.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let own = [(OsString::from(name), OsString::from("value"))];
        let environment = filter(own.clone().into_iter(), &pass, std::iter::empty());
        let expected = if passes { own.to_vec() } else { Vec::new() };
        assert_eq!(environment, expected, "{name}");
    }

    #[test]
    fn variables_that_every_program_needs_pass() {
        for name in [
            "HOME",
            "PATH",
            "LANG",
            "LC_ALL",
            "LC_TIME",
            "TERM",
            "TMPDIR",
            "USER",
            "SHELL",
            "XDG_CONFIG_HOME",
            "XDG_RUNTIME_DIR",
            "HTTPS_PROXY",
            "https_proxy",
            "NO_PROXY",
            "no_proxy",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
        ] {
            check(&[], name, true);
        }
    }

    #[test]
    fn all_other_variables_stay_out() {
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "HOMEBREW",
            "MYPATH",
            "PATH_EXTRA",
            "LANGUAGE",
            "home",
            "PROXY",
            "SSL_KEY",
            "BRIDGE_TOKEN",
            "BRIDGE_HTTP_PROXY",
            "",
        ] {
            check(&[], name, false);
        }
    }

    #[test]
    fn a_star_stands_for_any_beginning_or_end() {
        check(&["OPENAI_*"], "OPENAI_API_KEY", true);
        check(&["OPENAI_*"], "OPENAI_", true);
        check(&["OPENAI_*"], "MY_OPENAI_KEY", false);
        check(&["*_KEY"], "MY_KEY", true);
        check(&["*_KEY"], "MY_KEYS", false);
        check(&["*OPENAI*"], "MY_OPENAI_KEY", true);
        check(&["*OPENAI*"], "OPEN", false);
        check(&["*"], "ANYTHING", true);
        check(&["**"], "ANYTHING", true);
        check(&["A", "B"], "B", true);
        check(&["AB"], "ABC", false);
    }

    #[test]
    fn the_bridges_own_variables_pass_by_their_full_name_only() {
        check(&["*"], "BRIDGE_TOKEN", false);
        check(&["BRI*"], "BRIDGE_TOKEN", false);
        check(&["*_TOKEN"], "BRIDGE_TOKEN", false);
        check(&["BRIDGE_SCRIPT"], "BRIDGE_TOKEN", false);
        check(&["BRIDGE_SCRIPT"], "BRIDGE_SCRIPT", true);
    }

    #[test]
    fn a_variable_that_is_set_overrides_one_that_is_passed_on() {
        let own =
            [("PATH", "/own"), ("HOME", "/home")].map(|(name, value)| (name.into(), value.into()));
        let set = [("PATH", "/set"), ("BRIDGE_SCRIPT", "play.toml")];
        let environment = filter(own.into_iter(), &[], set.into_iter());
        let expected = [("BRIDGE_SCRIPT", "play.toml"), ("HOME", "/home"), ("PATH", "/set")];
        assert_eq!(environment, expected.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn a_pattern_covers_another_if_it_matches_all_its_names() {
        let patterns: Vec<EnvPattern> = [
            "A",
            "AB",
            "ABC",
            "B",
            "A*",
            "AB*",
            "*B",
            "*AB",
            "*B*",
            "*AB*",
            "*",
            "**",
            "BRIDGE_SCRIPT",
        ]
        .map(|pattern| pattern.parse().unwrap())
        .into();
        // One name for each shape that a star can stand for, so that a pattern covers another exactly if it matches all names that the
        // other matches.
        let names = [
            "A",
            "AB",
            "ABC",
            "B",
            "C",
            "AxB",
            "AxC",
            "ABx",
            "xA",
            "xAB",
            "xABx",
            "xB",
            "xBx",
            "Bx",
            "BRIDGE_SCRIPT",
            "BRIDGE_AB",
        ];
        for this in &patterns {
            for other in &patterns {
                let mut matched = names.iter().map(OsStr::new).filter(|name| other.matches(name));
                let expected = matched.all(|name| this.matches(name));
                assert_eq!(this.covers(other), expected, "{this} covers {other}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_and_values_outside_unicode_pass_unchanged() {
        use std::os::unix::ffi::OsStringExt;
        let variable = (OsString::from_vec(b"XDG_\xff".to_vec()), OsString::from_vec(vec![0xfe]));
        let environment = filter([variable.clone()].into_iter(), &[], std::iter::empty());
        assert_eq!(environment, [variable]);
    }

    #[test]
    fn a_pattern_is_written_as_it_was_read() {
        for pattern in ["A", "A*", "*A", "*A*"] {
            assert_eq!(pattern.parse::<EnvPattern>().unwrap().to_string(), pattern);
        }
    }
}
