//! How the events of permission questions change the state: the first answer counts.

use crate::bus::event::{Event, PermissionAnswered, PermissionAsked};
use crate::bus::state::event_place::At;
use crate::bus::state::{Due, Permission, PermissionAnswer, State};
use crate::domain::ids::{PermissionId, SessionId};
use crate::domain::limits;
use crate::domain::permission::{Decider, Decision};

impl State {
    /// Returns a permission question, if the state still has it.
    pub fn permission(&self, id: &PermissionId) -> Option<&Permission> {
        self.permissions.get(id)
    }

    /// Returns the unanswered questions, oldest first.
    pub fn open_permissions(&self) -> Vec<&Permission> {
        let mut open: Vec<_> =
            self.permissions.values().filter(|permission| permission.answer.is_none()).collect();
        open.sort_by_key(|permission| permission.seq);
        open
    }

    /// Returns the unanswered questions of a session, oldest first.
    pub fn open_permissions_of(&self, session: SessionId) -> Vec<&Permission> {
        let mut open = self.open_permissions();
        open.retain(|permission| permission.question.session == session);
        open
    }

    /// Returns the newest question of a session, answered or not, if the state still has it.
    pub fn newest_permission_of(&self, session: SessionId) -> Option<&Permission> {
        let all = self.permissions.values();
        let of_it = all.filter(|permission| permission.question.session == session);
        of_it.max_by_key(|permission| permission.seq)
    }

    pub(in crate::bus::state) fn permission_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::PermissionAsked(asked) => self.permission_asked(asked, at),
            Event::PermissionNotified { id, notice } => {
                if let Some(permission) = self.permissions.get_mut(id) {
                    permission.notice = Some(notice.clone());
                }
            }
            Event::PermissionAnswered(answered) => self.permission_answered(answered),
            _ => {}
        }
    }

    fn permission_asked(&mut self, asked: &PermissionAsked, at: &At) {
        if self.permissions.contains_key(&asked.id) {
            return;
        }
        let permission = Permission {
            id: asked.id.clone(),
            seq: at.seq,
            question: asked.question.clone(),
            offers: asked.offers.clone(),
            asked_ms: at.ts,
            timeout_ms: asked.timeout_ms,
            notice: None,
            answer: None,
        };
        let due = Due::Permission(asked.id.clone());
        self.timers.start(due, at.tick.ms, asked.timeout_ms);
        self.permissions.insert(asked.id.clone(), permission);
    }

    fn permission_answered(&mut self, answered: &PermissionAnswered) {
        let answer = PermissionAnswer {
            decision: answered.decision,
            by: answered.by,
            name: answered.name.clone(),
            lasts: answered.lasts,
        };
        self.answer(&answered.id, answer);
    }

    /// Ends the questions of an agent that has left.
    pub(in crate::bus::state) fn permissions_end(&mut self, session: SessionId) {
        let open: Vec<_> = self
            .open_permissions_of(session)
            .iter()
            .map(|permission| permission.id.clone())
            .collect();
        for id in open {
            let answer = PermissionAnswer {
                decision: Decision::Cancelled,
                by: Decider::Ended,
                name: None,
                lasts: false,
            };
            self.answer(&id, answer);
        }
    }

    fn answer(&mut self, id: &PermissionId, answer: PermissionAnswer) {
        self.timers.stop(&Due::Permission(id.clone()));
        let Some(permission) = self.permissions.get_mut(id) else {
            return;
        };
        if permission.answer.is_some() {
            return;
        }
        permission.answer = Some(answer);
        self.ended_permissions.push_back(id.clone());
        while self.ended_permissions.len() > limits::KEPT_PERMISSIONS {
            if let Some(oldest) = self.ended_permissions.pop_front() {
                self.permissions.remove(&oldest);
            }
        }
    }
}
