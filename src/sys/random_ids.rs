//! The source of randomness: new ids.

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

/// Makes the name of a blob.
pub fn blob() -> Uuid {
    Uuid::now_v7()
}

/// Says whether a text is the name of a blob, as [`blob`] makes it.
pub fn is_blob(text: &str) -> bool {
    Uuid::parse_str(text).is_ok_and(|id| id.get_version_num() == 7 && id.to_string() == text)
}

/// Makes a token that cannot be guessed: 244 random bits as 64 hex digits.
pub fn token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}
