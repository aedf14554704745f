//! Sessions that have not yet been shown all open requests that are meant for them: they have just joined, or come into a group.

use crate::bus::state::{Delivery, Message, Request, Session, State};
use crate::domain::ids::SessionId;
use crate::domain::messaging::Audience;

impl State {
    /// Returns the open requests that a session may claim and that have not been shown to it.
    pub(in crate::bus) fn not_shown_to<'a>(
        &'a self,
        newcomer: &'a Session,
    ) -> impl Iterator<Item = &'a Request> {
        let open = self.unanswered.open.keys();
        let lacks = |message: &Message| {
            let delivery = message.delivery(&newcomer.name);
            matches!(delivery, None | Some(Delivery::Superseded))
        };
        open.filter_map(|(_, id)| self.requests.get(id))
            .filter(|request| self.may_claim(newcomer, request))
            .filter(move |request| self.messages.get(&request.message).is_some_and(lacks))
    }

    pub(in crate::bus) fn newcomers(&self) -> impl Iterator<Item = SessionId> {
        self.newcomers.iter().copied()
    }

    /// Looks whether there are requests for a group that somebody has not been shown who is in it now.
    pub(in crate::bus::state) fn show_requests_of_groups(&mut self) {
        let is_for_group = |request: &Request| matches!(request.only, Some(Audience::Group(_)));
        if self.open_requests().any(is_for_group) {
            self.newcomers.extend(self.sessions.keys());
        }
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
