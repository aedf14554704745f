//! How the events of requests change the state.

use crate::bus::event::RequestOpened;
use crate::bus::state::event_place::At;
use crate::bus::state::{Claim, Due, Lease, Likeness, Message, Request, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;

impl State {
    pub(in crate::bus::state) fn request_opened(&mut self, opened: &RequestOpened, at: &At) {
        let body = at.origin().body(opened.bytes());
        let request = Request {
            id: opened.id.clone(),
            message: opened.message.clone(),
            seq: at.seq,
            from: opened.from.clone(),
            only: opened.only.clone(),
            opened_ms: at.ts,
            status: RequestStatus::Open,
            owner: None,
            body,
            open_left_ms: opened.ttl_ms,
            nudge_left_ms: Some(opened.nudge_ms),
            lease: opened.lease_ms.map(Lease::of),
            lost_owners: 0,
        };
        self.timers.stop(&Due::Lease(opened.id.clone()));
        self.timers.stop(&Due::Reopen(opened.id.clone()));
        self.timers.start(Due::Nudge(opened.id.clone()), at.tick.ms, opened.nudge_ms);
        self.timers.start(Due::Expire(opened.id.clone()), at.tick.ms, opened.ttl_ms);
        self.put_request(request);
        self.note_request_pace(opened, at);
        let message = Message::opened(opened, at.origin());
        self.message_arrives(message, &opened.to);
    }

    /// Counts a request for the rate of its requester, and notes it as what that member sent last, if the team has a limit of that.
    fn note_request_pace(&mut self, opened: &RequestOpened, at: &At) {
        if self.limits.messages_per_minute > 0
            && let Some(member) = self.members.get_mut(&opened.from)
        {
            let audience = opened.audience();
            let likeness = Likeness::of_request(opened, &audience);
            let pace = member.pace.get_or_insert_default();
            pace.note((&opened.message, &likeness), &self.limits, at.tick.ms);
        }
    }

    /// Counts what a member has done to others for the rate of its messages, if the team has a limit of that.
    pub(in crate::bus::state) fn count_for_rate(&mut self, name: &Name, at: &At) {
        if self.limits.messages_per_minute > 0
            && let Some(member) = self.members.get_mut(name)
        {
            member.pace.get_or_insert_default().fill(&self.limits, at.tick.ms);
        }
    }

    pub(in crate::bus::state) fn request_claimed(
        &mut self,
        id: &RequestId,
        by: &Name,
        session: SessionId,
        at: &At,
    ) {
        let (nudge, expire) = (Due::Nudge(id.clone()), Due::Expire(id.clone()));
        let nudge_left_ms =
            self.timers.runs(&nudge).then(|| self.timers.left_ms(&nudge, at.tick.ms));
        let open_left_ms = self.timers.left_ms(&expire, at.tick.ms);
        let is_known = self.change_request(id, |request| {
            request.status = RequestStatus::Claimed;
            request.owner = Some(Claim { by: by.clone(), session, fence: at.seq });
            request.nudge_left_ms = nudge_left_ms;
            request.open_left_ms = open_left_ms;
        });
        if !is_known {
            return;
        }
        self.timers.stop(&nudge);
        self.timers.stop(&expire);
        self.timers.stop(&Due::Reopen(id.clone()));
        if let Some(owner) = self.sessions.get_mut(&session) {
            owner.note_call(at);
        }
        self.lease_runs(id, at, None);
    }

    /// Gives the claim of a request to another session.
    pub(in crate::bus::state) fn request_handed_over(
        &mut self,
        id: &RequestId,
        to: &Name,
        session: SessionId,
        at: &At,
    ) {
        if self.request(id).is_none_or(|request| request.status != RequestStatus::Claimed) {
            return;
        }
        self.end_unheard(id);
        self.change_request(id, |request| {
            request.owner = Some(Claim { by: to.clone(), session, fence: at.seq });
        });
        self.timers.stop(&Due::Reopen(id.clone()));
        if let Some(owner) = self.sessions.get_mut(&session) {
            owner.note_call(at);
        }
        self.lease_runs(id, at, None);
    }

    pub(in crate::bus::state) fn request_reopened(
        &mut self,
        id: &RequestId,
        (lost_owners, released): (u32, bool),
        at: &At,
    ) {
        self.end_unheard(id);
        let owner = self.request(id).and_then(|request| request.owner.clone());
        if let Some(owner) = owner.filter(|_| released) {
            self.count_for_rate(&owner.by, at);
        }
        self.timers.stop(&Due::Reopen(id.clone()));
        self.timers.stop(&Due::Lease(id.clone()));
        self.change_request(id, |request| {
            request.status = RequestStatus::Open;
            request.owner = None;
            request.lost_owners = request.lost_owners.max(lost_owners);
        });
        let Some(request) = self.requests.get(id) else {
            return;
        };
        if let Some(left) = request.nudge_left_ms {
            self.timers.start(Due::Nudge(id.clone()), at.tick.ms, left);
        }
        self.timers.start(Due::Expire(id.clone()), at.tick.ms, request.open_left_ms);
    }

    pub(in crate::bus::state) fn request_ended(&mut self, id: &RequestId, status: RequestStatus) {
        self.end_unheard(id);
        self.timers.stop(&Due::Nudge(id.clone()));
        self.timers.stop(&Due::Expire(id.clone()));
        self.timers.stop(&Due::Reopen(id.clone()));
        self.timers.stop(&Due::Lease(id.clone()));
        self.change_request(id, |request| request.status = status);
        let Some(request) = self.requests.get(id) else {
            return;
        };
        let message = request.message.clone();
        self.end_message_if_settled(&message);
        self.ended_requests.push_back(id.clone());
        while self.ended_requests.len() > limits::KEPT_ENDED {
            if let Some(oldest) = self.ended_requests.pop_front() {
                self.forget_request(&oldest);
            }
        }
    }
}
