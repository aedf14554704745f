//! A hit of a search, as people and programs see it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::view::Moment;

/// Where the words were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    /// In a message.
    Message,
    /// In a request for whoever is free.
    Request,
    /// In the prompt of a task.
    Prompt,
    /// In the result or the error of a task.
    Result,
    /// In the transcript of a task: thoughts, tool calls, and the words of a task without a result.
    Transcript,
    /// In a question for permission.
    Permission,
    /// In the name or the prompts of a workflow.
    Workflow,
    /// In the name of a step that the user refused, or in the reason.
    Refusal,
}

impl HitKind {
    /// All kinds. The index stores the place in this list.
    const ALL: [Self; 8] = [
        Self::Message,
        Self::Request,
        Self::Prompt,
        Self::Result,
        Self::Transcript,
        Self::Permission,
        Self::Workflow,
        Self::Refusal,
    ];

    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Request => "request",
            Self::Prompt => "prompt",
            Self::Result => "result",
            Self::Transcript => "transcript",
            Self::Permission => "permission",
            Self::Workflow => "workflow",
            Self::Refusal => "refusal",
        }
    }

    /// Returns its number in the index.
    pub(super) fn number(self) -> i64 {
        Self::ALL.iter().zip(0..).find(|(kind, _)| **kind == self).map_or(0, |(_, number)| number)
    }

    pub(super) fn of_number(number: i64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// A text in which the words were found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SearchHit {
    pub at: Moment,
    pub kind: HitKind,
    /// The seq of its event; missing for transcripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Whose words they are, if that is still known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// For whom they are: a name, or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The message, request, task, permission question or workflow.
    pub id: String,
    /// The words around the first place, as one line.
    pub text: String,
    /// The command that shows it whole, or what it belongs to.
    pub open: String,
}
