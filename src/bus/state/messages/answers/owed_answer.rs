//! An answer that a member, or somebody of a group, owes.

use serde::{Deserialize, Serialize};

use crate::domain::ids::MessageId;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;

/// An answer that a member owes, or somebody of a group: the first one counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedAnswer {
    /// The member that wants it.
    pub from: Name,
    /// To whom the message is addressed.
    pub audience: Audience,
    /// The members that have it; at least one.
    pub to: Vec<Name>,
    /// The first message of the thread.
    pub thread: MessageId,
    /// The seconds between two reminders.
    pub seconds: u64,
    /// The reminders so far.
    pub reminders: u32,
}
