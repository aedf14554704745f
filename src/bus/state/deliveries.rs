//! How far a message has come with each of its addressees: a list, since most messages have one.

use serde::{Deserialize, Serialize};

use super::Delivery;
use crate::domain::name::Name;

/// One entry an addressee, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Deliveries(Vec<(Name, Delivery)>);

impl Deliveries {
    /// Returns how far the message has come with an addressee.
    pub fn get(&self, name: &Name) -> Option<&Delivery> {
        self.iter().find(|(to, _)| *to == name).map(|(_, it)| it)
    }

    /// Returns the same, to be changed.
    pub(super) fn get_mut(&mut self, name: &Name) -> Option<&mut Delivery> {
        let found = self.0.iter_mut().find(|(to, _)| to == name);
        found.map(|(_, delivery)| delivery)
    }

    /// Says how far it has come with an addressee, who may be new.
    pub(super) fn insert(&mut self, name: Name, delivery: Delivery) {
        if let Some(known) = self.get_mut(&name) {
            *known = delivery;
        } else {
            self.0.reserve_exact(1);
            self.0.push((name, delivery));
        }
    }

    /// Goes through all of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Delivery)> {
        self.0.iter().map(|(name, delivery)| (name, delivery))
    }

    /// Says whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Name, Delivery)> for Deliveries {
    fn from_iter<I: IntoIterator<Item = (Name, Delivery)>>(entries: I) -> Self {
        let mut all = Self::default();
        for (name, delivery) in entries {
            all.insert(name, delivery);
        }
        all
    }
}
