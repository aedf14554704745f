//! Live agents: one actor each that starts it, proves its tools, gives it work, wakes it and stops it.
//!
//! A request to an agent is an event on the bus, and only the bridge that holds the agent's session acts on the agent. So a
//! [`Team`] writes requests, and the agent's actor reads them from the state, whichever process wrote them.
//!
//! [`Team`]: crate::team::Team

pub(crate) mod agent;
pub(crate) mod assign;
mod error;
mod launch;
pub(crate) mod permissions;
mod process_mark;
mod project_trust;
mod require_consent;
pub(crate) mod results;
mod run_gate;
pub(crate) mod stop;
mod team_handle;
pub(crate) mod turn;

pub use self::assign::assign_task::{Assigned, Assignment};
pub use self::assign::candidates::{Assignee, Candidates};
pub use self::assign::free_a_slot::AgentSlot;
pub use self::assign::installed_profiles::InstalledProfiles;
pub use self::assign::on_host::find_host::{Bridge, Hosts, Where};
pub use self::assign::on_host::place_on_host::Placing;
pub use self::assign::on_host::take_up_placed::TakenUp;
pub use self::assign::role_word::role_of;
pub use self::assign::try_agent::TriedAgent;
pub use self::error::{HostError, TeamError};
pub use self::launch::Launch;
pub use self::permissions::user_reachable::{Reach, UserReachable};
pub use self::process_mark::run_mark;
pub use self::project_trust::{Consent, Trust, UnreadableApproval};
pub use self::require_consent::{agreed, trust_command};
pub use self::results::git_diff::{DiffsWanted, FileDiff, file_diffs};
pub use self::results::git_query::is_tracked as is_tracked_by_git;
pub use self::results::read_output::TaskOutput;
pub use self::results::wait_for_task::Waited;
pub use self::team_handle::Team;
pub(crate) use self::turn::joined_words::JoinedWords;
pub(crate) use self::turn::transcript::{output as output_of_transcript, read_output};
