//! Members of other projects: as authors, as addresses, and where a message of theirs comes from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::Label;
use crate::domain::name::Name;

/// The sign for all live members of a project.
const EVERYBODY: &str = "*";

/// A member of another project: `TAG:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub struct MemberElsewhere {
    /// The project.
    pub tag: Label,
    pub name: Name,
}

/// An address in another project: `TAG:NAME` or `TAG:*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub struct Elsewhere {
    /// The project.
    pub tag: Label,
    /// The member; none means all live ones.
    pub name: Option<Name>,
}

/// What tells the directory of a project from others, without naming it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryMark(u64);

impl DirectoryMark {
    /// Returns the mark of a directory, of which this is the path without links. JSON readers keep 53 bits of a number.
    pub fn of(path: &Path) -> Self {
        let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
        let first = hash.iter().take(8).fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        Self(first >> 11)
    }
}

/// The projects of the user as one of them sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedProjects {
    /// The tag of this project; without one nobody there could answer.
    pub own: Option<Label>,
    /// The others.
    pub tags: BTreeMap<Label, DirectoryMark>,
    /// Those of them whose directory has not answered yet: what is known of it stays.
    pub unseen: BTreeSet<Label>,
}

impl ListedProjects {
    /// Says whether a tag means this directory, as far as it has answered.
    pub fn means(&self, tag: &Label, mark: DirectoryMark) -> bool {
        self.tags.get(tag).is_some_and(|listed| *listed == mark || self.unseen.contains(tag))
    }
}

/// The message of another project that stands here as a message of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageOrigin {
    /// The project.
    pub tag: Label,
    /// Its id there.
    pub id: MessageId,
    /// When it was sent there, in wall time. With its id it tells any two messages apart, even if the project has another tag by now.
    pub sent_ms: i64,
    /// Its place among the others that came from there. Versions before this one wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<OriginPlace>,
}

impl MessageOrigin {
    /// Says whether another one comes from the same bus.
    pub fn is_of_bus_of(&self, other: &Self) -> bool {
        let bus = |origin: &Self| origin.place.map(|place| place.bus);
        self.tag == other.tag && bus(self) == bus(other)
    }

    /// Says whether its bus knew nothing of this one any more when it sent the other: it was put back from a backup between them. Then this
    /// one has the later place there, although it was sent before. A clock that was set back looks the same until it is where it was:
    /// meanwhile a courier that was stopped for longer than messages are remembered may bring one twice.
    pub fn was_undone_before(&self, other: &Self) -> bool {
        let later = self.place.zip(other.place).is_some_and(|(own, other)| own.seq > other.seq);
        later && self.sent_ms < other.sent_ms
    }
}

/// Where a message stands among those of its own bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginPlace {
    /// The bus: the session there that first listed other projects. A bus that was made anew counts anew.
    pub bus: SessionId,
    /// The seq of its event there.
    pub seq: u64,
    /// That of the oldest message to this project that was on its way when this one was taken: all before it have arrived, or have ended.
    pub oldest: u64,
}

/// How far a message has come with a recipient in another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateElsewhere {
    Unread,
    Seen,
    Acked,
    Resolved,
    Superseded,
    /// It was taken back before it was seen.
    Withdrawn,
    Expired,
}

impl StateElsewhere {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Seen => "seen",
            Self::Acked => "acked",
            Self::Resolved => "resolved",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
        }
    }

    /// Says whether its recipient has said what has become of it.
    pub fn is_acknowledged(self) -> bool {
        matches!(self, Self::Acked | Self::Resolved | Self::Superseded)
    }

    /// Says whether its recipient has not seen the message, and will not.
    pub fn ended_unseen(self) -> bool {
        matches!(self, Self::Withdrawn | Self::Expired)
    }
}

/// How far a message has come with one recipient in another project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptElsewhere {
    pub name: Name,
    pub state: StateElsewhere,
    /// What the recipient says of it. It stands in the log alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ReceiptElsewhere {
    /// Returns a receipt without a note.
    pub fn of(name: Name, state: StateElsewhere) -> Self {
        Self { name, state, note: None }
    }
}

/// Why a message to another project is still on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldWhy {
    /// The user has taken the project out of the list.
    Unlisted,
    /// There is no team in its directory.
    NoBus,
    /// Its bus cannot be used.
    Unusable,
    /// Its bus needs a newer version.
    Newer,
    /// Its sessions are of a version that such a message would stop.
    Older,
    /// The inbox of its recipient is full, or has as much from other projects as it takes.
    Full,
    /// Many later messages are there already, and an earlier one is not.
    Behind,
    /// It is for all members, and nobody is there.
    Nobody,
}

