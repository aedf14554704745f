//! The source of randomness: new ids.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::domain::ids::{CallId, CommandId, SessionId};

/// Makes a session id.
pub fn session() -> SessionId {
    SessionId(Uuid::now_v7())
}

/// Makes a command id.
pub fn command() -> CommandId {
    CommandId(Uuid::now_v7())
}

/// Makes a call id.
pub fn call() -> CallId {
    CallId(Uuid::now_v7())
}

/// Makes a call id that shows in which conversation of a client the call was made.
pub fn call_in(conversation: &str) -> CallId {
    let mut bytes = Uuid::now_v7().into_bytes();
    bytes[CONVERSATION].copy_from_slice(&mark_of(conversation));
    CallId(Uuid::from_bytes(bytes))
}

/// Says whether a call was made in that conversation, by [`call_in`].
pub fn is_in(call: CallId, conversation: &str) -> bool {
    call.0.as_bytes()[CONVERSATION] == mark_of(conversation)
}

/// Where a call id has the mark of its conversation. Time and random bits stand before it.
const CONVERSATION: std::ops::Range<usize> = 10..16;

fn mark_of(conversation: &str) -> [u8; 6] {
    let digest = Sha256::digest(conversation);
    std::array::from_fn(|at| digest[at])
}

/// Makes the name of a blob.
pub fn blob() -> Uuid {
    Uuid::now_v7()
}

/// Says whether a text is the name of a blob, as [`blob`] makes it.
pub fn is_blob(text: &str) -> bool {
    Uuid::parse_str(text).is_ok_and(|id| id.get_version_num() == 7 && id.to_string() == text)
}

/// Makes 256 random bits.
pub fn secret() -> [u8; 32] {
    let mut secret = [0; 32];
    // An id of version 4 has six fixed bits, in its bytes 6 and 8: the others are random.
    for part in secret.chunks_mut(RANDOM_BYTES) {
        let id = Uuid::new_v4().into_bytes();
        let random = id.iter().enumerate().filter(|(at, _)| !matches!(at, 6 | 8));
        for (byte, (_, random)) in part.iter_mut().zip(random) {
            *byte = *random;
        }
    }
    secret
}

/// The bytes of an id of version 4 of which every bit is random.
const RANDOM_BYTES: usize = 14;

/// Makes a token that cannot be guessed: 244 random bits as 64 hex digits.
pub fn token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bit is one in about half of the secrets: 300 of 1,000 are twelve standard deviations away from that.
    #[test]
    fn every_bit_of_a_secret_is_random() {
        let mut ones = [0; 256];
        for _ in 0..1_000 {
            let secret = secret();
            for (at, ones) in ones.iter_mut().enumerate() {
                *ones += u32::from(secret[at / 8] >> (at % 8) & 1);
            }
        }
        assert!(ones.iter().all(|ones| (300..700).contains(ones)), "{ones:?}");
    }
}
