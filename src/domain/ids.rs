//! Ids: short ones for models, UUIDs for sessions and commands.
//!
//! `sys` makes ids at random, and rules derive them from a command's id; nothing here is random by itself.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Characters of a short id. At 60 bits, two of a million ids are equal in one of two million logs.
const CHARS: usize = 12;

/// Characters of the ids of older versions, which are read for ever.
const OLDER_CHARS: usize = 8;

/// The random bits of an id.
const BITS_MASK: u64 = (1 << (BITS_A_CHAR * CHARS)) - 1;

/// The bit that tells a new id from one of an older version.
const NEW: u64 = 1 << 63;

const BITS_A_CHAR: usize = 5;

/// Lower-case base32, so that ids are easy to read and to type.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Why a text is not an id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind} id: one looks like `{example}`")]
pub struct IdError {
    text: String,
    kind: &'static str,
    example: &'static str,
}

/// Reads the characters of a short id.
fn short_bits(text: &str) -> Option<u64> {
    let kind = match text.len() {
        CHARS => NEW,
        OLDER_CHARS => 0,
        _ => return None,
    };
    text.bytes()
        .try_fold(0, |bits, char| {
            let value = match char {
                b'a'..=b'z' => char - b'a',
                b'2'..=b'7' => char - b'2' + 26,
                _ => return None,
            };
            Some(bits << BITS_A_CHAR | u64::from(value))
        })
        .map(|bits| bits | kind)
}

/// Writes the characters of a short id.
fn write_short(f: &mut fmt::Formatter<'_>, bits: u64) -> fmt::Result {
    let count = if bits & NEW == 0 { OLDER_CHARS } else { CHARS };
    let mut text = [0; CHARS];
    for (at, char) in text[..count].iter_mut().rev().enumerate() {
        let value = bits >> (at * BITS_A_CHAR) & 31;
        *char = ALPHABET[usize::try_from(value).map_err(|_| fmt::Error)?];
    }
    f.write_str(str::from_utf8(&text[..count]).map_err(|_| fmt::Error)?)
}

/// Deserializes an id from borrowed text, without a copy of it.
struct IdVisitor<I> {
    expected: &'static str,
    parse: fn(&str) -> Result<I, IdError>,
}

impl<I> Visitor<'_> for IdVisitor<I> {
    type Value = I;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<I, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

macro_rules! short_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$doc])*
        ///
        /// It is held as its bits: every process of a project holds thousands, and compares them with every event.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// Makes the id of these random bits; only the lowest 60 count.
            pub fn from_bits(bits: u64) -> Self {
                Self(bits & BITS_MASK | NEW)
            }

            /// Parses an id that a model wrote.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let rest = text.strip_prefix(concat!($prefix, "-"));
                rest.and_then(short_bits).map(Self).ok_or_else(|| IdError {
                    text: text.chars().take(64).collect(),
                    kind: $kind,
                    example: concat!($prefix, "-k3j7x2abq5wt"),
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($prefix, "-"))?;
                write_short(f, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdVisitor {
                    expected: concat!("a ", $kind, " id"),
                    parse: Self::parse,
                })
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

short_id!(
    /// A message on the bus.
    MessageId, "message", "msg"
);
short_id!(
    /// A request that members may claim.
    RequestId, "request", "req"
);
short_id!(
    /// Work assigned by an orchestrator.
    TaskId, "task", "task"
);
short_id!(
    /// An agent's question for permission.
    PermissionId, "permission", "perm"
);
short_id!(
    /// A workflow.
    WorkflowId, "workflow", "wf"
);
short_id!(
    /// A key for the HTTP API. It is no secret.
    KeyId, "key", "key"
);

/// One session of a member, from joining to leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One command. Its retries have the same id and count as the same command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub Uuid);

impl CommandId {
    /// Returns the id of the entry that is appended ahead of a command because both would not fit into one line.
    #[must_use]
    pub fn ahead(self) -> Self {
        Self(Uuid::from_u64_pair(self.bits(u32::MAX), self.bits(u32::MAX - 1)))
    }

    /// Returns the `index`-th run of bits that this id determines, for ids made while deciding.
    pub fn bits(&self, index: u32) -> u64 {
        let (high, low) = self.0.as_u64_pair();
        split_mix(low ^ split_mix(high) ^ split_mix(u64::from(index) + 1))
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): spreads every input bit over the whole word.
fn split_mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// One call of a tool, to which messages can be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Uuid);

impl CallId {
    /// Returns when it was made, in milliseconds since 1970, if it says so (UUID version 7, RFC 9562).
    pub fn made_ms(self) -> Option<i64> {
        let (seconds, nanos) = self.0.get_timestamp()?.to_unix();
        i64::try_from(seconds.checked_mul(1000)? + u64::from(nanos / 1_000_000)).ok()
    }
}

impl TaskId {
    /// Returns the id under which the transcript of a turn without a task stands: the turn that this call began with messages.
    pub fn of_turn_by(call: CallId) -> Self {
        Self::from_bits(call.0.as_u64_pair().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_reads_back() {
        let id = MessageId::from_bits(0x12_3456_789a);
        assert_eq!(id.to_string(), "msg-aaaaci2fm6e2");
        assert_eq!(id.to_string().len(), "msg-".len() + CHARS);
        assert_eq!(MessageId::parse(&id.to_string()), Ok(id.clone()));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{id}\""));
        assert_eq!(serde_json::from_str::<MessageId>(&json).unwrap(), id);
    }

    /// Ids as older versions wrote them, which are read for ever.
    #[test]
    fn an_id_of_an_older_version_reads_back_as_it_was_written() {
        for old in ["msg-aaaaaaab", "msg-k3j7x2ab", "msg-77777777"] {
            let id = MessageId::parse(old).unwrap();
            assert_eq!(id.to_string(), old);
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{old}\""));
            assert_ne!(MessageId::parse(&format!("msg-aaaa{}", &old[4..])).unwrap(), id);
        }
    }

    #[test]
    fn a_million_messages_have_a_million_ids() {
        let id = |number| MessageId::from_bits(CommandId(Uuid::from_u128(number)).bits(0));
        let all: std::collections::HashSet<_> = (0..1_000_000).map(id).collect();
        assert_eq!(all.len(), 1_000_000);
    }

    #[test]
    fn an_id_of_another_kind_is_refused_with_an_example() {
        let error = RequestId::parse("msg-aaaaaaaa").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"msg-aaaaaaaa\" is not a request id: one looks like `req-k3j7x2abq5wt`"
        );
        assert!(MessageId::parse("msg-AAAAAAAA").is_err());
        for wrong in ["msg-aaaaaaa", "msg-aaaaaaaaaa", "msg-aaaaaaaaaaaaa", "msg-aaaaaaa1"] {
            assert!(MessageId::parse(wrong).is_err(), "{wrong}");
        }
        assert!(MessageId::parse("msg-../../x").is_err());
    }

    #[test]
    fn bits_of_a_command_differ_by_index_and_by_command() {
        let (one, two) = (CommandId(Uuid::from_u128(1)), CommandId(Uuid::from_u128(2)));
        assert_eq!(one.bits(0), one.bits(0));
        assert_ne!(one.bits(0), one.bits(1));
        assert_ne!(one.bits(0), two.bits(0));
    }
}
