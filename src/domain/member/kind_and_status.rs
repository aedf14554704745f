//! The kinds, activities and departures of the sessions on the bus.

use serde::{Deserialize, Serialize};

/// What kind of member a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberKind {
    /// Spawned by a bridge.
    Agent,
    Peer,
    /// Has the orchestrator's tools.
    Orchestrator,
}

impl MemberKind {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Peer => "peer",
            Self::Orchestrator => "orchestrator",
        }
    }
}

/// The role of an orchestrator that leads a plan and has no model, and so never reads its mail.
pub const PLAN_ROLE: &str = "plan";

/// What an agent is doing, as reported by its bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The process runs; its session or its tools are not ready.
    Starting,
    Idle,
    Running,
    Stopping,
}

impl Activity {
    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Stopping => "stopping",
        }
    }
}

/// A process, identified for ever: a pid is used again, a pid with its start time is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    pub pid: u32,
    /// When it started, in clock ticks since boot; `None` where the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
}

/// Whether an agent has the tools of our endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tools {
    Unproven,
    /// The endpoint has answered `tools/list`.
    Ready,
    /// The endpoint did not answer in time: messages go by prompt only.
    Missing,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departure {
    Closed,
    /// An orchestrator asked for it.
    Stopped,
    /// The program ended by itself or could not be started.
    Failed,
    /// Its process no longer holds its presence.
    Dead,
}

impl Departure {
    /// The detail of a stop that was to be at once.
    pub const KILLED: &str = "killed";

    /// Returns the word for it, and the detail as far as that says more.
    pub fn with_detail(self, detail: Option<&str>) -> (&'static str, Option<&str>) {
        match detail {
            Some(Self::KILLED) if self == Self::Stopped => (Self::KILLED, None),
            detail => (self.as_str(), detail),
        }
    }

    /// Says whether mail for a generated name waits until a session takes the name again. It does not after a requested stop: there the
    /// senders had better be notified at once.
    pub fn leaves_mail_waiting(self, kind: MemberKind) -> bool {
        !(kind == MemberKind::Agent && self == Self::Stopped)
    }

    /// Returns the word that tools show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }
}
