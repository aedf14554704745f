//! The addressees of a message in an event: each by name, or all but some.
//!
//! The second form keeps a line short in a team of hundreds. Versions before it cannot read it and stop with "a newer
//! cli-team-bridge works here", which is right: with a list that they take for empty nobody would get the message. Teams of
//! [`limits::NAMED_AT_ONCE`](crate::domain::limits::NAMED_AT_ONCE) members never need it.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::name::Name;

/// What the other form is called in a line.
const ALL_BUT: &str = "all_but";

/// Members that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressees {
    Named(Vec<Name>),
    /// All whom the event can mean, but these: of a message that is put into inboxes, all live members who have not been given
    /// it; of one that need not be seen any more, all in whose inbox it is unread.
    AllBut(Vec<Name>),
}

impl Addressees {
    /// Returns those that are named; none when it means all but some.
    pub fn named(&self) -> &[Name] {
        match self {
            Self::Named(names) => names,
            Self::AllBut(_) => &[],
        }
    }
}

impl From<Vec<Name>> for Addressees {
    fn from(names: Vec<Name>) -> Self {
        Self::Named(names)
    }
}

impl Serialize for Addressees {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(names) => names.serialize(serializer),
            Self::AllBut(names) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(ALL_BUT, names)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Addressees {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AddresseesVisitor)
    }
}

/// Reads either form where it stands.
struct AddresseesVisitor;

impl<'de> Visitor<'de> for AddresseesVisitor {
    type Value = Addressees;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names, or all but a list of names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Addressees, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = seq.next_element()? {
            names.push(name);
        }
        Ok(Addressees::Named(names))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Addressees, A::Error> {
        match map.next_entry::<String, Vec<Name>>()? {
            Some((key, names)) if key == ALL_BUT && map.next_key::<String>()?.is_none() => {
                Ok(Addressees::AllBut(names))
            }
            _ => Err(de::Error::custom("neither a list of names nor `all_but` with one")),
        }
    }
}
