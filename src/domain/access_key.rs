//! Keys for the HTTP API: what a key may do, and how its secret is told from another text and compared.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The beginning of every secret, by which people and scanners of repositories recognize one.
const PREFIX: &str = "ctb_";

/// Random bytes of a secret.
pub const SECRET_BYTES: usize = 32;

/// One thing that a key may do. None of them includes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Read all that the team has said and done.
    Read,
    /// Be the member of the key's name: read its inbox, write messages, open and claim requests.
    Write,
    /// Assign tasks to live agents, as that member.
    Assign,
    /// Answer the permission questions of agents, as the user does.
    Answer,
}

impl KeyScope {
    /// All scopes, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Assign, Self::Answer];

    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Assign => "assign",
            Self::Answer => "answer",
        }
    }
}

/// Writes scopes for people, as `read, write`.
pub fn scopes_in_words(scopes: &[KeyScope]) -> String {
    let words: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
    words.join(", ")
}

/// Makes the secret of these random bytes.
pub fn secret_of(bytes: [u8; SECRET_BYTES]) -> String {
    format!("{PREFIX}{}", HEXLOWER.encode(&bytes))
}

/// Returns the hash of a text that has the form of a secret; none for any other text.
pub fn hash_of_secret(text: &str) -> Option<KeyHash> {
    let digits = text.strip_prefix(PREFIX)?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_secret = digits.len() == 2 * SECRET_BYTES && digits.bytes().all(is_digit);
    is_secret.then(|| KeyHash(HEXLOWER.encode(&Sha256::digest(text.as_bytes()))))
}

/// The SHA-256 of a secret, in lower-case hex digits.
///
/// Equality takes as long for every hash of this length.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(String);

impl Eq for KeyHash {}

impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.0.as_bytes(), other.0.as_bytes());
        let differs = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
        one.len() == other.len() && std::hint::black_box(differs) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_recognized_and_stored_as_its_sha_256() {
        let secret = secret_of([7; SECRET_BYTES]);
        assert_eq!(secret, format!("ctb_{}", "07".repeat(32)));
        let hash = hash_of_secret(&secret).unwrap();
        let stored = serde_json::to_value(&hash).unwrap();
        let digest = HEXLOWER.encode(&Sha256::digest(secret.as_bytes()));
        assert_eq!(stored, digest);
        let read: KeyHash = serde_json::from_value(stored).unwrap();
        assert_eq!(read, hash);
        assert_ne!(hash_of_secret(&secret_of([8; SECRET_BYTES])).unwrap(), hash);
        assert_ne!(KeyHash(String::new()), hash);
        assert_ne!(KeyHash(digest[..63].to_owned()), hash);
    }

    #[test]
    fn other_texts_are_no_secrets() {
        let secret = secret_of([0xab; SECRET_BYTES]);
        for text in
            ["", "ctb_", &secret[4..], &secret[..67], &format!("{secret}0"), &secret.to_uppercase()]
        {
            assert!(hash_of_secret(text).is_none(), "{text}");
        }
    }

    #[test]
    fn scopes_are_stored_as_their_words() {
        for scope in KeyScope::ALL {
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert_eq!(scopes_in_words(&[KeyScope::Read, KeyScope::Write]), "read, write");
    }
}
