//! Where to find the requests that nobody has answered: those that are open in their order, and how many each member has. It
//! follows from the requests, and is not written down.

use std::collections::BTreeMap;

use super::{Chunked, Delivery, Message, Request, Session, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

/// The requests that are neither completed nor expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unanswered {
    /// The open ones, by the place of their message among all.
    open: Chunked<(u64, RequestId), ()>,
    /// How many a member has.
    of: BTreeMap<Name, usize>,
}

impl Unanswered {
    fn enter(&mut self, request: &Request) {
        if request.status == RequestStatus::Open {
            self.open.insert((request.seq, request.id.clone()), ());
        }
        if !request.status.is_final() {
            *self.of.entry(request.from.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, request: &Request) {
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

impl State {
    /// Takes in a request, in place of another of that id if there is one.
    pub(super) fn put_request(&mut self, request: Request) {
        if let Some(before) = self.requests.get(&request.id) {
            self.unanswered.remove(before);
        }
        self.unanswered.enter(&request);
        self.requests.insert(request.id.clone(), request);
    }

    /// Changes a request; says whether there is one.
    pub(super) fn change_request(
        &mut self,
        id: &RequestId,
        change: impl FnOnce(&mut Request),
    ) -> bool {
        let Some(request) = self.requests.get_mut(id) else {
            return false;
        };
        self.unanswered.remove(request);
        change(request);
        self.unanswered.enter(request);
        true
    }

    /// Forgets a request.
    pub(super) fn forget_request(&mut self, id: &RequestId) {
        if let Some(request) = self.requests.remove(id) {
            self.unanswered.remove(&request);
        }
    }

    /// Finds anew what follows from the requests. Those of older snapshots do not know the place of their message.
    pub(super) fn rebuild_unanswered(&mut self) {
        self.unanswered = Unanswered::default();
        let older = self.requests.values().filter(|request| request.seq == 0);
        let older: Vec<_> = older.map(|request| request.id.clone()).collect();
        for id in older {
            if let Some(request) = self.requests.get_mut(&id) {
                let message = self.messages.get(&request.message);
                request.seq = message.map_or(0, |message| message.seq);
            }
        }
        for request in self.requests.values() {
            self.unanswered.enter(request);
        }
    }

    /// Returns the requests that are open, oldest first.
    pub fn open_requests(&self) -> impl DoubleEndedIterator<Item = &Request> {
        let open = self.unanswered.open.keys();
        open.filter_map(|(_, id)| self.requests.get(id))
    }

    /// Returns how many requests a member has that nobody has completed and that have not expired.
    pub fn pending_requests(&self, name: &Name) -> usize {
        self.unanswered.of.get(name).copied().unwrap_or_default()
    }

    /// Returns the open requests that a session has not been shown although they are older than it.
    pub(in crate::bus) fn not_shown_to<'a>(
        &'a self,
        newcomer: &'a Session,
    ) -> impl Iterator<Item = &'a Request> {
        let open = self.unanswered.open.keys();
        let older = open.take_while(|(seq, _)| *seq < newcomer.since_seq);
        let lacks = |message: &Message| {
            let delivery = message.delivery(&newcomer.name);
            matches!(delivery, None | Some(Delivery::Superseded))
        };
        older
            .filter_map(|(_, id)| self.requests.get(id))
            .filter(|request| request.from != newcomer.name)
            .filter(move |request| self.messages.get(&request.message).is_some_and(lacks))
    }

    /// Returns the sessions that have not been shown all open requests that are older than they.
    pub(in crate::bus) fn newcomers(&self) -> impl Iterator<Item = SessionId> {
        self.newcomers.iter().copied()
    }

    /// Forgets of the newcomers those who have been shown everything.
    pub(super) fn look_after_newcomers(&mut self) {
        let mut newcomers = std::mem::take(&mut self.newcomers);
        newcomers.retain(|id| {
            let session = self.sessions.get(id);
            session.is_some_and(|session| self.not_shown_to(session).next().is_some())
        });
        self.newcomers = newcomers;
    }
}
