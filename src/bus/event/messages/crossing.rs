//! The fields of the events of messages from project to project.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bus::event::Skip;
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::Label;
use crate::domain::messaging::{DirectoryMark, HeldWhy, ReceiptElsewhere};

/// The projects whose members can be written to, as the user's configuration says. Their directories stand nowhere on a bus, but a mark of
/// each does: who takes messages across takes them to that directory alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectsListed {
    /// The session that has read them. The first versions that knew this event wrote none, and no marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SessionId>,
    /// The tag of this project; without one nobody there could answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Label>,
    /// The tags of the others.
    pub tags: Vec<Label>,
    /// The marks of their directories.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<Label, DirectoryMark>,
    /// Older versions refuse addresses in other projects.
    pub skip: Skip,
}

/// A message is on the bus of another project, or its receipts there have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRelayed {
    pub id: MessageId,
    /// Its id there.
    pub there: MessageId,
    pub receipts: Vec<ReceiptElsewhere>,
}

/// A message to another project cannot be delivered yet, and its sender was told why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageHeld {
    pub id: MessageId,
    pub why: HeldWhy,
}

/// The project that a message came from has these receipts of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptsTold {
    /// The message here.
    pub id: MessageId,
    pub receipts: Vec<ReceiptElsewhere>,
}
