//! A word of a party that is written by the same decision.

use crate::domain::ids::MessageId;
use crate::domain::name::Name;

/// A message of a party that the state does not have yet.
pub(super) struct Newest<'a> {
    pub(super) by: &'a Name,
    pub(super) id: &'a MessageId,
    /// Who gets it anyway.
    pub(super) to: &'a [Name],
    pub(super) is_position: bool,
}
