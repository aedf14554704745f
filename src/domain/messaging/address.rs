//! Addresses: what a message can be sent to, and the groups that some of them mean.
//!
//! | form | means |
//! |---|---|
//! | `bob` | a member, by its name |
//! | `s7` | the member whose live session has that number |
//! | `@lead` | the orchestrator that leads |
//! | `@word` | the owner of a lane, else all live members with that role, else those with that capability |
//! | `#word` | the followers of a topic |
//! | `all`, `*`, `@all`, `@project` | all live members |
//! | `human`, `@human` | the person that the team works for, through the orchestrator that speaks with them |
//! | `TAG:…` | a member of another project |
//!
//! Who is meant at a given moment is decided by the rules of the bus: this module knows the forms alone.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::member::{Label, SessionNumber};
use crate::domain::name::MAX_NAME_BYTES;

/// The word for the orchestrator that leads.
const LEAD: &str = "lead";

/// What a text addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A member, by its name. The text may be no name at all: only a known one is certain to be meant.
    Member(String),
    /// The member with that live session.
    Session(SessionNumber),
    Group(Group),
    /// All live members.
    All,
    /// A member of another project.
    Elsewhere {
        /// The project.
        tag: Label,
        /// The member there.
        rest: String,
    },
}

/// A group of members, as it was written: its word keeps its case and its plural.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub enum Group {
    /// `@word`: a lane, a role or a capability.
    Word(Label),
    /// `#word`.
    Topic(Label),
    /// `human`: the person that the team works for. Whoever speaks with them gets what is written to them.
    Human,
}

/// The address of the person that the team works for.
const HUMAN: &str = "human";

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an address: after `@` or `#` comes one word of the characters A-Z a-z 0-9 . _ -, \
        such as `@reviewer` or `#releases`; a member's name stands alone"
)]
pub struct AddressError(String);

impl Address {
    /// Parses an address. Everything that has no other form is taken for a member's name.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        match text.to_ascii_lowercase().as_str() {
            "all" | "*" | "@all" | "@project" => return Ok(Self::All),
            _ => {}
        }
        if let Some(group) = Group::parse(text)? {
            return Ok(Self::Group(group));
        }
        if let Some(number) = SessionNumber::parse(text) {
            return Ok(Self::Session(number));
        }
        if let Some((tag, rest)) = text.split_once(':')
            && let Ok(tag) = Label::parse(tag)
        {
            return Ok(Self::Elsewhere { tag, rest: rest.to_owned() });
        }
        Ok(Self::Member(text.to_owned()))
    }

    /// Says whether a text is an address in another project.
    pub fn is_elsewhere(text: &str) -> bool {
        matches!(Self::parse(text), Ok(Self::Elsewhere { .. }))
    }

    /// Says whether it may mean several members.
    pub fn is_several(&self) -> bool {
        match self {
            Self::All | Self::Group(Group::Word(_) | Group::Topic(_)) => true,
            Self::Elsewhere { rest, .. } => matches!(rest.trim(), "*" | "all"),
            Self::Group(Group::Human) | Self::Member(_) | Self::Session(_) => false,
        }
    }
}

impl Group {
    /// Makes the address of the orchestrator that leads.
    ///
    /// # Panics
    /// Never: the word is one.
    pub fn lead() -> Self {
        Self::Word(Label::parse(LEAD).expect("it is a word"))
    }

    /// Says whether it is the orchestrator that leads.
    pub fn is_lead(&self) -> bool {
        matches!(self, Self::Word(word) if is_same_word(word.as_str(), LEAD))
    }

    /// Parses `@word`, `#word` or `human`; none for any other text.
    pub fn parse(text: &str) -> Result<Option<Self>, AddressError> {
        if text.eq_ignore_ascii_case(HUMAN)
            || text.strip_prefix('@').is_some_and(|word| is_same_word(word, HUMAN))
        {
            return Ok(Some(Self::Human));
        }
        let (make, word): (fn(Label) -> Self, _) =
            match (text.strip_prefix('@'), text.strip_prefix('#')) {
                (Some(word), _) => (Self::Word, word),
                (None, Some(word)) => (Self::Topic, word),
                (None, None) => return Ok(None),
            };
        match Label::parse(word) {
            Ok(label) => Ok(Some(make(label))),
            // One character more than is allowed shows that there are more.
            Err(_) => Err(AddressError(text.chars().take(MAX_NAME_BYTES + 2).collect())),
        }
    }

    /// Returns a text that two groups share if they are the same address.
    pub fn folded(&self) -> String {
        match self {
            Self::Word(word) => format!("@{}", folded_word(word.as_str())),
            Self::Topic(_) | Self::Human => self.to_string().to_ascii_lowercase(),
        }
    }

