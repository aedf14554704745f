//! The event that tells which claims hang on an answer.

use serde::{Deserialize, Serialize};

use super::Skip;
use crate::domain::id::{CallId, RequestId, SessionId};

/// The claim of an agent hangs on the answer of this call, until that is proven to have been read or the agent acts on the request.
/// It comes with the claim, and again when a later call has claimed what the agent may not know to be its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unheard {
    /// Whose call it is.
    pub session: SessionId,
    /// Which.
    pub call: CallId,
    /// What it has claimed.
    pub request: RequestId,
    /// Older versions leave the claim to the agent as long as its session lives.
    pub skip: Skip,
}
