//! A request without its text, and the claim of whoever holds it.

use serde::{Deserialize, Serialize};

use crate::bus::state::BodyRef;
use crate::domain::ids::{MessageId, RequestId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

/// A request without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub id: RequestId,
    /// The message that shows it.
    pub message: MessageId,
    /// The place of that message among all; zero in what older versions wrote.
    #[serde(default)]
    pub seq: u64,
    pub from: Name,
    /// When, in wall time.
    pub opened_ms: i64,
    pub status: RequestStatus,
    /// Its owner, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Claim>,
    /// Where its text is.
    pub body: BodyRef,
    /// Milliseconds of open time that are left, while it is claimed.
    pub open_left_ms: u64,
    /// Milliseconds to the nudge that are left, while it is claimed; none when it was nudged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge_left_ms: Option<u64>,
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
            RequestStatus::Completed | RequestStatus::Expired => false,
        }
    }
}
