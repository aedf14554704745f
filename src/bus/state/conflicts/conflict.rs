//! A disagreement: who stands for what, who has to speak, and how it ended.

use serde::{Deserialize, Serialize};

use crate::domain::ids::MessageId;
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep, SignalClass};
use crate::domain::name::Name;

/// A disagreement in a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The first message of the thread.
    pub thread: MessageId,
    pub opened_ms: i64,
    /// What the thread is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who disagrees, and with whom.
    pub parties: Vec<Party>,
    pub step: ConflictStep,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ConflictEnding>,
}

/// A member that stands for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    pub name: Name,
    /// The message that says for what.
    pub position: MessageId,
    /// Whether it has spoken in this round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_spoken: bool,
}

/// How a disagreement ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictEnding {
    pub how: ConflictEnd,
    /// Who agreed or decided; the bridge if nobody did.
    pub by: Author,
    /// The message that holds from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    pub at_ms: i64,
}

impl Conflict {
    /// Says whether it is not over.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Returns the party of that name.
    pub fn party(&self, name: &Name) -> Option<&Party> {
        self.parties.iter().find(|party| party.name == *name)
    }

    /// Says whether a message of a party to these members is a word in it: the other party gets it, and it is no receipt and no report of
    /// progress. What a party writes to others in the thread stays between them.
    pub(in crate::bus) fn hears(&self, from: &Name, to: &[Name], class: SignalClass) -> bool {
        let is_word = !matches!(class, SignalClass::Receipt | SignalClass::Progress);
        is_word && self.names().any(|name| name != from && to.contains(name))
    }

    /// Says whether it rests on a message: a position, or what ended it.
    pub(in crate::bus) fn rests_on(&self, id: &MessageId) -> bool {
        let end = self.end.as_ref().and_then(|end| end.message.as_ref());
        self.parties.iter().map(|party| &party.position).chain(end).any(|one| one == id)
    }

    /// Returns the names of its parties.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.parties.iter().map(|party| &party.name)
    }
}
