//! Where a task stands.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Behind other tasks of the same agent, or not begun.
    Queued,
    Running,
    /// The agent ended its turn.
    Done,
    /// The turn ended in an error or a refusal, or the agent ended.
    Failed,
    /// A member cancelled it.
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

    /// Returns the status for a sentence: the task "has failed".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Queued => "is queued",
            Self::Running => "is running",
            Self::Done => "is done",
            Self::Failed => "has failed",
            Self::Cancelled => "was cancelled",
            Self::Interrupted => "was interrupted",
        }
    }

    /// Says whether the status of the task can no longer change.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}
