//! A request without its text, and its claim.

use serde::{Deserialize, Serialize};

use crate::bus::state::{BodyRef, Lease};
use crate::domain::ids::{MessageId, RequestId, SessionId};
use crate::domain::is_zero::is_zero;
use crate::domain::messaging::{Audience, RequestStatus};
use crate::domain::name::Name;

/// A request without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub id: RequestId,
    /// The message that shows it.
    pub message: MessageId,
    /// The seq of that message; zero in states of older versions.
    #[serde(default)]
    pub seq: u64,
    pub from: Name,
    /// Who alone sees and may claim it; everybody if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Audience>,
    /// In wall time.
    pub opened_ms: i64,
    pub status: RequestStatus,
    /// Its owner, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Claim>,
    pub body: BodyRef,
    /// The remaining milliseconds of open time, while it is claimed.
    pub open_left_ms: u64,
    /// The remaining milliseconds to the nudge, while it is claimed; none after the nudge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_left_ms: Option<u64>,
    /// How long a claim lasts without a sign of its owner; without end in requests of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// How many of its owners were lost: they died, stopped responding, or let their lease run out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_owners: u32,
}

/// The claim of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub by: Name,
    pub session: SessionId,
    /// The claim's own seq: a later claim of the same request has a higher one.
    pub fence: u64,
}

impl Request {
    /// Says whether the request can be claimed once a session has left.
    pub(in crate::bus) fn is_offered_after(&self, gone: SessionId) -> bool {
        match self.status {
            RequestStatus::Open => true,
            RequestStatus::Claimed => {
                self.owner.as_ref().is_some_and(|owner| owner.session == gone)
            }
            RequestStatus::Completed | RequestStatus::Expired | RequestStatus::Failed => false,
        }
    }
}
