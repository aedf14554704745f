//! Acting on a team as the person at the terminal: what the commands `send`, `stop`, `kill`, `cancel`, `allow` and `deny` do, without
//! their arguments and without printing, so that any window can do the same.
//!
//! Each act is a wish on the bus ([`HumanWish`](crate::bus::rules::HumanWish)), which the bridge that holds the agent fulfils; then it
//! waits, not for ever, for what comes of it, and returns that as an [`Outcome`]. No act makes a bus, joins one, or signals a process.

mod act_outcome;
mod await_reply;
mod explain_refusal;
mod steering;
mod bridge_in_charge;
mod write_to_member;
mod answer_question;
mod answer_step;
mod cancel_work;
mod end_agent;
mod manage_keys;
mod other_project;
mod perform_act;

pub(crate) use self::act_outcome::{Ended, Outcome};
pub(crate) use self::answer_question::Answer;
pub(crate) use self::answer_step::StepChoice;
pub(crate) use self::manage_keys::MadeKey;
pub(crate) use self::other_project::letter_there;
pub(crate) use self::perform_act::{open_to_join, perform};
pub(crate) use self::steering::{Patience, Steering};
pub(crate) use self::write_to_member::Letter;
