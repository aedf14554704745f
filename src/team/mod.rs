//! Live agents: one actor each that starts it, proves its tools, gives it work, wakes it and stops it.
//!
//! Everybody's wishes are events on the bus; the bridge that holds an agent's session is the only one that acts on it. So a
//! [`Team`] writes wishes, and the actor of an agent reads them off the state, whoever wrote them.
//!
//! [`Team`]: crate::team::Team

pub(crate) mod agent;
pub(crate) mod assign;
pub(crate) mod permissions;
pub(crate) mod results;
mod run_gate;
mod launch;
pub(crate) mod stop;
mod team_handle;
mod project_trust;
pub(crate) mod turn;

pub use self::assign::assign_task::{Assigned, Assignment, Waited};
pub use self::assign::candidates::{Assignee, Candidates};
pub use self::assign::free_a_slot::AgentSlot;
pub use self::launch::{Launch, run_mark};
pub use self::permissions::user_reachable::UserReachable;
pub use self::project_trust::{Consent, Trust, UnreadableYes};
pub use self::results::git_query::is_tracked as is_tracked_by_git;
pub use self::results::read_output::TaskOutput;
pub use self::team_handle::{Team, TeamError};
