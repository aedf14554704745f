//! Rules of tasks: assigned by a member, run by the bridge that holds the agent.

mod assign;
mod progress;
mod end_task;

pub(super) use self::assign::{assign, write_assigned};
pub(super) use self::end_task::{end_work, ended, write_finished};
pub(super) use self::progress::{cancel, finish, resume, start};
