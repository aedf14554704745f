//! The meaning of an agent's error for a task, and advice on it: how to log in, when to try again.

use crate::acp::AcpError;
use crate::config::{EnvPattern, Profile};
use crate::domain::task::TaskError;
use crate::domain::task::{error_class, retry_time};

/// Where the documentation says how a key reaches the bridge.
const KEYS: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/setup.md#keys-in-the-environment");

/// Facts that an error itself does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Advice<'a> {
    /// How to log in: the end of a sentence that begins "to log in,".
    pub(crate) login: Option<&'a str>,
    /// The variables that the agent gets from the user's shell.
    pub(crate) passes: &'a [EnvPattern],
    /// When an exhausted quota resets, in seconds since 1970, if the agent has reported it.
    pub(crate) resets_at: Option<f64>,
    pub(crate) now_ms: i64,
}

impl<'a> Advice<'a> {
    /// Returns the advice of a profile.
    pub(crate) fn of(profile: &'a Profile, now_ms: i64) -> Self {
        let login = profile.login.as_ref();
        Self {
            login: login.map(|login| login.value.as_str()),
            passes: &profile.env_pass.value,
            resets_at: None,
            now_ms,
        }
    }

    /// Classifies an agent's error answer to a request.
    pub(crate) fn on(&self, error: &AcpError) -> TaskError {
        let class = match error {
            AcpError::Refused { code, .. } => error_class::class(Some(*code), &error.words()),
            AcpError::Deadline { .. } => Some(error_class::SILENT),
            _ => None,
        };
        self.complete(class.unwrap_or(error_class::AGENT), error.to_string(), &error.words())
    }

    /// Classifies an error, or no answer, while the agent starts.
    pub(crate) fn on_start(&self, error: &AcpError) -> TaskError {
        let AcpError::Deadline { method, after } = error else {
            return self.on(error);
        };
        let message = format!(
            "it did not answer `{method}` within {} s. Check that its command runs by itself and \
             is an ACP agent. If it is only slow to start, and silent on stderr, raise \
             `start_seconds` in its profile",
            after.as_secs()
        );
        TaskError::new(error_class::START, message)
    }

    /// Classifies the output with which an agent gave up.
    pub(crate) fn on_words(&self, words: &str, message: String) -> TaskError {
        let class = error_class::class(None, words).unwrap_or(error_class::AGENT);
        self.complete(class, message, words)
    }

    fn complete(&self, class: &str, message: String, words: &str) -> TaskError {
        let mut error = TaskError::new(class, message);
        match class {
            error_class::AUTH => {
                if let Some(login) = self.login {
                    let message = error.message.trim_end_matches('.');
                    // A new login does not set a variable that the user's own settings of the agent name.
                    let is_passed = |name: &str| {
                        self.passes.iter().any(|pattern| pattern.matches(name.as_ref()))
                    };
                    let missing = missing_variable(words).filter(|name| !is_passed(name));
                    let variable = missing.map_or_else(String::new, |name| {
                        format!(
                            "; if your shell has `{name}`, name it in `env_pass` of the agent's profile"
                        )
                    });
                    let set = variable_to_set(login).map_or_else(String::new, |name| {
                        format!(
                            ". If {name} is set, the client that leads may not pass it on to the bridge: {KEYS}"
                        )
                    });
                    error.message = format!("{message}{variable}; to log in, {login}{set}");
                    error.login = Some(login.to_owned());
                }
            }
            error_class::QUOTA | error_class::UNAVAILABLE => {
                let by_report = || retry_time::at_ms(self.resets_at?, self.now_ms);
                error.retry_ms = retry_time::retry_ms(words, self.now_ms).or_else(by_report);
            }
            _ => {}
        }
        error
    }
}

/// Returns the variable that the advice on a login says to set.
fn variable_to_set(login: &str) -> Option<&str> {
    let (_, after) = login.split_once("set ")?;
    variable_in(after).filter(|name| after.starts_with(name))
}

/// Returns the first name of an environment variable in the words of an agent that misses one.
fn missing_variable(words: &str) -> Option<&str> {
    words.to_lowercase().contains("environment variable").then(|| variable_in(words))?
}

