//! Live agents: one actor each that starts it, proves its tools, gives it work, wakes it and stops it.
//!
//! Everybody's wishes are events on the bus; the bridge that holds an agent's session is the only one that acts on it. So a
//! [`Team`] writes wishes, and the actor of an agent reads them off the state, whoever wrote them.
//!
//! [`Team`]: crate::team::Team

mod actor;
mod advice;
mod agent;
mod assign;
mod check;
mod choose;
mod ends;
mod files;
mod git;
mod ground;
mod guarded;
mod hearing;
mod human;
mod known;
mod ladder;
mod launch;
mod live;
mod past;
mod patience;
mod proof;
mod put_question;
mod questions;
mod renew;
mod report;
mod restart;
mod results;
mod room;
mod shown;
mod start;
mod step;
mod stop;
mod sweep;
mod transcript;
mod trust;
mod turn;
mod unwritten;
mod work;
mod worktree;

pub use self::assign::{Assigned, Assignment, Waited};
pub use self::git::is_tracked as is_tracked_by_git;
pub use self::human::Human;
pub use self::known::{Known, Taker};
pub use self::launch::{Launch, RUN_MARK, run_mark};
pub use self::live::{Team, TeamError};
pub use self::results::TaskOutput;
pub use self::room::Room;
pub use self::trust::{Consent, Trust, UnreadableYes};
