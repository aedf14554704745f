//! The topics of happenings, by which people filter them.

use schemars::JsonSchema;
use serde::Serialize;

/// What a happening is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// A message was sent.
    Message,
    /// A message was delivered, seen, withdrawn or given up.
    Receipt,
    /// A request was opened, claimed or answered.
    Request,
    /// A task was assigned, or began, or ended.
    Task,
    /// An agent asked for permission, or got an answer.
    Permission,
    /// A member began to wait for a message, or its wait ended.
    Wait,
    /// A workflow or one of its steps.
    Workflow,
    /// A member joined or left, or its health changed.
    Member,
}

impl Topic {
    /// All topics, in the order in which help lists them.
    pub const ALL: [Self; 8] = [
        Self::Message,
        Self::Receipt,
        Self::Request,
        Self::Task,
        Self::Permission,
        Self::Wait,
        Self::Workflow,
        Self::Member,
    ];

    /// Says whether it stands beside what it is about, and so is left out of what has happened unless it is asked for: how far a message has
    /// come, and who waits, which agents begin again and again.
    pub fn is_beside(self) -> bool {
        matches!(self, Self::Receipt | Self::Wait)
    }

    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Receipt => "receipt",
            Self::Request => "request",
            Self::Task => "task",
            Self::Permission => "permission",
            Self::Wait => "wait",
            Self::Workflow => "workflow",
            Self::Member => "member",
        }
    }
}
