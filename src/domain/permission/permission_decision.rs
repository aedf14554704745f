//! The answer to a permission request, and its source.

use serde::{Deserialize, Serialize};

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and the agent need not ask again.
    AllowAlways,
    Reject,
    /// No, nor if the agent asks the same again. It is stored as `Reject` beside a mark, which older versions skip.
    #[serde(skip)]
    RejectAlways,
    /// No answer: the turn ended, or the request offers no such answer.
    Cancelled,
}

impl Decision {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways => "allow_always",
            Self::Reject => "reject",
            Self::RejectAlways => "reject_always",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads an answer of a person or an orchestrator.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::AllowOnce, Self::AllowAlways, Self::Reject, Self::RejectAlways]
            .into_iter()
            .find(|decision| decision.as_str() == word)
    }

    /// Says whether it is a no.
    pub fn is_rejection(self) -> bool {
        matches!(self, Self::Reject | Self::RejectAlways)
    }

    /// Returns how it is stored: the decision, and whether it lasts.
    pub fn stored(self) -> (Self, bool) {
        if self == Self::RejectAlways { (Self::Reject, true) } else { (self, false) }
    }

    /// Returns the decision that is stored like this.
    #[must_use]
    pub fn of_stored(self, lasts: bool) -> Self {
        if self == Self::Reject && lasts { Self::RejectAlways } else { self }
    }
}

/// The source of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The policy of the task or the profile.
    Policy,
    /// The user of an orchestrator's client.
    Human,
    Orchestrator,
    /// No answer came in time.
    Deadline,
    /// The turn or the agent has ended.
    Ended,
}

impl Decider {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Human => "human",
            Self::Orchestrator => "orchestrator",
            Self::Deadline => "deadline",
            Self::Ended => "ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_read_back() {
        for word in ["allow_once", "allow_always", "reject"] {
            let decision = Decision::parse(word).unwrap();
            assert_eq!(decision.as_str(), word);
            assert_eq!(serde_json::to_value(decision).unwrap(), word);
        }
        let lasting = Decision::parse("reject_always").unwrap();
        let (decision, lasts) = lasting.stored();
        assert_eq!(serde_json::to_value(decision).unwrap(), "reject");
        assert_eq!(decision.of_stored(lasts), lasting);
        assert_eq!(Decision::parse("cancelled"), None, "it is no answer");
    }
}
