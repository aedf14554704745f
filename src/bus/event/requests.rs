//! What the events of requests store: the request itself, and which claims depend on an answer that may not have been read.

use serde::{Deserialize, Serialize};

use super::{Addressees, Body, Skip};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::name::Name;

/// A request is open, and its message is in the inboxes of `to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOpened {
    pub id: RequestId,
    /// The id of the message that shows it.
    pub message: MessageId,
    pub from: Name,
    pub to: Addressees,
    pub description: Body,
    /// What is known so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Body>,
    /// Milliseconds after which an unclaimed request is nudged.
    pub nudge_ms: u64,
    /// Milliseconds of open time after which it expires.
    pub ttl_ms: u64,
}

impl RequestOpened {
    /// Returns the length of description and context together.
    pub(in crate::bus) fn bytes(&self) -> u64 {
        let context = self.context.as_ref().map_or(0, Body::bytes);
        self.description.bytes().saturating_add(context)
    }
}

/// The claim of an agent depends on the answer of this call, until that is proven to have been read or the agent writes about the
/// request. The event comes with the claim, and again if a later call claims the same request while the agent may not know of its
/// claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnheardClaim {
    /// Whose call it is.
    pub session: SessionId,
    pub call: CallId,
    /// What it has claimed.
    pub request: RequestId,
    /// Older versions leave the claim to the agent as long as its session lives.
    pub skip: Skip,
}

/// The agent has written about a request that it holds, so it knows of its claim, which depends on no answer any more. Nothing
/// else in that answer is proven by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenClaim {
    /// Whose claim it is.
    pub session: SessionId,
    pub request: RequestId,
    /// For older versions the claim depends on its answer for longer.
    pub skip: Skip,
}
