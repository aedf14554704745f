//! Names of members: which texts are names, and when two names are the same.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name: it becomes part of a prompt line and of a status table.
pub const MAX_NAME_BYTES: usize = 64;

/// Words that address something other than a member.
const RESERVED: [&str; 5] = ["all", "*", "human", "bridge", "you"];

/// Words by which others than a member of that name are addressed: with `@`, or in what people say. A bus of an earlier version may
/// have such a member.
const MEANING_OTHERS: [&str; 3] = ["lead", "project", "user"];

/// The name of a member: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
///
/// Two names that differ in case only are the same name: they compare, order and hash as equal. A clone shares the text.
#[derive(Clone, Debug)]
pub struct Name(Arc<str>);

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty, too long, or has a character that a name may not have.
    #[error(
        "{0:?} is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with \
            a letter or digit"
    )]
    Malformed(String),
    /// The word has a meaning of its own.
    #[error("`{0}` is reserved: choose another name")]
    Reserved(String),
}

impl Name {
    /// Parses a name that a member, a profile or a step may get.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = Self::stored(text)?;
        let bare = bare(text);
        let is_reserved = RESERVED.iter().any(|word| word.eq_ignore_ascii_case(bare));
        if is_reserved || is_like_a_session(bare) {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(name)
    }

    /// Parses a name that is stored. It may be one that nobody gets any more, as long as nobody takes it for everybody, the bridge or
    /// the user.
    pub fn stored(text: &str) -> Result<Self, NameError> {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let bytes = text.as_bytes();
        if bytes.is_empty()
            || bytes.len() > MAX_NAME_BYTES
            || !bytes[0].is_ascii_alphanumeric()
            || !bytes.iter().copied().all(word)
        {
            if RESERVED.contains(&text) {
                return Err(NameError::Reserved(text.to_owned()));
            }
            let shown: String = text.chars().take(MAX_NAME_BYTES + 1).collect();
            return Err(NameError::Malformed(shown));
        }
        if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text)) {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// Returns the name as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Says whether the word means the lead, the user or everybody, so that no new member gets it.
    pub fn means_others(&self) -> bool {
        let bare = bare(&self.0);
        MEANING_OTHERS.iter().any(|word| word.eq_ignore_ascii_case(bare))
    }

    /// Says whether it is what the bridge calls an agent of this profile: the same, or with a number appended.
    pub fn is_like(&self, profile: &str) -> bool {
        let Some((base, tail)) = self.0.split_at_checked(profile.len()) else {
            return false;
        };
        let is_number = |tail: &str| {
            let digits = tail.strip_prefix('-').unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        base.eq_ignore_ascii_case(profile) && (tail.is_empty() || is_number(tail))
    }

    /// Returns this name with a number appended, shortened if needed to stay a name: `codex-2`.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        self.with_tail(&format!("-{number}"))
    }

    /// Returns the name of one item of the step with this name, shortened if needed to stay a name: `fix.2`.
    #[must_use]
    pub fn item(&self, number: u32) -> Self {
        self.with_tail(&format!(".{number}"))
    }

    fn with_tail(&self, tail: &str) -> Self {
        let keep = self.0.len().min(MAX_NAME_BYTES - tail.len());
        Self(format!("{}{tail}", &self.0[..keep]).into())
    }
}

/// Returns a word without the signs at its end, which a reader takes for those of the sentence: `lead.` for `lead`.
fn bare(text: &str) -> &str {
    text.trim_end_matches(['.', '_', '-'])
}

/// `s` with digits alone stands for a session, never for a new member.
fn is_like_a_session(text: &str) -> bool {
    let digits = text.strip_prefix(['s', 'S']);
    digits.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.0.bytes().zip(other.0.bytes());
        for (one, other) in pairs {
            let order = one.to_ascii_lowercase().cmp(&other.to_ascii_lowercase());
            if order.is_ne() {
                return order;
            }
        }
        self.0.len().cmp(&other.0.len())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_ascii_lowercase().hash(state);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

/// Deserializes a name from borrowed text, without a copy of it.
struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
        Name::stored(text).map_err(E::custom)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words_of_limited_length() {
        for good in ["codex", "codex-2", "A.b_c-d", "0", "s", "s1a", "a".repeat(64).as_str()] {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in
            ["", ".", "-a", "../../x", "a/b", "a b", "a\0", "a\n", "кодекс", "\u{202e}abc", &long]
        {
            assert!(matches!(Name::parse(bad), Err(NameError::Malformed(_))), "{bad}");
        }
    }

    #[test]
    fn reserved_words_are_refused_in_any_case() {
        for word in ["all", "ALL", "*", "human", "Bridge", "you", "s12", "S0", "human.", "You-_"] {
            assert_eq!(Name::parse(word), Err(NameError::Reserved(word.to_owned())));
        }
    }

    #[test]
    fn a_stored_name_may_be_one_that_nobody_gets_any_more() {
        let read = |text: &str| serde_json::from_value::<Name>(text.into());
        for text in ["s1", "S007", "codex"] {
            assert_eq!(read(text).unwrap().as_str(), text);
        }
        for text in ["all", "Bridge", "human", "two words", ""] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_that_differ_in_case_are_equal() {
        let (lower, upper) = (Name::parse("codex").unwrap(), Name::parse("CODEX").unwrap());
        assert_eq!(lower, upper);
        assert_eq!(lower.cmp(&upper), Ordering::Equal);
        assert_eq!(upper.as_str(), "CODEX");
    }

    #[test]
    fn a_numbered_name_is_still_a_name() {
        let long = Name::parse(&"a".repeat(64)).unwrap();
        assert!(Name::parse(long.numbered(12).as_str()).is_ok());
    }
}
