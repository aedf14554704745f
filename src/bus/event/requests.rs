//! The fields of request events: the request itself, and claims that depend on an answer that may not have been read.

use serde::{Deserialize, Serialize};

use super::{Addressees, Body, Skip};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::messaging::{Audience, Priority, Urgency};
use crate::domain::name::Name;

/// A request is open, and its message is in the inboxes of `to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOpened {
    pub id: RequestId,
    /// The id of the message that shows it.
    pub message: MessageId,
    pub from: Name,
    pub to: Addressees,
    /// Who alone sees and may claim it; everybody if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Audience>,
    pub description: Body,
    /// The knowledge so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Body>,
    /// Milliseconds after which the members are reminded of an unclaimed request.
    pub nudge_ms: u64,
    /// Milliseconds of open time after which it expires.
    pub ttl_ms: u64,
    /// Milliseconds without a sign of its owner after which a claim ends; none in requests of older versions, whose claims last as
    /// long as their sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How much it matters, if that is more or less than usual. Older versions show it as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
}

impl RequestOpened {
    /// Returns its priority.
    pub fn priority(&self) -> Priority {
        self.urgency.map_or(Priority::Normal, Urgency::priority)
    }

    /// Returns its audience as shown to readers.
    pub fn audience(&self) -> Audience {
        self.only.clone().unwrap_or(Audience::All)
    }

    /// Returns the length of description and context together.
    pub(in crate::bus) fn bytes(&self) -> u64 {
        let context = self.context.as_ref().map_or(0, Body::bytes);
        self.description.bytes().saturating_add(context)
    }
}

/// The claim of an agent depends on the answer of this call, until the answer is proven to have been read or the agent writes about the
/// request. The event comes with the claim, and again with a later claim of the same request while the agent may not know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnheardClaim {
    /// The session of the call.
    pub session: SessionId,
    pub call: CallId,
    /// The claimed request.
    pub request: RequestId,
    /// Older versions leave the claim to the agent as long as its session lives.
    pub skip: Skip,
}

/// The agent has written about a request that it holds, so it knows of its claim, which no longer depends on an answer. This proves
/// nothing else in that answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenClaim {
    /// The session of the claim.
    pub session: SessionId,
    pub request: RequestId,
    /// For older versions the claim depends on its answer for longer.
    pub skip: Skip,
}
