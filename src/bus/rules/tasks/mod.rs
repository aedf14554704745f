//! Rules of tasks: assigned by a member, run by the bridge that holds the agent.

mod assign;
mod place;
mod progress;
mod end_task;
mod end_with_agent;

pub(super) use self::assign::{assign, write_assigned};
pub(super) use self::end_task::{ended, write_finished};
pub(super) use self::end_with_agent::{AgentEnd, ends_of_work, write_ends_with_agent};
pub(super) use self::place::{end_placement, offer, place, placed_here};
pub(super) use self::progress::{cancel, finish, resume, start};
