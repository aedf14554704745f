//! Decides what an agent's actor does next: a pure function of the bus's state and the actor's own.

use std::time::Duration;

use tokio::time::Instant;

use crate::bus::state::{State, StopMode};
use crate::config::Interrupt;
use crate::delivery::capabilities::Reach;
use crate::delivery::methods::wake_idle::{self, Tried};
use crate::delivery::pending_mail::{PendingMail, RunningTurn};
use crate::delivery::policy::{self, MailAction};
use crate::domain::grace_periods;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::Tools;
use crate::domain::wait_times;

/// The state of an agent on the bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub(crate) struct AgentOnBus {
    /// Whether the session is still on the bus.
    pub(crate) live: bool,
    /// The stop request, if there is one.
    pub(crate) stop: Option<StopMode>,
    /// Whether a cancel of the running task is requested.
    pub(crate) cancel: bool,
    /// The next task: the running one, if it has no turn.
    pub(crate) next_task: Option<TaskId>,
    /// That task, if it needs a fresh session.
    pub(crate) fresh_task: Option<TaskId>,
    /// Whether it is not known yet that its model has our tools.
    pub(crate) unproven: bool,
    /// The messages that are worth a turn.
    pub(crate) mail: PendingMail,
    /// Whether its silence has been reported.
    pub(crate) stalled: bool,
    /// Whether one of its calls waits for a message, which explains its silence.
    pub(crate) waits: bool,
}

/// The actor's own state.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    pub(crate) now: Instant,
    /// When the agent's session began.
    pub(crate) session_since: Instant,
    /// The time from which the agent shows its model the tools that our endpoint listed.
    pub(crate) settled: Option<Instant>,
    /// Whether a fresh session takes a new process.
    pub(crate) renews: bool,
    pub(crate) turn: Option<TurnSituation>,
    /// When the request to stop was first seen.
    pub(crate) stopping_since: Option<Instant>,
    /// When the agent was last woken by a message.
    pub(crate) woken: Option<Instant>,
    /// The delivery methods that work during a turn.
    pub(crate) reach: Reach,
    /// Whether the agent has yet to report the outcome of the last steered messages.
    pub(crate) steering: bool,
    /// No message is steered before this.
    pub(crate) steer_after: Option<Instant>,
    /// The task whose turn was interrupted for a message.
    pub(crate) cut: Option<TaskId>,
    /// The task in whose turn the agent's process ended before this one was started.
    pub(crate) interrupted: Option<TaskId>,
    /// When the pending events may next be written; `None` if all are on the bus.
    pub(crate) unwritten: Option<Instant>,
    /// How long a turn may show no sign of life.
    pub(crate) stall: Duration,
}

/// The state of the running turn.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub(crate) struct TurnSituation {
    /// When it was cancelled.
    pub(crate) cancelled: Option<Instant>,
    /// Whether its task has been abandoned already.
    pub(crate) abandoned: bool,
    /// Whether it waits for permission.
    pub(crate) asking: bool,
    /// When the agent last showed a sign of life.
    pub(crate) heard: Instant,
    /// When one of its calls was last seen to wait for a message.
    pub(crate) waited: Option<Instant>,
    /// When a sign of life was last recorded on the bus.
    pub(crate) stirred: Instant,
    /// Whether it is being interrupted for a message.
    pub(crate) interrupted: bool,
    /// Whether one of its tool calls is running.
    pub(crate) calls: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    Stop(StopMode),
    /// End the actor: another process has recorded that the session is gone.
    Abandon,
    /// Tell the agent to end its turn.
    CancelTurn,
    /// End the task, although the agent has not ended its turn.
    AbandonTask,
    /// Write the pending events.
    Write,
    /// Report that the agent is silent.
    Stall,
    /// Report that the agent is not silent.
    Stir,
    /// Put the messages into the turn.
    Steer,
    /// Interrupt the turn for the messages.
    Interrupt,
    /// Continue the task whose turn was interrupted for a message.
    Continue(TaskId),
    /// Continue the task whose process ended, or end it.
    Resume(TaskId),
    /// Report that the tools are missing.
    MissTools,
    /// Replace the agent's process.
    Renew,
    /// Begin the turn of a task.
    Begin(TaskId),
    /// Begin a turn with the messages up to this position.
    Wake(u64),
    /// Wait until something changes, at most until this time.
    Rest(Option<Instant>),
}

impl AgentOnBus {
    /// Reads it from the state. `tried` holds the messages of wakes that failed.
    pub(crate) fn of(
        state: &State,
        session: SessionId,
        tried: &Tried,
        interrupt: Interrupt,
    ) -> Self {
        let Some(live) = state.session(session) else {
            return Self::default();
        };
        let running = live.running.as_ref().and_then(|task| state.task(task));
        // A running task without a turn: its begin was tried, and the outcome of that write was unknown.
        let next_task = live.running.as_ref().or(live.queue.front());
        Self {
            live: true,
            stop: live.stop,
            cancel: running.is_some_and(|task| task.cancel_asked),
            next_task: next_task.cloned(),
            fresh_task: next_task
                .filter(|task| state.task(task).is_some_and(|task| task.fresh))
                .cloned(),
            unproven: live.tools == Tools::Unproven,
            mail: PendingMail::of(state, &live.name, tried, interrupt),
            stalled: live.stalled,
            waits: !live.waits.is_empty(),
        }
    }
}

