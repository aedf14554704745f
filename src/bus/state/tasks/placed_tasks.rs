//! What hosts offer, and the tasks that wait for them.

use crate::bus::event::{Event, TaskPlaced};
use crate::bus::state::event_place::At;
use crate::bus::state::{Placement, Session, State, size_bounds};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::{HostOffer, MemberKind};
use crate::domain::name::Name;

impl State {
    /// Returns what a session offers to start, if it is a host's bridge.
    pub fn offer_of(&self, session: SessionId) -> Option<&HostOffer> {
        self.offers.get(&session)
    }

    /// Returns the bridges of hosts with what they offer, in the order in which they joined.
    pub fn offers(&self) -> impl Iterator<Item = (&Session, &HostOffer)> {
        let mut offers: Vec<_> = self
            .offers
            .iter()
            .filter_map(|(session, offer)| Some((self.session(*session)?, offer)))
            .collect();
        offers.sort_by_key(|(session, _)| session.since_seq);
        offers.into_iter()
    }

    /// Says whether a member is the bridge of a host: it has no model, so it reads no messages and claims nothing.
    pub fn is_bridge_of_host(&self, name: &Name) -> bool {
        self.live(name).is_some_and(|live| self.offers.contains_key(&live.id))
    }

    /// Says whether a member that has stopped an agent is, or was, the bridge of a host: besides these only orchestrators stop any.
    pub fn stops_as_host(&self, name: &Name) -> bool {
        let left = || self.departed().rev().find(|left| left.name == *name);
        match self.live(name) {
            Some(live) => self.offers.contains_key(&live.id),
            None => left().is_some_and(|left| left.kind == MemberKind::Peer),
        }
    }

    /// Returns the live members that read messages.
    pub fn readers(&self) -> Vec<&Session> {
        let mut readers = self.live_sessions();
        readers.retain(|session| !self.offers.contains_key(&session.id));
        readers
    }

    /// Returns a task that waits for its host.
    pub fn placement(&self, id: &TaskId) -> Option<&Placement> {
        self.placements.get(id)
    }

    /// Returns the tasks that wait for a host.
    pub fn placements(&self) -> impl Iterator<Item = &Placement> {
        self.placements.values()
    }

    /// Returns why a host has not started the agent for a task, as long as that is kept.
    pub fn why_not_placed(&self, id: &TaskId) -> Option<&str> {
        let refused = self.unplaced.iter().find(|(refused, _)| refused == id);
        refused.map(|(_, why)| why.as_str())
    }

    pub(in crate::bus::state) fn placement_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::HostOffered { session, offer, .. } => self.host_offered(*session, offer),
            Event::TaskPlaced(placed) => self.task_placed(placed, at),
            Event::PlacementEnded { id, why, .. } => {
                if self.placements.remove(id).is_some() {
                    let why = size_bounds::words(why);
                    self.unplaced.push_back((id.clone(), why));
                }
                while self.unplaced.len() > limits::KEPT_REFUSALS {
                    self.unplaced.pop_front();
                }
            }
            _ => {}
        }
    }

    fn host_offered(&mut self, session: SessionId, offer: &HostOffer) {
        if self.sessions.contains_key(&session) {
            let mut offer = offer.clone();
            offer.profiles.truncate(limits::MAX_OFFERED);
            offer.whom.truncate(limits::MAX_OFFERED);
            self.offers.insert(session, offer);
        }
    }

    fn task_placed(&mut self, placed: &TaskPlaced, at: &At) {
        let ends = [placed.with, placed.asker];
        if !ends.iter().all(|session| self.sessions.contains_key(session)) {
            return;
        }
        let placement = Placement {
            id: placed.id.clone(),
            with: placed.with,
            asker: placed.asker,
            by: placed.by.clone(),
            profile: placed.profile.clone(),
            name: placed.name.clone(),
            model: size_bounds::name(placed.model.as_ref(), limits::MODEL_BYTES),
            cwd: placed.cwd.clone(),
            permissions: placed.permissions,
            priority: placed.priority,
            prompt: at.body(&placed.prompt),
            step: placed.step.clone(),
        };
        self.placements.insert(placed.id.clone(), placement);
    }

    /// Forgets the offer of a session that leaves, and the tasks that wait for it or that it waits for.
    pub(in crate::bus::state) fn placements_left_by(&mut self, session: SessionId) {
        self.offers.remove(&session);
        self.placements.retain(|_, placed| placed.with != session && placed.asker != session);
    }
}
