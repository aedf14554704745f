//! What the events of members store: agents that start, and members that join.

use serde::{Deserialize, Serialize};

use crate::domain::ids::SessionId;
use crate::domain::member::{MemberKind, ProcessMark};
use crate::domain::name::Name;

/// An agent is about to be started by a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starting {
    /// The session that begins.
    pub session: SessionId,
    pub name: Name,
    /// Whether the name was chosen, so that its mail waits for its return.
    pub chosen: bool,
    /// The profile it is started from.
    pub profile: String,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub cwd: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The session of the bridge that holds it.
    pub owner: SessionId,
    /// SHA-256 of the token that its endpoints must show, as 64 hex digits.
    pub token_hash: String,
}

/// A member has joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The session that begins, or that `Starting` announced.
    pub session: SessionId,
    pub name: Name,
    /// Whether the name was chosen.
    pub chosen: bool,
    /// What kind of member it is.
    pub kind: MemberKind,
    /// The model it says it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Its process, for people.
    pub pid: u32,
    /// The process that its server serves, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ProcessMark>,
}
