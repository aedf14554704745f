//! The result of a task besides its output: the conversation it continued, changed files, failed calls, usage and cost.

use crate::domain::is_zero::is_zero;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the agent's conversation knew when a task began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// Nothing: it was a new conversation.
    New,
    /// The earlier conversation of the same process.
    Kept,
    /// The conversation of an earlier process, which was resumed.
    Resumed,
    /// Nothing: an earlier conversation was to be resumed, but the agent could not.
    Lost,
}

impl Context {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Kept => "kept",
            Self::Resumed => "resumed",
            Self::Lost => "lost",
        }
    }
}

/// Why texts of a task cannot be shown, each in the place of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostTexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The changed files and the failed calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl LostTexts {
    /// Says whether all texts can be shown.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The usage of a task, as reported by its agent; fields that it does not report are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that the model read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens that came from a cache. Agents disagree on whether the input includes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// All tokens, as the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// What the task has cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Tokens in the model's context at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
    /// Tokens that fit into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_size: Option<u64>,
}

impl Usage {
    /// Says whether it tells what was used, and not only how full the model's context is.
    pub fn says_what_was_used(&self) -> bool {
        let counts = [self.input_tokens, self.output_tokens, self.total_tokens];
        self.cost.is_some() || counts.iter().flatten().any(|count| *count > 0)
    }
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// Millionths of the currency's unit: a number that can be compared and added.
    pub micros: u64,
    /// The currency (ISO 4217).
    pub currency: String,
}

impl Money {
    /// Makes an amount from an agent's number; `None` if it is no amount.
    pub fn of(amount: f64, currency: &str) -> Option<Self> {
        let micros = (amount * 1e6).round();
        // Beyond 2^53 a fraction is no longer exact, and no task costs nine billion.
        if !(0.0..=9e15).contains(&micros) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        let micros = micros as u64;
        Some(Self { micros, currency: currency.to_owned() })
    }

    /// Returns the increase since an earlier amount; `None` if the two cannot be compared.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let micros = self.micros.checked_sub(earlier.micros)?;
        (self.currency == earlier.currency)
            .then(|| Self { micros, currency: self.currency.clone() })
    }

    /// Returns the amount as people write it.
    pub fn amount(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no amount that is made here is so large")]
        let micros = self.micros as f64;
        micros / 1e6
    }
}

impl Usage {
    /// Says whether the agent has reported nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the sum of both, without the model's context, of which there is no sum. Of amounts in two currencies, the first stays:
    /// an agent that changes its currency is none that we know.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| {
            one.into_iter().chain(other).reduce(u64::saturating_add)
        };
        let cost = match (&self.cost, &other.cost) {
            (Some(one), Some(other)) if one.currency == other.currency => Some(Money {
                micros: one.micros.saturating_add(other.micros),
                currency: one.currency.clone(),
            }),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cached_tokens: sum(self.cached_tokens, other.cached_tokens),
            total_tokens: sum(self.total_tokens, other.total_tokens),
            cost,
            context_used: None,
            context_size: None,
        }
    }
}

/// The lists of a task's result, which may be long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Details {
    /// The files that have changed, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// The tool calls that failed, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_calls: Vec<FailedCall>,
    /// The number of tool calls that these lists leave out because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls_left_out: u64,
    /// What git could tell about the files.
    #[serde(default)]
    pub git: GitLook,
}

impl Details {
    /// Says whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How far git could compare the files of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GitLook {
    /// The project is no repository, or git is not installed.
    #[default]
    Absent,
    /// The state at the task's start was compared with that at its end.
    Compared,
    /// The comparison is missing or incomplete, for this reason.
    Partly(String),
}

impl GitLook {
    /// Returns what tools show.
    pub fn as_shown(&self) -> &str {
        match self {
            Self::Absent => "absent",
            Self::Compared => "compared",
            Self::Partly(reason) => reason,
        }
    }
}

/// A file that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Relative to the project where it is inside.
    pub path: String,
    /// How it changed.
    pub change: Change,
    pub sources: Vec<ChangeSource>,
}

impl FileChange {
    /// Says whether a call of the agent changed it. Otherwise it only changed during the task, maybe by others.
    pub fn is_own(&self) -> bool {
        self.sources.contains(&ChangeSource::ToolCall)
    }
}

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It did not exist before.
    Created,
    /// Its content differs.
    Edited,
    /// It no longer exists.
    Deleted,
    /// It was moved, from here or to here.
    Moved,
}

impl Change {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
            Self::Moved => "moved",
        }
    }
}

/// The source of a reported change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSource {
    /// The agent, in a tool call.
    ToolCall,
    /// git: the file changed during the task. Git does not know which process changed it.
    Git,
}

impl ChangeSource {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::Git => "git",
        }
    }
}

/// A tool call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCall {
    /// The title that people are shown.
    pub title: String,
    /// The kind of tool, in ACP's words.
    pub kind: String,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Details in their first stored form, which is read for ever.
    #[test]
    fn the_first_stored_form_of_details_is_read() {
        for details in [
            r#"{"git":"absent"}"#,
            r#"{"files":[{"path":"a","change":"created","sources":["tool_call","git"]}],"failed_calls":[{"title":"t","kind":"k","why":"w"}],"git":"compared"}"#,
            r#"{"git":{"partly":"slow"}}"#,
        ] {
            let read: Details = serde_json::from_str(details).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), details);
        }
    }

    #[test]
    fn money_is_exact_and_only_one_currency_is_subtracted() {
        let dollars = |amount| Money::of(amount, "USD").unwrap();
        assert_eq!(dollars(0.1 + 0.2).micros, 300_000);
        let grown = dollars(1.5).since(&dollars(1.25)).unwrap();
        assert!((grown.amount() - 0.25).abs() < 1e-9);
        assert_eq!(dollars(1.0).since(&dollars(2.0)), None, "it began anew");
        assert_eq!(dollars(2.0).since(&Money::of(1.0, "EUR").unwrap()), None);
        for odd in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Money::of(odd, "USD"), None);
        }
    }
}
