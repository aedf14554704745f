//! What an agent's actor does next: a pure function of what the bus says and what the actor knows.

use std::time::Duration;

use tokio::time::Instant;

use crate::bus::state::{State, StopWanted};
use crate::delivery::wake;
use crate::domain::id::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::Tools;

/// How long our endpoint may take to tell its tools, before messages go by prompt only.
pub(super) const TOOLS_DEADLINE: Duration = Duration::from_secs(15);

/// How long a running turn may go on after a graceful stop was asked for.
pub(super) const TURN_GRACE: Duration = Duration::from_secs(20);

/// How long an agent may take to end a turn that was cancelled. All five real agents took 0.1 s.
pub(super) const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// The same while the agent is being stopped: the whole stop has 30 s.
pub(super) const CANCEL_GRACE_STOPPING: Duration = Duration::from_secs(2);

/// How often signs of life are written on the bus.
const STIR: Duration = Duration::from_millis(limits::STIR_MS);

/// How often it is looked for signs of life at the least.
const LISTEN: Duration = Duration::from_secs(15);

/// What the bus says about an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that are independent of each other"
)]
pub(super) struct Wishes {
    /// Whether the session is still on the bus.
    pub(super) live: bool,
    /// Whether and how it is to end.
    pub(super) stop: Option<StopWanted>,
    /// Whether the end of the running task is asked for.
    pub(super) cancel: bool,
    /// The next task.
    pub(super) next_task: Option<TaskId>,
    /// That task, if it is to begin anew.
    pub(super) fresh_task: Option<TaskId>,
    /// Whether its tools are not known yet.
    pub(super) unproven: bool,
    /// The place of the newest message that is worth a turn.
    pub(super) newest_mail: Option<u64>,
    /// Whether its silence has been told.
    pub(super) stalled: bool,
    /// Whether its silence is somebody else's: a call of its own waits for a message. A question for permission belongs here too.
    pub(super) waits: bool,
}

/// What the actor knows itself.
#[derive(Clone, Debug)]
pub(super) struct Situation {
    /// The time.
    pub(super) now: Instant,
    /// When the agent's session began.
    pub(super) session_since: Instant,
    /// From when on the agent shows its model the tools that our endpoint has listed.
    pub(super) settled: Option<Instant>,
    /// Whether to begin anew takes a new process.
    pub(super) renews: bool,
    /// The turn that runs.
    pub(super) turn: Option<TurnSituation>,
    /// When the wish to stop was first seen.
    pub(super) stopping_since: Option<Instant>,
    /// When mail that is worth a turn was first seen.
    pub(super) mail_since: Option<Instant>,
    /// The task in whose turn the agent's process ended before this one was started.
    pub(super) interrupted: Option<TaskId>,
    /// How long a turn may be without a sign of life.
    pub(super) stall: Duration,
}

/// What there is to know of the running turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnSituation {
    /// When it was cancelled.
    pub(super) cancelled: Option<Instant>,
    /// Whether its task has been given up already.
    pub(super) given_up: bool,
    /// Whether it waits for permission.
    pub(super) asking: bool,
    /// When the agent last showed a sign of life.
    pub(super) heard: Instant,
    /// When that was last written on the bus.
    pub(super) stirred: Instant,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// End the agent.
    Stop(StopWanted),
    /// End the actor: somebody else has written that the session is gone.
    Abandon,
    /// Tell the agent to end its turn.
    CancelTurn,
    /// End the task, although the agent has not ended its turn.
    GiveUpTask,
    /// Say that the agent is silent.
    Stall,
    /// Say that the agent is not silent.
    Stir,
    /// Go on with the task that was interrupted, or end it.
    Resume(TaskId),
    /// Say that the tools are missing.
    MissTools,
    /// Put a new process in the place of the agent's.
    Renew,
    /// Begin the turn of a task.
    Begin(TaskId),
    /// Begin a turn with the mail, which goes up to this place.
    Wake(u64),
    /// Wait until something changes, or until then.
    Rest(Option<Instant>),
}

