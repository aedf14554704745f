//! Permissions: the policies, the decisions, and who decides. Pure.

mod judge;

use serde::{Deserialize, Serialize};

pub use judge::{GUARDED, Ground, Verdict, depends_on_places, is_worse, judge, known_kind};

/// What to answer when an agent asks for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Yes, this once.
    Allow,
    /// What the rules say.
    Rules,
    /// What the user says.
    Ask,
    Deny,
}

impl Policy {
    /// All of them, as a file or a model writes them.
    pub const WORDS: [(&'static str, Self); 4] =
        [("allow", Self::Allow), ("rules", Self::Rules), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// Reads a policy.
    pub fn parse(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, policy)| *policy)
    }

    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Rules => "rules",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Says whether more can happen by it without a person's word than by another one.
    pub fn allows_more_than(self, other: Self) -> bool {
        // They stand in this order.
        (self as u8) < (other as u8)
    }
}

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
    fn words_read_back() {
        for (word, policy) in Policy::WORDS {
            assert_eq!(Policy::parse(word), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), word);
        }
        for word in ["allow_once", "allow_always", "reject"] {
            let decision = Decision::parse(word).unwrap();
            assert_eq!(decision.as_str(), word);
            assert_eq!(serde_json::to_value(decision).unwrap(), word);
        }
        assert_eq!(Decision::parse("cancelled"), None, "nobody can say that");
        assert_eq!(Policy::parse("Allow"), None);
    }
}
