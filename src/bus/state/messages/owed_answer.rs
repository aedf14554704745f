//! An answer that a member owes.

use serde::{Deserialize, Serialize};

use crate::domain::ids::MessageId;
use crate::domain::name::Name;

/// An answer that a member owes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedAnswer {
    /// The member that wants it.
    pub from: Name,
    /// The member that owes it.
    pub to: Name,
    /// The first message of the thread.
    pub thread: MessageId,
    /// The seconds between two reminders.
    pub seconds: u64,
    /// The reminders so far.
    pub reminders: u32,
}
