//! What others ask about requests: which are unanswered, and who holds them.

use crate::bus::state::{Request, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

impl State {
    /// Returns a request, if the state still has it.
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.get(id)
    }

    /// Returns the requests that are open or claimed.
    pub fn unanswered_requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(|request| !request.status.is_final())
    }

    /// Returns the requests that a session holds.
    pub fn claimed_by(&self, session: SessionId) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(move |request| {
            request.status == RequestStatus::Claimed
                && request.owner.as_ref().is_some_and(|owner| owner.session == session)
        })
    }

    /// Returns the requests that are open, oldest first.
    pub fn open_requests(&self) -> impl DoubleEndedIterator<Item = &Request> {
        let open = self.unanswered.open.keys();
        open.filter_map(|(_, id)| self.requests.get(id))
    }

    /// Returns how many unanswered requests a member has.
    pub fn pending_requests(&self, name: &Name) -> usize {
        self.unanswered.of.get(name).copied().unwrap_or_default()
    }
}