/// Returns the first word that can be the name of an environment variable.
fn variable_in(words: &str) -> Option<&str> {
    let is_of_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let mut names = words.split(|letter| !is_of_name(letter));
    names.find(|word| {
        let is_written_so = !word.contains(|letter: char| letter.is_ascii_lowercase());
        is_written_so
            && word.contains('_')
            && word.starts_with(|letter: char| letter.is_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    const NOW: i64 = 1_790_000_000_000;

    fn refused(code: i32, message: &str, data: Option<serde_json::Value>) -> AcpError {
        AcpError::Refused { method: "session/prompt".into(), code, message: message.into(), data }
    }

    fn advice() -> Advice<'static> {
        Advice { login: Some("set KEY"), passes: &[], resets_at: None, now_ms: NOW }
    }

    #[test]
    fn an_agent_that_does_not_get_ready_is_reported_with_the_setting_that_helps() {
        let error =
            AcpError::Deadline { method: "initialize".into(), after: Duration::from_mins(2) };
        let error = advice().on_start(&error);
        assert_eq!(error.class, "start");
        assert!(
            error.message.starts_with("it did not answer `initialize` within 120 s. "),
            "{}",
            error.message
        );
        assert!(error.message.contains("`start_seconds`"), "{}", error.message);
        let refused = advice().on_start(&refused(-32000, "Authentication required", None));
        assert_eq!(refused.class, error_class::AUTH);
    }

    #[test]
    fn a_missing_login_says_how_to_log_in() {
        let error = advice().on(&refused(-32000, "Authentication required", None));
        assert_eq!(error.class, error_class::AUTH);
        assert_eq!(error.login.as_deref(), Some("set KEY"));
        assert!(error.message.ends_with("; to log in, set KEY"), "{error:?}");
        let unknown = Advice::default().on(&refused(401, "no key", None));
        assert_eq!((unknown.class.as_str(), unknown.login), ("auth", None));
    }

    #[test]
    fn a_key_that_is_set_may_be_lost_on_its_way_to_the_bridge() {
        let message = |login| {
            let advice = Advice { login: Some(login), ..advice() };
            advice.on(&refused(-32000, "Authentication required", None)).message
        };
        let said = message("run `claude` and its /login, or set ANTHROPIC_API_KEY");
        let says = ", or set ANTHROPIC_API_KEY. If ANTHROPIC_API_KEY is set, the client that leads may not pass it on";
        assert!(said.contains(says) && said.ends_with("#keys-in-the-environment"), "{said}");
        for other in ["run `x`, which will set up A_KEY", "`printenv A_KEY | x`", "set KEY"] {
            assert!(message(other).ends_with(&format!("; to log in, {other}")), "{other}");
        }
        let docs = include_str!("../../../docs/setup.md");
        assert!(docs.contains("\n### Keys in the environment\n"));
    }

    #[test]
    fn a_missing_variable_has_to_be_passed_on() {
        let words = "Missing environment variable: `MY_KEY`.";
        let error = advice().on_words(words, words.to_owned());
        assert_eq!(error.class, error_class::AUTH);
        let expected = "`MY_KEY`; if your shell has `MY_KEY`, name it in `env_pass`";
        assert!(error.message.contains(expected), "{error:?}");
        assert!(error.message.ends_with("; to log in, set KEY"), "{error:?}");
        // What the agent gets anyway is not in the shell.
        let passes = ["MY_*".parse().unwrap()];
        let error = Advice { passes: &passes, ..advice() }.on_words(words, words.to_owned());
        assert!(error.message.ends_with("`MY_KEY`; to log in, set KEY"), "{error:?}");
        // Which variable, only the agent knows.
        for words in ["Set an environment variable.", "No API key: set the environment variable OK"]
        {
            let error = advice().on_words(&format!("401 {words}"), "No key.".to_owned());
            assert_eq!(error.message, "No key; to log in, set KEY");
        }
        let error = advice().on_words("authentication required", "Log in first.".to_owned());
        assert_eq!(error.message, "Log in first; to log in, set KEY");
    }

    #[test]
    fn a_used_up_quota_says_when_to_try_again() {
        let data = Some(json!({ "errorKind": "rate_limit", "retry_after": 60 }));
        let error = advice().on(&refused(-32603, "Internal error", data));
        assert_eq!(error.class, error_class::QUOTA);
        assert_eq!(error.retry_ms, Some(NOW + 60_000));
        let advised = Advice { resets_at: Some(1_790_000_600.0), ..advice() };
        let error = advised.on(&refused(429, "slow down", None));
        assert_eq!(error.retry_ms, Some(NOW + 600_000));
        assert_eq!(advised.on(&refused(400, "no", None)).retry_ms, None);
    }

    #[test]
    fn a_missing_answer_is_classed_as_silent_and_other_errors_as_the_agents() {
        let class = |error: AcpError| advice().on(&error).class;
        let late =
            AcpError::Deadline { method: "session/new".into(), after: Duration::from_mins(1) };
        assert_eq!(class(late), error_class::SILENT);
        assert_eq!(class(refused(-32603, "odd", None)), error_class::AGENT);
        let malformed =
            AcpError::Malformed { method: "session/new".into(), problem: "it says 401".into() };
        assert_eq!(class(malformed), error_class::AGENT);
    }
}
