//! The SHA-256 of a text: what proves that a text in a file of its own is the one that was stored.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a text, in 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash(String);

/// Why a text is no such hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 in 64 lower-case hexadecimal digits")]
pub struct NoContentHash;

impl ContentHash {
    /// Computes the hash of a text.
    pub fn of(text: &str) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(text.as_bytes())))
    }
}

/// Computes the hash of a text that is read in parts.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(Sha256);

impl ContentHasher {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all bytes so far.
    pub fn hash(self) -> ContentHash {
        ContentHash(HEXLOWER.encode(&self.0.finalize()))
    }
}

impl TryFrom<String> for ContentHash {
    type Error = NoContentHash;

    fn try_from(text: String) -> Result<Self, NoContentHash> {
        match HEXLOWER.decode(text.as_bytes()) {
            Ok(bytes) if bytes.len() == 32 => Ok(Self(text)),
            _ => Err(NoContentHash),
        }
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_digits_and_nothing_else_is_one() {
        let hash = ContentHash::of("abc");
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(String::from(hash.clone()), digits);
        let stored = serde_json::to_value(&hash).unwrap();
        assert_eq!(serde_json::from_value::<ContentHash>(stored).unwrap(), hash);
        for wrong in ["", &digits[1..], &digits.to_uppercase(), &format!("{digits}00")] {
            assert_eq!(ContentHash::try_from(wrong.to_owned()), Err(NoContentHash), "{wrong}");
        }
    }
}
