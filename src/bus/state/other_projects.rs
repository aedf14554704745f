//! Messages from project to project: which projects there are, what is on its way, and what has arrived.
//!
//! A message to another project waits in the queue of its own bus: its outbox. A courier writes it to the other bus with its origin,
//! and then notes here that it is relayed.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::bus::event::ProjectsListed;
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{
    DirectoryMark, HeldWhy, MessageOrigin, OriginPlace, ReceiptElsewhere,
};

/// What a bus knows of other projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherProjects {
    /// The tag of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Label>,
    /// The tags of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Label>,
    /// Which directories they mean. What the first versions listed has none: nothing is taken there before a session lists them again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub known: BTreeMap<Label, KnownProject>,
    /// What tells this bus from one that was made anew in its place: the session that first listed projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<SessionId>,
    /// Messages to other projects of which more is known than that they wait, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) crossed: VecDeque<Crossed>,
    /// The last messages that arrived from other projects, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) arrived: VecDeque<Arrived>,
}

/// Another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownProject {
    /// Where it is.
    pub mark: DirectoryMark,
    /// The seq of the event since which its tag means that directory.
    pub since: u64,
}

/// A message to another project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossed {
    pub id: MessageId,
    /// Its id there, once it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<ReceiptElsewhere>,
    /// Why it is not there yet, as its sender was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldWhy>,
}

/// A message that came from another project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    pub id: MessageId,
    pub origin: MessageOrigin,
    /// The receipts that its project has.
    pub told: Vec<ReceiptElsewhere>,
}

impl OtherProjects {
    /// Says whether there is nothing in it.
    pub(in crate::bus::state) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns how many messages it has.
    #[cfg(test)]
    pub(in crate::bus) fn len(&self) -> usize {
        self.crossed.len() + self.arrived.len()
    }

    pub(in crate::bus::state) fn crossed_mut(&mut self, id: &MessageId) -> &mut Crossed {
        let place = self.crossed.iter().position(|crossed| crossed.id == *id);
        let place = place.unwrap_or_else(|| {
            let (id, there, receipts) = (id.clone(), None, Vec::new());
            self.crossed.push_back(Crossed { id, there, receipts, held: None });
            self.crossed.len() - 1
        });
        &mut self.crossed[place]
    }

    /// Keeps the newest of those that are there, and all that are on their way: the queue has a limit of its own.
    pub(in crate::bus::state) fn forget_old_crossed(&mut self) {
        let is_there = |crossed: &Crossed| crossed.there.is_some();
        let mut surplus = self.crossed.iter().filter(|one| is_there(one)).count();
        surplus = surplus.saturating_sub(limits::KEPT_CROSSED);
        self.crossed.retain(|crossed| {
            let goes = surplus > 0 && is_there(crossed);
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// Takes the projects that a session has read. `seq` is that of its event.
    pub(in crate::bus::state) fn list(&mut self, listed: &ProjectsListed, seq: u64) {
        self.own.clone_from(&listed.own);
        self.bus = self.bus.or(listed.by);
        let before = std::mem::replace(&mut self.tags, listed.tags.clone());
        self.tags.truncate(limits::PROJECTS);
        let known = std::mem::take(&mut self.known);
        for tag in &self.tags {
            let Some(mark) = listed.marks.get(tag).copied() else { continue };
            let since = match known.get(tag) {
                Some(known) if known.mark == mark => known.since,
                // Nobody knows which directory it meant.
                None if before.contains(tag) => 0,
                _ => seq,
            };
            self.known.insert(tag.clone(), KnownProject { mark, since });
        }
    }

    /// Says whether its own bus has ended a message before another one was taken: whoever takes it still is late.
    pub(in crate::bus) fn is_over(&self, origin: &MessageOrigin) -> bool {
        origin
            .place
            .is_some_and(|place| self.places(origin).any(|arrived| place.seq < arrived.oldest))
    }

    /// Says whether a message has to wait until earlier ones are there: those are remembered that may come again.
    pub(in crate::bus) fn is_too_far_ahead(&self, origin: &MessageOrigin) -> bool {
        origin.place.is_some_and(|place| {
            let may_come_again = |arrived: &OriginPlace| arrived.seq >= place.oldest;
            place.seq > place.oldest
                && self.places(origin).filter(may_come_again).count() >= limits::KEPT_ARRIVED
        })
    }

    /// Forgets the oldest of the messages from a bus, but none that may come again.
    pub(in crate::bus::state) fn forget_old_arrived(&mut self, last: &MessageOrigin) {
        let oldest = self.places(last).map(|place| place.oldest).max();
        let of_bus = |one: &Arrived| one.origin.is_of_bus_of(last);
        let mut surplus = self.arrived.iter().filter(|one| of_bus(one)).count();
        surplus = surplus.saturating_sub(limits::KEPT_ARRIVED);
        self.arrived.retain(|one| {
            let may_come_again = !one.origin.was_undone_before(last)
                && one.origin.place.zip(oldest).is_some_and(|(place, oldest)| place.seq >= oldest);
            let goes = surplus > 0 && of_bus(one) && !may_come_again;
            surplus -= usize::from(goes);
            !goes
        });
        // Of projects that have had many tags. A bus has up to twice as many as are kept of it.
        while self.arrived.len() > 2 * limits::KEPT_ARRIVED * limits::PROJECTS {
            self.arrived.pop_front();
        }
    }

    /// Returns where the messages stand there that came from the same bus as this one, oldest first. Those that it has forgotten itself do
    /// not count.
    fn places(&self, origin: &MessageOrigin) -> impl Iterator<Item = OriginPlace> {
        let of_bus = move |one: &&Arrived| {
            one.origin.is_of_bus_of(origin) && !one.origin.was_undone_before(origin)
        };
        self.arrived.iter().filter(of_bus).filter_map(|one| one.origin.place)
    }
}
