//! The rules: which events follow from a command in a state. Pure.
//!
//! [`decide`] first writes the events that are due at the command's tick, then those of the operation, as one append of several
//! steps. A name, a claim and a delivery happen exactly once because they are decided here, under the log's lock.
//!
//! Each subject has a folder. `event_writer`, below them all, has the functions that several of them need.

mod decide;
mod command;
mod nobody_fits;
mod elsewhere;
mod refusal;
mod asker;
mod notice;
mod event_writer;
mod decision;
mod members;
mod messages;
mod requests;
mod conflicts;
mod tasks;
mod permissions;
mod workflows;
mod health;
mod keys;
mod outward;
mod human_wish;
mod overdue;
mod sessions_to_wake;

#[cfg(test)]
mod tests;

pub use self::command::{
    Approval, Arriving, AskedFirst, Broken, ClaimUpdate, Command, Crossing, DeadSession,
    Description, Ending, HumanWish, NameChoice, NewAgent, NewItems, NewKey, NewMember,
    NewPlacement, NewQuestion, NewTask, NewWorkflow, NotRelayed, Operation, PermissionReply, Pick,
};
pub use self::decide::decide;
pub use self::members::session_summary::is_needed as is_summary_needed;
pub use self::messages::{check_envelope, known_member};
pub(super) use self::messages::{is_proven_by_name, picked, unprinted_by_hooks};
pub use self::nobody_fits::{NobodyFits, UnknownProject};
pub use self::outward::id_there;
pub use self::refusal::{PlacementRefusal, Refusal};
pub(super) use self::sessions_to_wake::concerned;
