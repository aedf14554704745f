//! The methods by which a message reaches a model, and what proves that the model has seen it.

use serde::{Deserialize, Serialize};

use crate::domain::wait_times;

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
    /// In front of the prompt with which a task goes on after its turn was cancelled for the message.
    Interrupt,
    /// A prompt of its own to an idle session.
    Prompt,
    /// Put into a running turn by the bridge.
    Steer,
    /// The answer to an agent that asks for new messages during its turn.
    Drain,
    /// By the hook of an orchestrator's or peer's client, between two steps.
    Hook,
    /// Pushed into the session of an orchestrator's or peer's client, which confirms nothing.
    Channel,
}

impl DeliveryMethod {
    /// Says whether the answer of a call carries the message, so that the member's next call proves it. Other methods have other proofs,
    /// however long these take: the bridge that holds the session sees the turn, a hook sees its next stop or prompt, and a push is proven
    /// by whatever names the message.
    pub fn is_by_answer(self) -> bool {
        matches!(self, Self::Pull | Self::Piggyback)
    }

    /// Returns the time after which a message that nothing proves is unread again, in milliseconds; none where its owner sees whether it
    /// was shown.
    pub fn lost_after_ms(self) -> Option<u64> {
        match self {
            Self::Pull | Self::Piggyback => Some(wait_times::HANDED_MS),
            Self::Channel => Some(wait_times::PUSHED_MS),
            Self::Inject
            | Self::Interrupt
            | Self::Prompt
            | Self::Steer
            | Self::Drain
            | Self::Hook => None,
        }
    }

    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Piggyback => "piggyback",
            Self::Inject => "inject",
            Self::Interrupt => "interrupt",
            Self::Prompt => "prompt",
            Self::Steer => "steer",
            Self::Drain => "drain",
            Self::Hook => "hook",
            Self::Channel => "channel",
        }
    }
}
