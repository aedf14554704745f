//! Why a task failed, and how much of that is stored.

use serde::{Deserialize, Serialize};

use crate::domain::limits;
use crate::domain::text::redact::Secrets;

/// Why a task failed, as a class that programs can act on and a sentence for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// An open set of words: those of [`error_class`](crate::domain::task::error_class), and `start`, `crashed`, `cancelled` …
    pub class: String,
    pub message: String,
    /// When to try again, in wall time, if the error says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<i64>,
    /// How to log in, if a login is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The valid names, if the error is about an invalid one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

impl TaskError {
    /// Makes an error of a class and a message alone.
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Self { class: class.to_owned(), message: message.into(), ..Self::default() }
    }

    /// Returns the error for storing: without secrets, and no longer than a person would read.
    #[must_use]
    pub fn written(self, secrets: &Secrets) -> Self {
        let clipped = |text: String| secrets.hidden(text).clipped(limits::ERROR_CHARS);
        let is_name = |name: &String| name.len() <= limits::MODEL_BYTES;
        let known = self.known.into_iter().filter(is_name);
        Self {
            class: secrets.hidden(self.class).clipped(limits::WORD_BYTES),
            message: clipped(self.message),
            retry_ms: self.retry_ms,
            login: self.login.map(clipped),
            known: known.take(limits::KNOWN_NAMES).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_error_is_short_and_has_no_secrets() {
        let key = "live-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let secrets = Secrets::of([("API_KEY", key)].into_iter());
        for left in 0..=key.len() {
            let words = "w".repeat(limits::ERROR_CHARS - left);
            let error = TaskError {
                known: vec!["m".repeat(limits::MODEL_BYTES + 1), "small".into()],
                ..TaskError::new("agent", format!("{words}{key} and more"))
            };
            let written = error.written(&secrets);
            assert!(!written.message.contains("live-A"), "{left}: {written:?}");
            assert!(written.message.chars().count() <= limits::ERROR_CHARS + 1);
            assert_eq!(written.known, ["small"]);
            let again = written.clone().written(&Secrets::default());
            assert_eq!(again, written, "what was cut is not cut again");
        }
    }
}
