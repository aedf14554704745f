//! The vocabulary of the log: all events that can happen on a bus.
//!
//! An event is a fact. It holds names, ids and texts, never its own position in the log. A changed event needs a decision about versions:
//! new fields are optional, and a new kind that older versions may skip says so by `"skip": true` in its body.

mod log_event;
mod members;
mod messages;
mod requests;
mod tasks;
mod permissions;
mod workflows;
mod health;
mod addressees;
mod body;
mod entry;
mod skippable;
mod texts;

pub use self::addressees::Addressees;
pub use self::body::Body;
pub use self::entry::{BodyRef, Entry, LogPosition, Proposal};
pub use self::health::Runs;
pub use self::log_event::Event;
pub use self::members::{Described, Followed, Joined, LaneMoved, LeadTaken, Starting};
pub use self::messages::{
    AnswerWritten, ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved, Envelope,
    MessageAcknowledged, MessageHeld, MessageRelayed, MessageSent, Position, ProjectsListed,
    ReceiptsTold, ThreadResolved,
};
pub use self::permissions::{PermissionAnswered, PermissionAsked, Question};
pub use self::requests::{ProvenClaim, RequestOpened, UnheardClaim};
pub use self::skippable::Skip;
pub use self::tasks::{Finished, TaskAssigned, TaskPlaced, TaskReport};
pub use self::workflows::{
    Created, Resumed, StepApproved, StepAsked, StepEnded, StepExpanded, StepReturned, StepStarted,
};
