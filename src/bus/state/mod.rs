//! The state that follows from the log: the headers of everything that is still needed.
//!
//! [`State::apply`] takes an entry as a fact: it never refuses and never panics, even when a cause is missing. The rules are in
//! `bus::rules`. Bodies stay in the log; the state has their positions.

mod members;
mod messages;
mod conflicts;
mod requests;
mod tasks;
mod permissions;
mod workflows;
mod health;
mod keys;
mod webhook_places;
mod other_projects;
mod messages_across;
mod bus_state;
mod apply;
mod event_place;
mod chunked_list;
mod elapsed_time;
mod size_bounds;
mod timers;

pub use self::bus_state::State;
pub use self::chunked_list::{Chunked, ChunkedLarge};
pub use self::conflicts::{Conflict, ConflictEnding, Party};
pub use self::elapsed_time::Watch;
pub use self::health::Run;
pub use self::keys::AccessKey;
pub use self::members::{EndedSession, GroupWords, Member, ResumeInfo, Session, StopMode};
pub(super) use self::messages::Origin;
pub use self::messages::{
    AwaitedAnswer, AwaitedReply, Beside, Deliveries, Delivery, EnvelopeHeader, Likeness, Message,
    Pace, UnreadPlace, Wait,
};
pub(super) use self::messages_across::without_note;
pub use self::other_projects::{Arrived, Crossed, OtherProjects};
pub use self::permissions::{Permission, PermissionAnswer};
pub(super) use self::requests::Unanswered;
pub use self::requests::{Claim, Lease, Request};
pub use self::tasks::{Placement, Task};
pub use self::timers::Due;
pub(super) use self::timers::Timers;
pub use self::workflows::{Readiness, StepRun, Workflow};

pub use super::event::BodyRef;
