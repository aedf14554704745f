//! The events that tell which claims hang on an answer, and which do no more.

use serde::{Deserialize, Serialize};

use super::Skip;
use crate::domain::ids::{CallId, RequestId, SessionId};

/// The claim of an agent hangs on the answer of this call, until that is proven to have been read or the agent writes about the request.
/// It comes with the claim, and again when a later call has claimed what the agent may not know to be its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnheardClaim {
    /// Whose call it is.
    pub session: SessionId,
    /// Which.
    pub call: CallId,
    /// What it has claimed.
    pub request: RequestId,
    /// Older versions leave the claim to the agent as long as its session lives.
    pub skip: Skip,
}

/// The agent has written about a request that it holds, so it knows of its claim: that hangs on no answer any more. What else that
/// answer brings is not proven by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenClaim {
    /// Whose claim it is.
    pub session: SessionId,
    /// Of what.
    pub request: RequestId,
    /// For older versions the claim hangs on its answer for longer.
    pub skip: Skip,
}
