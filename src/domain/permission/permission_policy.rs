//! The policies for an agent's permission requests.

use serde::{Deserialize, Serialize};

/// How to answer when an agent asks for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Yes, this once.
    Allow,
    /// As the rules decide.
    Rules,
    /// As the user answers.
    Ask,
    Deny,
}

impl Policy {
    /// All policies, with their words in configuration files and tool calls.
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

    /// Says whether it allows more without a person's consent than another policy does.
    pub fn allows_more_than(self, other: Self) -> bool {
        // The variants are in this order.
        (self as u8) < (other as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_read_back() {
        for (word, policy) in Policy::WORDS {
            assert_eq!(Policy::parse(word), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), word);
        }
        assert_eq!(Policy::parse("Allow"), None);
    }
}
