//! The processes of an agent: another bridge ends them by this record once the agent is dead.

use serde::{Deserialize, Serialize};

use crate::domain::member::ProcessMark;

/// The processes of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The boot in which they run; the next one has none of them.
    pub boot: u32,
    pub agent: ProcessMark,
    pub shim: Option<ProcessMark>,
    /// The agent's own id of its ACP session.
    pub acp_session: Option<String>,
    /// The bus directory that they were started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}
