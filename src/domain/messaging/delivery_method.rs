//! The methods by which a message reaches a model, and what proves that the model has seen it.

use serde::{Deserialize, Serialize};

/// The method by which a message is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMethod {
    /// The member asked: `check_messages`, `wait_for_message`.
    Pull,
    /// On the result of another tool.
    Piggyback,
    /// In front of the next task's prompt.
    Inject,
    /// A prompt of its own to an idle session.
    Prompt,
    /// Put into a running turn by the bridge.
    Steer,
    /// The answer to an agent that asks for new messages during its turn.
    Drain,
    /// By the hook of an orchestrator's or peer's client, between two steps.
    Hook,
}

impl DeliveryMethod {
    /// Says whether the model's own turn, however long, proves that it has seen the message, rather than the member's next call: the
    /// bridge that holds the session sees the turn, and a hook sees its next stop or prompt.
    pub fn is_by_turn(self) -> bool {
        !matches!(self, Self::Pull | Self::Piggyback)
    }

    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Piggyback => "piggyback",
            Self::Inject => "inject",
            Self::Prompt => "prompt",
            Self::Steer => "steer",
            Self::Drain => "drain",
            Self::Hook => "hook",
        }
    }
}
