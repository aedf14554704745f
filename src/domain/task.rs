//! Tasks: work assigned to an agent, and how it ended.

use serde::{Deserialize, Serialize};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Behind others of the same agent, or not begun.
    Queued,
    /// In a turn.
    Running,
    /// The agent said that its turn is at an end.
    Done,
    /// The turn ended in an error, a refusal, or with the agent.
    Failed,
    /// Somebody asked for its end.
    Cancelled,
    /// The agent or its bridge ended in the middle of it.
    Interrupted,
}

impl TaskStatus {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns how the task is spoken of in a sentence: it "has failed".
    pub fn told(self) -> &'static str {
        match self {
            Self::Queued => "is queued",
            Self::Running => "is running",
            Self::Done => "is done",
            Self::Failed => "has failed",
            Self::Cancelled => "was cancelled",
            Self::Interrupted => "was interrupted",
        }
    }

    /// Says whether nothing more will happen to the task.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Why a task failed, as a class that programs can act on and a sentence for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// An open set of words: those of [`failure`](crate::domain::failure), and `start`, `crashed`, `cancelled` …
    pub class: String,
    /// What happened.
    pub message: String,
    /// When to try again, in wall time, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<i64>,
    /// How to log in, where that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The valid names, where one was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

impl TaskError {
    /// Makes an error about which there is nothing more to say.
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Self {
            class: class.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }
}
