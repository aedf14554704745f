//! Messages: their types, their authors, their audience, and their priority.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::address::{AddressError, Group};
use super::elsewhere::{Elsewhere, ElsewhereError, MemberElsewhere};
use crate::domain::name::{Name, NameError};

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// From one member to another.
    Message,
    /// Open work that any member may claim.
    Request,
    /// An answer to a request.
    Response,
    /// A reminder of an unclaimed request.
    Nudge,
    /// From an orchestrator to every member.
    Broadcast,
    /// Asks a member to finish and end.
    Shutdown,
    /// From the bus itself.
    Notice,
}

impl MessageKind {
    /// Returns the word that tools show as `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Request => "request",
            Self::Response => "response",
            Self::Nudge => "nudge",
            Self::Broadcast => "broadcast",
            Self::Shutdown => "shutdown",
            Self::Notice => "notice",
        }
    }

    /// Says whether the message is worth a turn of an idle agent's model; the other kinds ride along.
    pub fn wakes(self) -> bool {
        matches!(self, Self::Message | Self::Request | Self::Response | Self::Broadcast)
    }
}

/// The sender of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub enum Author {
    Bridge,
    /// The person at the command line.
    Human,
    Member(Name),
    /// A member of another project. Boxed: a bus has many messages, and few of them are from there.
    Elsewhere(Box<MemberElsewhere>),
}

impl Author {
    /// The person at the command line, as a word.
    pub const HUMAN: &str = "human";

    /// Returns the sender, if it is a member of this project.
    pub fn member(&self) -> Option<&Name> {
        match self {
            Self::Bridge | Self::Human | Self::Elsewhere(_) => None,
            Self::Member(name) => Some(name),
        }
    }

    /// Returns the sender, if it is a member of another project.
    pub fn elsewhere(&self) -> Option<&MemberElsewhere> {
        match self {
            Self::Elsewhere(member) => Some(member),
            _ => None,
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bridge => f.write_str("bridge"),
            Self::Human => f.write_str(Self::HUMAN),
            Self::Member(name) => name.fmt(f),
            Self::Elsewhere(member) => member.fmt(f),
        }
    }
}

impl TryFrom<Cow<'_, str>> for Author {
    type Error = AudienceError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, AudienceError> {
        match text.as_ref() {
            "bridge" => Ok(Self::Bridge),
            Self::HUMAN => Ok(Self::Human),
            // Most are names, and no name is an address in another project.
            name => match Name::stored(name) {
                Ok(name) => Ok(Self::Member(name)),
                Err(_) if Elsewhere::is_one(name) => {
                    Ok(Self::Elsewhere(Box::new(MemberElsewhere::try_from(text)?)))
                }
                Err(error) => Err(error.into()),
            },
        }
    }
}

impl From<Author> for String {
    fn from(author: Author) -> Self {
        author.to_string()
    }
}

/// The displayed recipient of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub enum Audience {
    /// Every member that was live.
    All,
    One(Name),
    /// The members that a group meant, as the sender wrote it.
    Group(Group),
    /// Members of another project.
    Elsewhere(Box<Elsewhere>),
}

/// Why a text is no audience or no author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AudienceError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Elsewhere(#[from] ElsewhereError),
}

impl Audience {
    /// Returns the group, if it is one.
    pub fn group(&self) -> Option<&Group> {
        match self {
            Self::Group(group) => Some(group),
            Self::All | Self::One(_) | Self::Elsewhere(_) => None,
        }
    }

    /// Returns the address in another project, if it is one.
    pub fn elsewhere(&self) -> Option<&Elsewhere> {
        match self {
            Self::Elsewhere(address) => Some(address),
            _ => None,
        }
    }

    /// Says whether it is this group.
    pub fn is_to(&self, group: &Group) -> bool {
        self.group().is_some_and(|own| own.is_same(group))
    }

    /// Says whether it is the person that the team works for.
    pub fn is_human(&self) -> bool {
        matches!(self, Self::Group(Group::Human))
    }

    /// Says whether two are the same address, however it was written.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Group(one), Self::Group(other)) => one.is_same(other),
            _ => self == other,
        }
    }

    /// Returns a text that two of them share if they are the same address, however each was written.
    pub fn folded(&self) -> String {
        match self {
            Self::Group(group) => group.folded(),
            _ => self.to_string().to_ascii_lowercase(),
        }
    }

    /// Says whether it is one member, and not several.
    pub fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::One(name) => name.fmt(f),
            Self::Group(group) => group.fmt(f),
            Self::Elsewhere(address) => address.fmt(f),
        }
    }
}

impl TryFrom<Cow<'_, str>> for Audience {
    type Error = AudienceError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, AudienceError> {
        if text == "all" {
            return Ok(Self::All);
        }
        // Most are names, and no name is a group or an address in another project.
        let error = match Name::stored(&text) {
            Ok(name) => return Ok(Self::One(name)),
            Err(error) => error,
        };
        if Elsewhere::is_one(&text) {
            return Ok(Self::Elsewhere(Box::new(Elsewhere::try_from(text)?)));
        }
        Group::parse(&text)?.map(Self::Group).ok_or_else(|| error.into())
    }
}

impl From<Audience> for String {
    fn from(audience: Audience) -> Self {
        audience.to_string()
    }
}

/// How much a message matters to a recipient that works on something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// It is read after the others.
    Low,
    /// It is read at the next step.
    #[default]
    Normal,
    /// It is read before the others, and is worth an interruption of whoever allows that.
    High,
    /// It is worth an interruption.
    Urgent,
}

impl Priority {
    /// Says whether this is the default, which is not stored.
    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }

    /// All of them, from the least.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    /// Returns the one with that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.as_str() == word)
    }

    /// Returns the word that tools take and show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }
}