impl Wishes {
    /// Reads them off the state. `mail_after` is the newest mail of a wake that failed.
    pub(super) fn of(state: &State, session: SessionId, mail_after: u64) -> Self {
        let Some(live) = state.session(session) else {
            return Self::default();
        };
        let running = live.running.as_ref().and_then(|task| state.task(task));
        Self {
            live: true,
            stop: live.stop,
            cancel: running.is_some_and(|task| task.cancel_asked),
            next_task: live.queue.front().cloned(),
            fresh_task: live
                .queue
                .front()
                .filter(|task| state.task(task).is_some_and(|task| task.fresh))
                .cloned(),
            unproven: live.tools == Tools::Unproven,
            newest_mail: wake::worth_a_turn(state, &live.name, mail_after),
            stalled: live.stalled,
            waits: !live.waits.is_empty(),
        }
    }
}

/// Decides what to do next. A stop goes before everything, a task before mail, and no turn begins while one runs.
pub(super) fn next(wishes: &Wishes, situation: &Situation) -> Step {
    let now = situation.now;
    match wishes.stop {
        _ if !wishes.live => return Step::Abandon,
        Some(StopWanted::AtOnce) => return Step::Stop(StopWanted::AtOnce),
        Some(StopWanted::Gracefully) => return stopping(situation),
        None => {}
    }
    if let Some(turn) = situation.turn {
        let until = match turn.cancelled {
            None if wishes.cancel => return Step::CancelTurn,
            Some(at) if !turn.given_up && now >= at + CANCEL_GRACE => return Step::GiveUpTask,
            Some(at) if !turn.given_up => Some(at + CANCEL_GRACE),
            _ => None,
        };
        return listening(wishes, situation, turn, until);
    }
    if wishes.fresh_task.is_some() && situation.renews && situation.interrupted.is_none() {
        return Step::Renew;
    }
    if wishes.unproven {
        let deadline = situation.session_since + TOOLS_DEADLINE;
        return if now >= deadline {
            Step::MissTools
        } else {
            Step::Rest(Some(deadline))
        };
    }
    if let Some(settled) = situation.settled.filter(|settled| now < *settled) {
        return Step::Rest(Some(settled));
    }
    if let Some(task) = &situation.interrupted {
        return Step::Resume(task.clone());
    }
    if let Some(task) = &wishes.next_task {
        return Step::Begin(task.clone());
    }
    match (wishes.newest_mail, situation.mail_since) {
        (Some(newest), Some(since)) if now >= since + wake::GATHER => Step::Wake(newest),
        (Some(_), since) => Step::Rest(Some(since.unwrap_or(now) + wake::GATHER)),
        (None, _) => Step::Rest(None),
    }
}

/// Listens for signs of life in a turn that runs, until something else is due.
fn listening(
    wishes: &Wishes,
    situation: &Situation,
    turn: TurnSituation,
    until: Option<Instant>,
) -> Step {
    let now = situation.now;
    let silent_at = turn.heard + situation.stall;
    let is_silent = now >= silent_at && !wishes.waits && !turn.asking;
    if is_silent && !wishes.stalled {
        return Step::Stall;
    }
    let stir_at = turn.stirred + STIR;
    if !is_silent && (wishes.stalled || (turn.heard > turn.stirred && now >= stir_at)) {
        return Step::Stir;
    }
    // What is not told by an event is seen by looking: noise, a line on stderr.
    let look_at = now + (situation.stall / 4).min(LISTEN);
    let next = if now < silent_at {
        silent_at.min(look_at)
    } else {
        look_at
    };
    Step::Rest(until.into_iter().chain([next]).min())
}