impl HeldWhy {
    /// Returns the reason, behind a colon.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Unlisted => {
                "no session that takes messages there has that project in its `[projects]`, with the directory it had"
            }
            Self::Older => "an older cli-team-bridge works in that project",
            Self::NoBus => "there is no team in that project yet",
            Self::Unusable => "the bus of that project cannot be used now",
            Self::Newer => "a newer cli-team-bridge works in that project",
            Self::Full => "the inbox there is full",
            Self::Behind => {
                "an earlier message to that project waits still, and many later ones are there"
            }
            Self::Nobody => "no member is live there",
        }
    }
}

/// Why a text is no address in another project.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no address in another project: it is `TAG:NAME`, or `TAG:*` for all members there"
)]
pub struct ElsewhereError(String);

impl ElsewhereError {
    fn of(text: &str) -> Self {
        // As long as the longest address, and a character more.
        Self(text.chars().take(130).collect())
    }
}

impl Elsewhere {
    /// Makes an address of a project and of what stands behind its colon.
    pub fn of(tag: &Label, rest: &str) -> Result<Self, ElsewhereError> {
        let rest = rest.trim();
        let name = match rest {
            EVERYBODY | "all" => None,
            name => {
                let parsed = Name::parse(name);
                Some(parsed.map_err(|_| ElsewhereError::of(&format!("{tag}:{rest}")))?)
            }
        };
        Ok(Self { tag: tag.clone(), name })
    }

    /// Says whether the text has the form of an address in another project.
    pub fn is_one(text: &str) -> bool {
        text.split_once(':').is_some_and(|(tag, _)| Label::parse(tag).is_ok())
    }

    /// Says whether it means a member.
    pub fn means(&self, member: &MemberElsewhere) -> bool {
        self.tag == member.tag && self.name.as_ref().is_none_or(|name| *name == member.name)
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map_or(EVERYBODY, Name::as_str);
        write!(formatter, "{}:{name}", self.tag)
    }
}

impl fmt::Display for MemberElsewhere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.tag, self.name)
    }
}

fn parts(text: &str) -> Result<(Label, &str), ElsewhereError> {
    let parts = text.split_once(':').and_then(|(tag, rest)| Some((Label::parse(tag).ok()?, rest)));
    parts.ok_or_else(|| ElsewhereError::of(text))
}

impl TryFrom<Cow<'_, str>> for Elsewhere {
    type Error = ElsewhereError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, ElsewhereError> {
        let (tag, rest) = parts(&text)?;
        Self::of(&tag, rest)
    }
}

impl TryFrom<Cow<'_, str>> for MemberElsewhere {
    type Error = ElsewhereError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, ElsewhereError> {
        let (tag, rest) = parts(&text)?;
        let name = Name::stored(rest).map_err(|_| ElsewhereError::of(&text))?;
        Ok(Self { tag, name })
    }
}

impl From<Elsewhere> for String {
    fn from(address: Elsewhere) -> Self {
        address.to_string()
    }
}

impl From<MemberElsewhere> for String {
    fn from(member: MemberElsewhere) -> Self {
        member.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Elsewhere, ElsewhereError> {
        Elsewhere::try_from(Cow::from(text))
    }

    fn member(text: &str) -> Result<MemberElsewhere, ElsewhereError> {
        MemberElsewhere::try_from(Cow::from(text))
    }

    #[test]
    fn an_address_elsewhere_is_a_tag_and_a_name_or_everybody() {
        assert_eq!(address("fit:ann").unwrap().to_string(), "fit:ann");
        assert_eq!(address("fit:*").unwrap().name, None);
        assert_eq!(address("fit:all").unwrap().to_string(), "fit:*");
        for wrong in ["fit:", "fit:two words", ":ann", "ann", "fit:@role", "fit:human", "fit:a:b"] {
            let error = address(wrong).unwrap_err().to_string();
            assert!(error.contains("`TAG:NAME`"), "{wrong}: {error}");
        }
        let endless = address(&format!("fit:{}", "x".repeat(100_000))).unwrap_err();
        assert!(endless.to_string().len() < 300);
    }

    #[test]
    fn an_address_means_its_member_or_all_of_its_project() {
        let ann = member("fit:ann").unwrap();
        assert!(address("FIT:Ann").unwrap().means(&ann));
        assert!(address("fit:*").unwrap().means(&ann));
        assert!(!address("fit:bob").unwrap().means(&ann));
        assert!(!address("web:ann").unwrap().means(&ann));
    }

    #[test]
    fn both_are_stored_as_they_are_written() {
        let stored = serde_json::to_string(&address("fit:*").unwrap()).unwrap();
        assert_eq!(stored, "\"fit:*\"");
        let stored = serde_json::to_string(&member("fit:ann").unwrap()).unwrap();
        assert_eq!(stored, "\"fit:ann\"");
        assert!(serde_json::from_str::<MemberElsewhere>("\"fit:*\"").is_err());
    }
}
