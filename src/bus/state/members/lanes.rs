//! Who owns a lane: the session that has claimed it, else, of those that say they do it, the one that is here longest. One that does not
//! respond comes after all others.
//!
//! So a lane has one owner or none, and is gone with its session.

use crate::bus::event::LaneMoved;
use crate::bus::state::event_place::At;
use crate::bus::state::{Session, State};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::is_same_word;

impl Session {
    /// Says whether it has claimed a lane, or says that it does it.
    pub fn does_lane(&self, lane: &str) -> bool {
        self.lanes.iter().chain(&self.traits.lane).any(|own| is_same_word(own.as_str(), lane))
    }

    pub(in crate::bus) fn has_claimed(&self, lane: &str) -> bool {
        self.lanes.iter().any(|own| is_same_word(own.as_str(), lane))
    }
}

impl State {
    /// Returns the owner of a lane.
    pub fn lane_owner(&self, lane: &str) -> Option<&Session> {
        let does = self.live_sessions().into_iter().filter(|session| session.does_lane(lane));
        // Of equal ones the first is taken, which is here longest.
        does.min_by_key(|session| (session.hung, !session.has_claimed(lane)))
    }

    /// Returns the lanes that a session owns.
    pub fn lanes_of<'a>(&'a self, session: &'a Session) -> impl Iterator<Item = &'a Label> {
        let lanes = session.lanes.iter().chain(&session.traits.lane);
        lanes.filter(|lane| self.lane_owner(lane.as_str()).is_some_and(|one| one.id == session.id))
    }

    /// Returns what a session owns: the ids of its requests, and its lanes as they are addressed.
    pub fn owned_by(&self, session: &Session) -> Vec<String> {
        let requests = self.claimed_by(session.id).map(|request| request.id.to_string());
        requests.chain(self.lanes_of(session).map(|lane| format!("@{lane}"))).collect()
    }

    pub(in crate::bus::state) fn lane_claimed(&mut self, claimed: &LaneMoved) {
        let Some(session) = self.sessions.get_mut(&claimed.session) else {
            return;
        };
        if !session.has_claimed(claimed.lane.as_str()) && session.lanes.len() < limits::LANES_OF_ONE
        {
            session.lanes.push(claimed.lane.clone());
        }
    }

    /// Takes a lane from a session, which counts for its rate.
    pub(in crate::bus::state) fn lane_released(&mut self, released: &LaneMoved, at: &At) {
        let Some(session) = self.sessions.get_mut(&released.session) else {
            return;
        };
        let is_other = |own: &Label| !is_same_word(own.as_str(), released.lane.as_str());
        session.lanes.retain(is_other);
        session.traits.lane = session.traits.lane.take().filter(is_other);
        let name = session.name.clone();
        self.count_for_rate(&name, at);
    }
}
