//! An index of the unanswered requests: the open ones in their order, and the number that each member has opened. It follows from
//! the requests, and is not stored.

use std::collections::BTreeMap;

use crate::bus::state::{Chunked, Request};
use crate::domain::ids::RequestId;
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

/// The requests that are neither completed nor expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::bus) struct Unanswered {
    /// The open ones, by the seq of their message.
    pub(super) open: Chunked<(u64, RequestId), ()>,
    /// How many each member has opened.
    pub(super) of: BTreeMap<Name, usize>,
}

impl Unanswered {
    pub(super) fn enter(&mut self, request: &Request) {
        if request.status == RequestStatus::Open {
            self.open.insert((request.seq, request.id.clone()), ());
        }
        if !request.status.is_final() {
            *self.of.entry(request.from.clone()).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, request: &Request) {
        self.open.remove(&(request.seq, request.id.clone()));
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
