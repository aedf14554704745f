//! The addressees of a message in an event: a list of names, or all except a list.
//!
//! The second form keeps a line short in a team of hundreds. Older versions cannot read it and stop with "a newer cli-team-bridge uses
//! this bus", which is right: taken for an empty list, it would bring the message to no member. Teams of
//! [`limits::NAMED_AT_ONCE`](crate::domain::limits::NAMED_AT_ONCE) members never need it.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::name::Name;

/// The key of the second form in a line.
const ALL_BUT: &str = "all_but";

/// Members that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressees {
    Named(Vec<Name>),
    /// All members that the event can mean, except these: for a message put into inboxes, all live members that do not have it yet;
    /// for a withdrawn one, all members in whose inbox it is unread.
    AllBut(Vec<Name>),
}

impl Addressees {
    /// Returns the listed names; none for the second form.
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

/// Reads either form.
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