fn stopping(situation: &Situation) -> Step {
    let Some(turn) = situation.turn else {
        return Step::Stop(StopWanted::Gracefully);
    };
    let since = situation.stopping_since.unwrap_or(situation.now);
    let (deadline, then) = match turn.cancelled {
        // It does not go on without an answer, which nobody needs to give any more.
        None if turn.asking => return Step::CancelTurn,
        None => (since + TURN_GRACE, Step::CancelTurn),
        Some(at) => (
            at + CANCEL_GRACE_STOPPING,
            Step::Stop(StopWanted::Gracefully),
        ),
    };
    if situation.now >= deadline {
        then
    } else {
        Step::Rest(Some(deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Duration = Duration::from_mins(5);

    fn wishes() -> Wishes {
        Wishes {
            live: true,
            ..Wishes::default()
        }
    }

    fn idle(now: Instant) -> Situation {
        Situation {
            now,
            session_since: now,
            settled: None,
            renews: false,
            turn: None,
            stopping_since: None,
            mail_since: None,
            interrupted: None,
            stall: STALL,
        }
    }

    fn busy(now: Instant, cancelled: Option<Instant>) -> Situation {
        Situation {
            turn: Some(TurnSituation {
                cancelled,
                given_up: false,
                asking: false,
                heard: now,
                stirred: now,
            }),
            ..idle(now)
        }
    }

    #[test]
    fn no_turn_begins_while_one_runs() {
        let now = Instant::now();
        let task = TaskId::from_bits(1);
        let wishes = Wishes {
            next_task: Some(task.clone()),
            newest_mail: Some(9),
            ..wishes()
        };
        let rest = Step::Rest(Some(now + LISTEN));
        assert_eq!(next(&wishes, &busy(now, None)), rest);
        assert_eq!(next(&wishes, &idle(now)), Step::Begin(task));
    }

    #[test]
    fn mail_is_gathered_for_a_moment_and_gives_way_to_a_task() {
        let now = Instant::now();
        let wishes = Wishes {
            newest_mail: Some(9),
            ..wishes()
        };
        let since = Situation {
            mail_since: Some(now),
            ..idle(now)
        };
        assert_eq!(next(&wishes, &since), Step::Rest(Some(now + wake::GATHER)));
        let later = Situation {
            now: now + wake::GATHER,
            ..since
        };
        assert_eq!(next(&wishes, &later), Step::Wake(9));
        let task = TaskId::from_bits(1);
        let with_task = Wishes {
            next_task: Some(task.clone()),
            ..wishes
        };
        assert_eq!(next(&with_task, &later), Step::Begin(task));
    }

    #[test]
    fn the_first_prompt_waits_for_the_tools_but_not_for_ever() {
        let now = Instant::now();
        let wishes = Wishes {
            next_task: Some(TaskId::from_bits(1)),
            unproven: true,
            ..wishes()
        };
        assert_eq!(
            next(&wishes, &idle(now)),
            Step::Rest(Some(now + TOOLS_DEADLINE))
        );
        let late = Situation {
            now: now + TOOLS_DEADLINE,
            ..idle(now)
        };
        assert_eq!(next(&wishes, &late), Step::MissTools);
    }

    #[test]
    fn the_first_prompt_waits_until_the_agent_shows_its_model_the_tools() {
        let now = Instant::now();
        let task = TaskId::from_bits(1);
        let wishes = Wishes {
            next_task: Some(task.clone()),
            ..wishes()
        };
        let settled = now + Duration::from_millis(500);
        let early = Situation {
            settled: Some(settled),
            ..idle(now)
        };
        assert_eq!(next(&wishes, &early), Step::Rest(Some(settled)));
        let later = Situation {
            now: settled,
            ..early
        };
        assert_eq!(next(&wishes, &later), Step::Begin(task));
    }

    #[test]
    fn only_a_task_that_begins_anew_takes_a_new_process_and_only_when_no_turn_runs() {
        let now = Instant::now();
        let task = TaskId::from_bits(1);
        let fresh = Wishes {
            next_task: Some(task.clone()),
            fresh_task: Some(task.clone()),
            ..wishes()
        };
        let used = Situation {
            renews: true,
            ..idle(now)
        };
        assert_eq!(next(&fresh, &used), Step::Renew);
        let running = Situation {
            renews: true,
            ..busy(now, None)
        };
        assert_eq!(next(&fresh, &running), Step::Rest(Some(now + LISTEN)));
        let resuming = Situation {
            interrupted: Some(TaskId::from_bits(2)),
            ..used.clone()
        };
        assert_eq!(next(&fresh, &resuming), Step::Resume(TaskId::from_bits(2)));
        assert_eq!(next(&fresh, &idle(now)), Step::Begin(task.clone()));
        let plain = Wishes {
            fresh_task: None,
            ..fresh
        };
        assert_eq!(next(&plain, &used), Step::Begin(task));
    }

    #[test]
    fn a_cancelled_turn_that_does_not_end_is_given_up() {
        let now = Instant::now();
        let wishes = Wishes {
            cancel: true,
            ..wishes()
        };
        assert_eq!(next(&wishes, &busy(now, None)), Step::CancelTurn);
        assert_eq!(
            next(&wishes, &busy(now, Some(now))),
            Step::Rest(Some(now + CANCEL_GRACE.min(LISTEN)))
        );
        assert_eq!(
            next(&wishes, &busy(now + CANCEL_GRACE, Some(now))),
            Step::GiveUpTask
        );
    }

    #[test]
    fn a_graceful_stop_lets_the_turn_end_then_cancels_it_then_stops_all_the_same() {
        let now = Instant::now();
        let wishes = Wishes {
            stop: Some(StopWanted::Gracefully),
            ..wishes()
        };
        assert_eq!(
            next(&wishes, &idle(now)),
            Step::Stop(StopWanted::Gracefully)
        );
        let running = Situation {
            stopping_since: Some(now),
            ..busy(now, None)
        };
        assert_eq!(next(&wishes, &running), Step::Rest(Some(now + TURN_GRACE)));
        let late = Situation {
            now: now + TURN_GRACE,
            ..running
        };
        assert_eq!(next(&wishes, &late), Step::CancelTurn);
        let cancelled = busy(now + CANCEL_GRACE_STOPPING, Some(now));
        assert_eq!(
            next(&wishes, &cancelled),
            Step::Stop(StopWanted::Gracefully)
        );
    }

    #[test]
    fn a_stop_does_not_wait_for_an_answer_to_a_question() {
        let now = Instant::now();
        let wishes = Wishes {
            stop: Some(StopWanted::Gracefully),
            ..wishes()
        };
        let asking = Situation {
            stopping_since: Some(now),
            turn: Some(TurnSituation {
                cancelled: None,
                given_up: false,
                asking: true,
                heard: now,
                stirred: now,
            }),
            ..idle(now)
        };
        assert_eq!(next(&wishes, &asking), Step::CancelTurn);
    }

    #[test]
    fn silence_is_told_once_and_its_end_too() {
        let now = Instant::now();
        let silent = Situation {
            now: now + STALL,
            ..busy(now, None)
        };
        assert_eq!(next(&wishes(), &silent), Step::Stall);
        let told = Wishes {
            stalled: true,
            ..wishes()
        };
        assert_eq!(next(&told, &silent), Step::Rest(Some(now + STALL + LISTEN)));
        assert_eq!(next(&told, &busy(now, None)), Step::Stir);
        let waits = Wishes {
            waits: true,
            ..wishes()
        };
        assert_eq!(
            next(&waits, &silent),
            Step::Rest(Some(now + STALL + LISTEN))
        );
        let mut asking = silent;
        if let Some(turn) = &mut asking.turn {
            turn.asking = true;
        }
        assert_eq!(
            next(&wishes(), &asking),
            Step::Rest(Some(now + STALL + LISTEN)),
            "it waits for us"
        );
    }

    #[test]
    fn signs_of_life_are_told_now_and_then() {
        let now = Instant::now();
        let mut situation = busy(now, None);
        situation.now = now + STIR;
        let quiet = Step::Rest(Some(situation.now + LISTEN));
        assert_eq!(next(&wishes(), &situation), quiet, "there was none");
        if let Some(turn) = &mut situation.turn {
            turn.heard = now + STIR;
        }
        assert_eq!(next(&wishes(), &situation), Step::Stir);
    }

    #[test]
    fn an_interrupted_task_goes_before_the_next() {
        let now = Instant::now();
        let (first, second) = (TaskId::from_bits(1), TaskId::from_bits(2));
        let wishes = Wishes {
            next_task: Some(second),
            ..wishes()
        };
        let situation = Situation {
            interrupted: Some(first.clone()),
            ..idle(now)
        };
        assert_eq!(next(&wishes, &situation), Step::Resume(first));
    }

    #[test]
    fn a_kill_waits_for_nothing() {
        let now = Instant::now();
        let wishes = Wishes {
            stop: Some(StopWanted::AtOnce),
            ..wishes()
        };
        assert_eq!(
            next(&wishes, &busy(now, None)),
            Step::Stop(StopWanted::AtOnce)
        );
        assert_eq!(next(&Wishes::default(), &busy(now, None)), Step::Abandon);
    }
}
