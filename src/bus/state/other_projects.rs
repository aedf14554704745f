//! Messages from project to project: which projects there are, what is on its way, and what has arrived.
//!
//! A message to another project waits in the queue of its own bus: its outbox. A courier writes it to the other bus with its origin,
//! and then notes here that it is relayed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{HeldWhy, MessageOrigin, ReceiptElsewhere};

/// What a bus knows of other projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherProjects {
    /// The tag of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Label>,
    /// The tags of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Label>,
    /// Messages to other projects of which more is known than that they wait, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) crossed: VecDeque<Crossed>,
    /// The last messages that arrived from other projects, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) arrived: VecDeque<Arrived>,
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

    pub(in crate::bus::state) fn forget_old_arrived(&mut self, tag: &Label) {
        let of_tag = |arrived: &Arrived| arrived.origin.tag == *tag;
        if self.arrived.iter().filter(|arrived| of_tag(arrived)).count() > limits::KEPT_ARRIVED
            && let Some(oldest) = self.arrived.iter().position(of_tag)
        {
            self.arrived.remove(oldest);
        }
        // Of projects that have had many tags.
        while self.arrived.len() > limits::KEPT_ARRIVED * limits::PROJECTS {
            self.arrived.pop_front();
        }
    }
}
