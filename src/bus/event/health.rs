//! The fields of health events: the processes of an agent.

use serde::{Deserialize, Serialize};

use crate::domain::ids::SessionId;
use crate::domain::member::ProcessMark;

/// The processes of an agent, on record for the time after a death of their bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    pub session: SessionId,
    pub agent: ProcessMark,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<ProcessMark>,
    /// The agent's own id of its ACP session, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp_session: Option<String>,
    /// The bus directory of these processes, as device and inode: a copied log names the processes of another directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}
