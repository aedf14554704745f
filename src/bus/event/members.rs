//! The fields of member events: agents that start, members that join, and what they say of themselves.

use serde::{Deserialize, Serialize};

use crate::domain::ids::SessionId;
use crate::domain::member::{Host, Label, MemberKind, ProcessMark, SessionNumber, Traits};
use crate::domain::name::Name;

/// An agent is about to be started by a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starting {
    /// The session that begins.
    pub session: SessionId,
    pub name: Name,
    /// Whether the name was chosen. If so, its mail waits for its return.
    pub chosen: bool,
    /// The profile from which it is started.
    pub profile: String,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub cwd: String,
    /// Its roles in the team.
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
    pub kind: MemberKind,
    /// The model that it claims to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its roles in the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Its process, for people.
    pub pid: u32,
    /// The client process of its MCP server, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ProcessMark>,
}

/// A session has its number, and has said who it is. It stands in the append with which the session begins.
///
/// Versions without this event must not pass over it: they do not know what later rules have decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    pub session: SessionId,
    pub number: SessionNumber,
    #[serde(flatten)]
    pub traits: Traits,
    /// Where its client works, if it joined by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where it runs, on a bus that several machines share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}

/// A session follows a topic from now on, or no longer does.
///
/// Versions without these events must not pass over them: they would send messages to other members than the rules have decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    pub session: SessionId,
    pub topic: Label,
}

/// A session owns a lane from now on, or no longer.
///
/// Versions without these events must not pass over them: they would take another session for the owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneMoved {
    pub session: SessionId,
    pub lane: Label,
}

/// An orchestrator leads from now on.
///
/// Versions without this event must not pass over it: they would give what is meant for it to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadTaken {
    pub session: SessionId,
    /// The session that led before and is still here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<SessionId>,
}
