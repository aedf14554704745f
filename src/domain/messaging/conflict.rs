//! A disagreement in a thread: who has to speak, and how it ends.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Address, Group};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::name::Name;

/// Who can do what most disagreements are about.
const ARCHITECT: &str = "architect";

/// Who decides a disagreement, unless a member can do what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub enum Arbiter {
    /// `@word`: a member that has this role or capability by what it said when it joined.
    Able(Label),
    /// The member of that name.
    Named(Name),
}

/// Why a text names no arbiter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names nobody who could decide: use `@` and a role or a capability, such as \
        `@architect`, or the name of a member"
)]
pub struct ArbiterError(String);

impl Arbiter {
    /// Parses `@word` or a name.
    pub fn parse(text: &str) -> Result<Self, ArbiterError> {
        let found = match Address::parse(text) {
            Ok(Address::Group(group @ Group::Word(_))) if group.is_lead() => None,
            Ok(Address::Group(Group::Word(word))) => Some(Self::Able(word)),
            Ok(Address::Member(name)) => {
                let name = Name::parse(&name).ok().filter(|name| !name.means_others());
                name.map(Self::Named)
            }
            _ => None,
        };
        found.ok_or_else(|| ArbiterError(text.chars().take(limits::SHOWN_NAME_CHARS).collect()))
    }
}

impl Default for Arbiter {
    fn default() -> Self {
        Self::Able(Label::parse(ARCHITECT).expect("it is a word"))
    }
}

impl fmt::Display for Arbiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Able(word) => write!(formatter, "@{word}"),
            Self::Named(name) => name.fmt(formatter),
        }
    }
}

impl TryFrom<Cow<'_, str>> for Arbiter {
    type Error = ArbiterError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, ArbiterError> {
        Self::parse(&text)
    }
}

impl From<Arbiter> for String {
    fn from(arbiter: Arbiter) -> Self {
        arbiter.to_string()
    }
}

/// Who has to speak in a disagreement that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictStep {
    /// Both parties, in this round: the first is 1.
    Round(u32),
    /// A member that is no party: its decision binds.
    Arbiter(Name),
    /// The person whom the team works for.
    Human,
}

/// How a disagreement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictEnd {
    /// One party took the position of the other.
    Agreed,
    /// Somebody who was asked has decided it.
    Decided,
    /// Nobody decided it in time.
    Lapsed,
}

impl ConflictStep {
    /// Returns the word that tools and windows show.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Round(_) => "negotiation",
            Self::Arbiter(_) => "arbitration",
            Self::Human => "human",
        }
    }
}

impl ConflictEnd {
    /// Returns the word that tools and windows show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agreed => "agreed",
            Self::Decided => "decided",
            Self::Lapsed => "lapsed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arbiter_is_a_word_or_a_member_and_is_stored_as_it_was_written() {
        assert_eq!(Arbiter::default().to_string(), "@architect");
        for good in ["@architect", "@Rust", "ann", "codex-2"] {
            let arbiter = Arbiter::parse(good).unwrap();
            let stored = serde_json::to_string(&arbiter).unwrap();
            assert_eq!(stored, format!("{good:?}"));
            assert_eq!(serde_json::from_str::<Arbiter>(&stored).unwrap(), arbiter);
        }
        for bad in [
            "", "@", "#storage", "@lead", "@all", "@project", "all", "human", "s7", "user", "a b",
            "x:y",
        ] {
            let error = Arbiter::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{bad:?} names nobody")), "{error}");
        }
    }
}
