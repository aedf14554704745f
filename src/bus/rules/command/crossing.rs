//! What is asked of a bus for messages from project to project.

use crate::bus::event::{Body, Envelope};
use crate::domain::ids::MessageId;
use crate::domain::member::Label;
use crate::domain::messaging::{
    HeldWhy, ListedProjects, MessageOrigin, Priority, ReceiptElsewhere,
};
use crate::domain::name::Name;

/// What is asked of a bus for messages from project to project: of their own bus by a session, of the other one by nobody there.
#[derive(Clone, Debug)]
pub enum Crossing {
    /// The message is on the other bus, under this id.
    Relayed { id: MessageId, there: MessageId, receipts: Vec<ReceiptElsewhere> },
    /// It has these receipts there, as its own courier has found. Those that were known before are stale, unless they have changed since.
    Found { id: MessageId, before: Vec<ReceiptElsewhere>, receipts: Vec<ReceiptElsewhere> },
    /// It cannot be delivered yet.
    Held { id: MessageId, why: HeldWhy },
    /// It will never be delivered.
    Failed { id: MessageId, why: NotRelayed },
    /// The project that a message came from has these receipts of it.
    Told { id: MessageId, receipts: Vec<ReceiptElsewhere> },
    /// These are the projects of a session that has come to lead.
    Listed(ListedProjects),
    /// A message of another project arrives.
    Arrive(Box<Arriving>),
    /// The project with that tag has these receipts of a message that went there, and is called `there` there.
    Receipts { from: Label, id: MessageId, there: MessageId, receipts: Vec<ReceiptElsewhere> },
}

/// Why a message is not delivered to another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRelayed {
    UnknownMember {
        /// Members of that project, those of similar names first.
        there: Vec<Name>,
    },
    /// What it says cannot be read any more.
    Lost,
    /// Its tag has meant another directory when it was sent.
    Moved,
    /// It had been taken there, or had ended, before this bus was put back from a backup.
    Undone,
    /// The rules there refuse it.
    Refused,
}

/// A message of another project.
#[derive(Clone, Debug)]
pub struct Arriving {
    /// Its author there.
    pub from: Name,
    pub origin: MessageOrigin,
    /// The member here; none means all.
    pub to: Option<Name>,
    pub body: Body,
    pub priority: Priority,
    pub more: Option<Box<Envelope>>,
    /// The message of this bus that it answers.
    pub reply_to: Option<MessageId>,
}
