//! A request as the ledger of the model knows it.

use crate::domain::ids::{MessageId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) from: Name,
    pub(super) message: MessageId,
    pub(super) status: RequestStatus,
    pub(super) owner: Option<SessionId>,
    pub(super) fence: u64,
    /// Whether claims have a lease, and their owner was reminded of it.
    pub(super) leased: bool,
    pub(super) reminded: bool,
    pub(super) lost_owners: u32,
}
