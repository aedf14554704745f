//! What the events of health store: the processes of an agent.

use serde::{Deserialize, Serialize};

use crate::domain::ids::SessionId;
use crate::domain::member::ProcessMark;

/// The processes of an agent, so that they can be found after their bridge has died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    pub session: SessionId,
    pub agent: ProcessMark,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<ProcessMark>,
    /// The agent's own id of its ACP session, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp_session: Option<String>,
    /// Which bus directory they were started for, as device and inode: a copy of this log names processes of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}
