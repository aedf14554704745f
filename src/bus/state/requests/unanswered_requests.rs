//! An index of the unanswered requests: the open ones in their order, those that each session has claimed, and the number that each
//! member has opened. It follows from the requests, and is not stored.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::state::{Chunked, Request};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

/// The requests that are neither completed nor expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::bus) struct Unanswered {
    /// The open ones, by the seq of their message.
    pub(super) open: Chunked<(u64, RequestId), ()>,
    /// How many each member has opened.
    pub(super) of: BTreeMap<Name, usize>,
    /// Those that each session has claimed.
    pub(super) claimed: BTreeMap<SessionId, BTreeSet<RequestId>>,
}

/// Returns the session that has claimed a request.
fn holder(request: &Request) -> Option<SessionId> {
    let is_claimed = request.status == RequestStatus::Claimed;
    request.owner.as_ref().filter(|_| is_claimed).map(|owner| owner.session)
}

impl Unanswered {
    pub(super) fn enter(&mut self, request: &Request) {
        if request.status == RequestStatus::Open {
            self.open.insert((request.seq, request.id.clone()), ());
        }
        if let Some(holder) = holder(request) {
            self.claimed.entry(holder).or_default().insert(request.id.clone());
        }
        if !request.status.is_final() {
            *self.of.entry(request.from.clone()).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, request: &Request) {
        self.open.remove(&(request.seq, request.id.clone()));
        if let Some(holder) = holder(request)
            && let Some(held) = self.claimed.get_mut(&holder)
        {
            held.remove(&request.id);
            if held.is_empty() {
                self.claimed.remove(&holder);
            }
        }
        if !request.status.is_final()
            && let Some(count) = self.of.get_mut(&request.from)
        {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&request.from);
            }
        }
    }
}