/// Decides what to do next. A stop precedes everything and leaves pending events to the agent's departure. Then come pending
/// events, then tasks, then messages. No turn begins while one runs.
pub(crate) fn next(on_bus: &AgentOnBus, situation: &Situation) -> NextStep {
    let now = situation.now;
    match on_bus.stop {
        _ if !on_bus.live => return NextStep::Abandon,
        Some(StopMode::AtOnce) => return NextStep::Stop(StopMode::AtOnce),
        Some(StopMode::Gracefully) => return stopping(situation),
        None => {}
    }
    if let Some(turn) = situation.turn {
        let until = match turn.cancelled {
            None if on_bus.cancel => return NextStep::CancelTurn,
            Some(at) if !turn.abandoned && now >= at + grace_periods::CANCEL => {
                return NextStep::AbandonTask;
            }
            _ if situation.unwritten.is_some_and(|at| now >= at) => return NextStep::Write,
            Some(at) if !turn.abandoned => {
                let both = situation.unwritten.into_iter().chain([at + grace_periods::CANCEL]);
                both.min()
            }
            Some(_) => situation.unwritten,
            // Until then, nothing that would need the bus.
            None if situation.unwritten.is_some() => return NextStep::Rest(situation.unwritten),
            None => match policy::mail_action(&on_bus.mail, &busy(situation, turn)) {
                MailAction::Steer => return NextStep::Steer,
                MailAction::Interrupt => return NextStep::Interrupt,
                MailAction::Later(at) => Some(at),
                MailAction::Leave => None,
            },
        };
        return listening(on_bus, situation, turn, until);
    }
    if let Some(at) = situation.unwritten {
        let due = now >= at;
        return if due { NextStep::Write } else { NextStep::Rest(Some(at)) };
    }
    if let Some(task) = &situation.cut {
        return NextStep::Continue(task.clone());
    }
    if on_bus.fresh_task.is_some() && situation.renews && situation.interrupted.is_none() {
        return NextStep::Renew;
    }
    if on_bus.unproven {
        let deadline = situation.session_since + wait_times::TOOLS_LISTED;
        return if now >= deadline { NextStep::MissTools } else { NextStep::Rest(Some(deadline)) };
    }
    if let Some(settled) = situation.settled.filter(|settled| now < *settled) {
        return NextStep::Rest(Some(settled));
    }
    if let Some(task) = &situation.interrupted {
        return NextStep::Resume(task.clone());
    }
    if let Some(task) = &on_bus.next_task {
        return NextStep::Begin(task.clone());
    }
    let due = wake_idle::due(now, situation.woken);
    match on_bus.mail.waking {
        Some(newest) if now >= due => NextStep::Wake(newest),
        Some(_) => NextStep::Rest(Some(due)),
        None => NextStep::Rest(None),
    }
}

/// Returns the running turn as the delivery policy sees it.
fn busy(situation: &Situation, turn: TurnSituation) -> RunningTurn {
    RunningTurn {
        now: situation.now,
        reach: situation.reach,
        steering: situation.steering,
        not_before: situation.steer_after,
        calls: turn.calls,
        asking: turn.asking,
        interrupted: turn.interrupted,
    }
}

/// Watches a running turn for signs of life, until something else is due.
fn listening(
    on_bus: &AgentOnBus,
    situation: &Situation,
    turn: TurnSituation,
    until: Option<Instant>,
) -> NextStep {
    let now = situation.now;
    let silent_at =
        turn.waited.map_or(turn.heard, |waited| waited.max(turn.heard)) + situation.stall;
    let is_silent = now >= silent_at && !on_bus.waits && !turn.asking;
    if is_silent && !on_bus.stalled {
        return NextStep::Stall;
    }
    let stir_at = turn.stirred + wait_times::RECORD_SIGN_OF_LIFE;
    if !is_silent && (on_bus.stalled || (turn.heard > turn.stirred && now >= stir_at)) {
        return NextStep::Stir;
    }
    // No event reports a message that says nothing of the turn, so the actor polls for them.
    let look_at = now + (situation.stall / 4).min(wait_times::LOOK_FOR_SIGN_OF_LIFE);
    let next = if now < silent_at { silent_at.min(look_at) } else { look_at };
    NextStep::Rest(until.into_iter().chain([next]).min())
}

fn stopping(situation: &Situation) -> NextStep {
    let Some(turn) = situation.turn else {
        return NextStep::Stop(StopMode::Gracefully);
    };
    let since = situation.stopping_since.unwrap_or(situation.now);
    let (deadline, then) = match turn.cancelled {
        // The turn waits for an answer that is of no use any more.
        None if turn.asking => return NextStep::CancelTurn,
        None => (since + grace_periods::TURN, NextStep::CancelTurn),
        Some(at) => {
            (at + grace_periods::CANCEL_WHILE_STOPPING, NextStep::Stop(StopMode::Gracefully))
        }
    };
    if situation.now >= deadline { then } else { NextStep::Rest(Some(deadline)) }
}

#[cfg(test)]
mod tests;
