//! Sessions that have not yet been shown all requests that were open when they joined.

use crate::bus::state::{Delivery, Message, Request, Session, State};
use crate::domain::ids::SessionId;

impl State {
    /// Returns the open requests that are older than a session and have not been shown to it.
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
            .filter(|request| self.may_claim(newcomer, request))
            .filter(move |request| self.messages.get(&request.message).is_some_and(lacks))
    }

    pub(in crate::bus) fn newcomers(&self) -> impl Iterator<Item = SessionId> {
        self.newcomers.iter().copied()
    }

    /// Forgets the newcomers that have been shown all requests.
    pub(in crate::bus::state) fn forget_served_newcomers(&mut self) {
        let mut newcomers = std::mem::take(&mut self.newcomers);
        newcomers.retain(|id| {
            let session = self.sessions.get(id);
            session.is_some_and(|session| self.not_shown_to(session).next().is_some())
        });
        self.newcomers = newcomers;
    }
}
