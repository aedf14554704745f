//! Ids: short ones that models see, uuids for sessions and commands.
//!
//! Ids are made by `sys` or derived from a command's id; nothing here is random by itself.

use std::fmt;
use std::sync::LazyLock;

use data_encoding::{Encoding, Specification};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Random bytes behind a short id.
const SHORT_BYTES: usize = 5;

/// The base32 characters that they make.
const SHORT_CHARS: usize = 8;

/// The bits of these bytes.
const SHORT_MASK: u64 = (1 << (8 * SHORT_BYTES)) - 1;

/// Lower-case base32 without padding, so that ids are easy to read and to type. Made once: its tables cost more than an id.
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification
        .symbols
        .push_str("abcdefghijklmnopqrstuvwxyz234567");
    specification
        .encoding()
        .expect("the alphabet has 32 distinct symbols")
});

/// Why a text is not an id of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind} id: one looks like `{example}`")]
pub struct IdError {
    text: String,
    kind: &'static str,
    example: &'static str,
}

/// Reads the 8 characters of a short id.
fn short_bits(text: &str) -> Option<u64> {
    let mut bytes = [0; 8];
    let short = &mut bytes[8 - SHORT_BYTES..];
    let fits =
        text.len() == SHORT_CHARS && BASE32.decode_mut(text.as_bytes(), short) == Ok(SHORT_BYTES);
    fits.then(|| u64::from_be_bytes(bytes))
}

/// Reads an id out of a text where that stands, without a copy of it.
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
            /// Makes the id that these random bits stand for (the lowest 40 are used).
            pub fn from_bits(bits: u64) -> Self {
                Self(bits & SHORT_MASK)
            }

            /// Parses an id as a model wrote it.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let rest = text.strip_prefix(concat!($prefix, "-"));
                rest.and_then(short_bits).map(Self).ok_or_else(|| IdError {
                    text: text.chars().take(64).collect(),
                    kind: $kind,
                    example: concat!($prefix, "-k3j7x2ab"),
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; SHORT_CHARS];
                BASE32.encode_mut(&self.0.to_be_bytes()[8 - SHORT_BYTES..], &mut text);
                f.write_str(concat!($prefix, "-"))?;
                f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
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

/// One life of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Uuid);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One command; the same id is the same command, however often it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub Uuid);

impl CommandId {
    /// Returns the `index`-th run of bits that follows from this id alone, for ids made while deciding.
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

/// One call of a tool: what a message was handed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Uuid);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_reads_back() {
        let id = MessageId::from_bits(0x12_3456_789a);
        assert_eq!(id.to_string().len(), "msg-".len() + 8);
        assert_eq!(MessageId::parse(&id.to_string()), Ok(id.clone()));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{id}\""));
        assert_eq!(serde_json::from_str::<MessageId>(&json).unwrap(), id);
    }

    #[test]
    fn an_id_of_another_kind_is_refused_with_an_example() {
        let error = RequestId::parse("msg-aaaaaaaa").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"msg-aaaaaaaa\" is not a request id: one looks like `req-k3j7x2ab`"
        );
        assert!(MessageId::parse("msg-AAAAAAAA").is_err());
        assert!(MessageId::parse("msg-aaaaaaa").is_err());
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
