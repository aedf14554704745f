//! The delivery status of a message for each addressee. It is a list sorted by name, since most messages have one addressee, and
//! a broadcast has hundreds.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{CallId, SessionId};
use crate::domain::messaging::{Acknowledgement, DeliveryMethod};
use crate::domain::name::Name;

/// The delivery status of a message for one addressee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    Unread {
        /// The session and the call of the last delivery that was requeued.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<(SessionId, CallId)>,
    },
    /// In flight with a call.
    #[serde(rename = "handed")]
    InFlight {
        session: SessionId,
        call: CallId,
        #[serde(rename = "way")]
        method: DeliveryMethod,
    },
    /// Shown to the model.
    Seen,
    Superseded,
    Expired,
    /// Shown to the model, and the member has said what has become of it.
    Acknowledged(Acknowledgement),
}

impl Delivery {
    /// Says whether it has ended. Only an acknowledgement may still follow, by a member that has seen the message.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Seen | Self::Superseded | Self::Expired | Self::Acknowledged(_))
    }

    /// Says whether the model has been shown the message.
    pub fn is_seen(self) -> bool {
        matches!(self, Self::Seen | Self::Acknowledged(_))
    }

    /// Says whether the message was withdrawn, or its time was over, before the model was shown it.
    pub fn ended_unseen(self) -> bool {
        matches!(self, Self::Superseded | Self::Expired)
    }

    /// Says whether an acknowledgement takes it further. It never goes back, and what has ended unseen stays so.
    pub fn goes_on_to(self, acknowledgement: Acknowledgement) -> bool {
        match self {
            Self::Unread { .. } | Self::InFlight { .. } | Self::Seen => true,
            Self::Acknowledged(before) => acknowledgement.is_beyond(before),
            Self::Superseded | Self::Expired => false,
        }
    }
}

/// One entry per addressee, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Name, Delivery)>")]
pub struct Deliveries(Vec<(Name, Delivery)>);

impl Deliveries {
    /// Returns the delivery status for an addressee.
    pub fn get(&self, name: &Name) -> Option<&Delivery> {
        let at = self.find(name).ok()?;
        Some(&self.0[at].1)
    }

    pub(in crate::bus::state) fn get_mut(&mut self, name: &Name) -> Option<&mut Delivery> {
        let at = self.find(name).ok()?;
        Some(&mut self.0[at].1)
    }

    /// Sets the delivery status for an addressee, which may be new.
    pub(in crate::bus::state) fn insert(&mut self, name: Name, delivery: Delivery) {
        match self.find(&name) {
            Ok(at) => self.0[at].1 = delivery,
            Err(at) => {
                if self.0.is_empty() {
                    // Most messages have only one, and there may be very many messages.
                    self.0.reserve_exact(1);
                }
                self.0.insert(at, (name, delivery));
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Delivery)> {
        self.0.iter().map(|(name, delivery)| (name, delivery))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the index of an addressee, or where to insert it. A name behind all others takes no search: that keeps the
    /// construction of a sorted list fast.
    fn find(&self, name: &Name) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if last < name => Err(self.0.len()),
            _ => self.0.binary_search_by(|(to, _)| to.cmp(name)),
        }
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

/// Older snapshots have the entries in the order of insertion.
impl From<Vec<(Name, Delivery)>> for Deliveries {
    fn from(entries: Vec<(Name, Delivery)>) -> Self {
        entries.into_iter().collect()
    }
}
