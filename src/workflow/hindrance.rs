//! What hinders a step: whether it goes away by itself, or the step has failed.

use crate::bus::BusError;
use crate::bus::log::LogError;
use crate::bus::rules::Refusal;
use crate::domain::failure;
use crate::team::TeamError;

/// Why a step could not begin now.
pub(super) enum Hindrance {
    /// Somebody else has moved the step or the workflow; the next look says what to do.
    MovedOn,
    /// The bus or the agent cannot take it now.
    Busy,
    /// The bus cannot read or keep now what belongs to it, as it says. What lasts has failed.
    Bus(String),
    /// It will never begin so: the class of the error, and what it says.
    Never(&'static str, String),
}

/// Something cannot be read that was on the bus, or be stored.
impl From<BusError> for Hindrance {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Log(LogError::Gone) => Self::Never(failure::BUS, error.told()),
            other => Self::Bus(other.told()),
        }
    }
}

impl Hindrance {
    /// Says what it means that an agent was not given a step.
    pub(super) fn of(error: TeamError) -> Self {
        match error {
            TeamError::Bus(BusError::Refused(refusal)) => match refusal {
                Refusal::UnknownWorkflow { .. }
                | Refusal::WorkflowOver { .. }
                | Refusal::LedByAnother { .. }
                | Refusal::StepElsewhere { .. }
                | Refusal::Left => Self::MovedOn,
                other @ Refusal::TooManyItems { .. } => Self::Never("flow", other.to_string()),
                // An agent that is being stopped is gone soon, and then there is another or none.
                Refusal::QueueFull { .. } | Refusal::Stopping { .. } => Self::Busy,
                other => Self::Never("start", other.to_string()),
            },
            TeamError::Bus(_) => Self::Busy,
            other @ TeamError::Model { .. } => Self::Never(failure::MODEL, other.told()),
            other => Self::Never("start", other.told()),
        }
    }
}
