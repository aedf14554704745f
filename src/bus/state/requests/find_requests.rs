//! Queries about requests: unanswered ones, and those that a session has claimed.

use crate::bus::state::{Request, Session, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::{Audience, RequestStatus};
use crate::domain::name::Name;

impl State {
    /// Returns a request, if the state still has it.
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.get(id)
    }

    /// Returns the open and the claimed requests.
    pub fn unanswered_requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(|request| !request.status.is_final())
    }

    /// Returns the ended requests that the state still has, the one that ended last first.
    pub fn newest_ended_requests(&self) -> impl Iterator<Item = &Request> {
        self.ended_requests.iter().rev().filter_map(|id| self.requests.get(id))
    }

    /// Returns the requests that a session has claimed and not answered.
    pub fn claimed_by(&self, session: SessionId) -> impl Iterator<Item = &Request> {
        let held = self.unanswered.claimed.get(&session).into_iter().flatten();
        held.filter_map(|id| self.requests.get(id))
    }

    /// Says whether an answer of this session to that member completes a request: the one owns it, the other has opened it.
    pub(in crate::bus) fn completes(&self, id: &RequestId, session: SessionId, to: &Name) -> bool {
        self.requests.get(id).is_some_and(|request| {
            let owner = request.owner.as_ref();
            request.status == RequestStatus::Claimed
                && owner.is_some_and(|owner| owner.session == session)
                && request.from == *to
        })
    }

    /// Returns the open requests, oldest first.
    pub fn open_requests(&self) -> impl DoubleEndedIterator<Item = &Request> {
        let open = self.unanswered.open.keys();
        open.filter_map(|(_, id)| self.requests.get(id))
    }

    /// Says whether a live session may claim a request, apart from its status: it is not its own, it is meant at this moment, and has a model
    /// that could do it.
    pub fn may_claim(&self, session: &Session, request: &Request) -> bool {
        let is_meant = match &request.only {
            None | Some(Audience::All) => true,
            Some(Audience::One(name)) => session.name == *name,
            Some(Audience::Elsewhere(_)) => false,
            Some(Audience::Group(group)) => {
                self.in_group(group).iter().any(|member| member.id == session.id)
            }
        };
        is_meant && request.from != session.name && self.offer_of(session.id).is_none()
    }

    /// Says whether a live session may know of a request: it is its own, it owns it or has owned it, it was shown it, or may claim it now.
    pub(in crate::bus) fn knows_request(&self, session: &Session, request: &Request) -> bool {
        let is_owner = request.owner.as_ref().is_some_and(|owner| owner.by == session.name);
        let shown = self.messages.get(&request.message);
        is_owner
            || request.from == session.name
            || shown.is_some_and(|message| message.is_visible_to(&session.name))
            || (request.status == RequestStatus::Open && self.may_claim(session, request))
    }

    /// Says whether a live session may learn how a request stands: it knows of it, or it is meant at this moment.
    pub(in crate::bus) fn may_hear_of(&self, session: &Session, request: &Request) -> bool {
        self.knows_request(session, request) || self.may_claim(session, request)
    }

    /// Returns the live members that may claim a request, apart from its status.
    pub fn claimants(&self, request: &Request) -> Vec<&Session> {
        let meant = match &request.only {
            None | Some(Audience::All) => self.readers(),
            Some(Audience::One(name)) => self.live(name).into_iter().collect(),
            Some(Audience::Group(group)) => self.in_group(group),
            // No request is for another project.
            Some(Audience::Elsewhere(_)) => Vec::new(),
        };
        meant.into_iter().filter(|session| request.from != session.name).collect()
    }

    /// Returns the number of a member's own unanswered requests.
    pub fn pending_requests(&self, name: &Name) -> usize {
        self.unanswered.of.get(name).copied().unwrap_or_default()
    }
}
