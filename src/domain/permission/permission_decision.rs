//! The answer to a question for permission, and who or what gave it.

use serde::{Deserialize, Serialize};

/// What was said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and the agent need not ask again.
    AllowAlways,
    Reject,
    /// Nothing: the turn ended, or the question offers no such answer.
    Cancelled,
}

impl Decision {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways => "allow_always",
            Self::Reject => "reject",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads what somebody may say.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::AllowOnce, Self::AllowAlways, Self::Reject]
            .into_iter()
            .find(|decision| decision.as_str() == word)
    }
}

/// Who or what a decision comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The policy of the task or the profile.
    Policy,
    /// The user of an orchestrator's client.
    Human,
    Orchestrator,
    /// Nobody said anything in time.
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
        assert_eq!(Decision::parse("cancelled"), None, "nobody can say that");
    }
}
