//! The input of the delivery policy: the unread messages of an agent, and its running turn.

use tokio::time::Instant;

use super::capabilities::Reach;
use super::methods::wake_idle::{self, Tried};
use crate::bus::state::State;
use crate::config::Interrupt;
use crate::domain::name::Name;

/// The unread messages of an agent that are worth a place in a running turn, or a turn of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingMail {
    /// The number in the log of the newest.
    pub newest: Option<u64>,
    /// The number in the log of the newest that is worth a turn of its own.
    pub waking: Option<u64>,
    /// The number in the log of the newest one that interrupts.
    pub urgent: Option<u64>,
}

/// The facts of a running turn that decide about mail.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub struct RunningTurn {
    pub now: Instant,
    /// The delivery methods into it.
    pub reach: Reach,
    /// Whether the agent has yet to confirm the last steered messages.
    pub steering: bool,
    /// The earliest time for the next attempt to steer.
    pub not_before: Option<Instant>,
    /// Whether a tool call runs.
    pub calls: bool,
    /// Whether it waits for permission.
    pub asking: bool,
    /// Whether it was already interrupted for a message.
    pub interrupted: bool,
}

impl PendingMail {
    /// Collects the unread messages of a member, without those that a failed wake has tried.
    pub fn of(state: &State, name: &Name, tried: &Tried, interrupt: Interrupt) -> Self {
        let urgent = wake_idle::waking(state, name, tried)
            .filter(|message| interrupt.is_by(message.priority))
            .map(|message| message.seq);
        Self {
            newest: wake_idle::talk(state, name, tried).map(|message| message.seq).max(),
            waking: wake_idle::worth_a_turn(state, name, tried),
            urgent: urgent.max(),
        }
    }
}
