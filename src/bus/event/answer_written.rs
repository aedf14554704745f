//! The event that tells which answers were written.

use serde::{Deserialize, Serialize};

use super::Skip;
use crate::domain::ids::{CallId, SessionId};

/// The answer with what a call was handed has been written to its client, whole. It proves nothing by itself; without it the end of
/// a turn and the next hook prove nothing either.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerWritten {
    /// Whose call it is.
    pub session: SessionId,
    /// Which.
    pub call: CallId,
    /// Older versions take all that was handed over for written.
    pub skip: Skip,
}
