//! A task that waits for another host to start its agent.

use serde::{Deserialize, Serialize};

use crate::bus::event::BodyRef;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::messaging::Priority;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::workflow::StepOf;

/// A task that waits for a host to start its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub id: TaskId,
    /// The session of the host's bridge.
    pub with: SessionId,
    /// The session that asks.
    pub asker: SessionId,
    pub by: Name,
    pub profile: Name,
    pub name: Option<Name>,
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub permissions: Option<Policy>,
    pub priority: Priority,
    pub prompt: BodyRef,
    /// The step of a workflow that it carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepOf>,
}