    /// Says whether two groups are the same address: neither case nor, after `@`, a plural s counts.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Word(one), Self::Word(other)) => is_same_word(one.as_str(), other.as_str()),
            (Self::Topic(one), Self::Topic(other)) => one == other,
            (Self::Human, Self::Human) => true,
            _ => false,
        }
    }
}

/// Says whether two words for lanes, roles or capabilities are the same: neither case nor a plural s counts.
pub fn is_same_word(one: &str, other: &str) -> bool {
    folded_word(one) == folded_word(other)
}

/// Returns what is the same of a word in the singular and in the plural.
fn folded_word(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    match lower.strip_suffix('s') {
        Some(stem) if !stem.is_empty() => stem.to_owned(),
        _ => lower,
    }
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(formatter, "@{word}"),
            Self::Topic(word) => write!(formatter, "#{word}"),
            Self::Human => formatter.write_str(HUMAN),
        }
    }
}

impl TryFrom<Cow<'_, str>> for Group {
    type Error = AddressError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, AddressError> {
        Self::parse(&text)?.ok_or_else(|| AddressError(text.chars().take(MAX_NAME_BYTES).collect()))
    }
}

impl From<Group> for String {
    fn from(group: Group) -> Self {
        group.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> Label {
        Label::parse(text).unwrap()
    }

    #[test]
    fn every_form_of_an_address_is_told_apart() {
        let member = |text: &str| Address::Member(text.into());
        let word = |text: &str| Address::Group(Group::Word(label(text)));
        let topic = |text: &str| Address::Group(Group::Topic(label(text)));
        let session = |text: &str| Address::Session(SessionNumber::parse(text).unwrap());
        let elsewhere =
            |tag: &str, rest: &str| Address::Elsewhere { tag: label(tag), rest: rest.into() };
        let table = [
            ("bob", member("bob")),
            ("codex-2", member("codex-2")),
            (" bob ", member("bob")),
            ("", member("")),
            ("two words", member("two words")),
            ("../../etc", member("../../etc")),
            ("everyone", member("everyone")),
            ("user", member("user")),
            ("s7", session("s7")),
            ("S07", session("s7")),
            ("s7a", member("s7a")),
            ("@reviewer", word("reviewer")),
            ("@Reviewers", word("Reviewers")),
            ("@web-presence", word("web-presence")),
            ("@lead", word("lead")),
            ("#releases", topic("releases")),
            ("#Releases", topic("Releases")),
            ("all", Address::All),
            ("ALL", Address::All),
            ("*", Address::All),
            ("@all", Address::All),
            ("@Project", Address::All),
            ("human", Address::Group(Group::Human)),
            ("Human", Address::Group(Group::Human)),
            ("@human", Address::Group(Group::Human)),
            ("@humans", Address::Group(Group::Human)),
            ("humans", member("humans")),
            ("fit:ann", elsewhere("fit", "ann")),
            ("fit:*", elsewhere("fit", "*")),
            ("fit:", elsewhere("fit", "")),
            (":ann", member(":ann")),
            ("two words:ann", member("two words:ann")),
        ];
        for (text, address) in table {
            assert_eq!(Address::parse(text), Ok(address), "{text:?}");
        }
        for bad in ["@", "#", "@two words", "@@x", "#@x", "@#x", "#all", "@s7", "@you", "#ключ"]
        {
            let error = Address::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{bad:?} is not an address")), "{error}");
        }
        let endless = Address::parse(&format!("@{}", "x".repeat(100_000))).unwrap_err();
        assert!(endless.to_string().len() < 400);
    }

    #[test]
    fn a_group_is_stored_as_it_was_written() {
        for text in ["@Reviewers", "#releases", "human"] {
            let group = Group::parse(text).unwrap().unwrap();
            let stored = serde_json::to_string(&group).unwrap();
            assert_eq!(stored, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Group>(&stored).unwrap(), group);
        }
        assert!(serde_json::from_str::<Group>("\"reviewer\"").is_err());
    }

    #[test]
    fn neither_case_nor_a_plural_counts_in_words_and_case_alone_in_topics() {
        let same = |one: &str, other: &str| {
            let group = |text: &str| Group::parse(text).unwrap().unwrap();
            let (one, other) = (group(one), group(other));
            assert_eq!(one.is_same(&other), one.folded() == other.folded());
            one.is_same(&other)
        };
        assert!(same("@Reviewer", "@reviewers"));
        assert!(same("@S", "@s"));
        assert!(same("#Release", "#release"));
        assert!(!same("#release", "#releases"));
        assert!(!same("@release", "#release"));
        assert!(!same("@s", "@x"));
    }
}
