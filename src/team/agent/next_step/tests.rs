//! The actor's decisions, one situation at a time.

use super::*;
use crate::delivery::capabilities::SteerWhen;
use crate::domain::wait_times;

const STALL: Duration = Duration::from_mins(5);

fn on_bus() -> AgentOnBus {
    AgentOnBus { live: true, ..AgentOnBus::default() }
}

fn idle(now: Instant) -> Situation {
    Situation {
        now,
        session_since: now,
        settled: None,
        renews: false,
        turn: None,
        stopping_since: None,
        woken: None,
        reach: Reach::default(),
        steering: false,
        steer_after: None,
        cut: None,
        interrupted: None,
        unwritten: None,
        stall: STALL,
    }
}

fn busy(now: Instant, cancelled: Option<Instant>) -> Situation {
    Situation {
        turn: Some(TurnSituation {
            cancelled,
            abandoned: false,
            asking: false,
            heard: now,
            waited: None,
            stirred: now,
            interrupted: false,
            calls: false,
        }),
        ..idle(now)
    }
}

fn mail(newest: u64, urgent: Option<u64>) -> PendingMail {
    PendingMail { newest: Some(newest), waking: Some(newest), urgent }
}

#[test]
fn no_turn_begins_while_one_runs() {
    let now = Instant::now();
    let task = TaskId::from_bits(1);
    let on_bus = AgentOnBus { next_task: Some(task.clone()), mail: mail(9, None), ..on_bus() };
    let rest = NextStep::Rest(Some(now + wait_times::LOOK_FOR_SIGN_OF_LIFE));
    assert_eq!(next(&on_bus, &busy(now, None)), rest);
    assert_eq!(next(&on_bus, &idle(now)), NextStep::Begin(task));
}

#[test]
fn messages_wake_at_once_are_then_gathered_for_a_moment_and_follow_a_task() {
    let now = Instant::now();
    let on_bus = AgentOnBus { mail: mail(9, None), ..on_bus() };
    assert_eq!(next(&on_bus, &idle(now)), NextStep::Wake(9));
    let just_woken = Situation { woken: Some(now), ..idle(now) };
    let later = now + wait_times::GATHER_MESSAGES;
    assert_eq!(next(&on_bus, &just_woken), NextStep::Rest(Some(later)));
    let then = Situation { now: later, ..just_woken };
    assert_eq!(next(&on_bus, &then), NextStep::Wake(9));
    let task = TaskId::from_bits(1);
    let with_task = AgentOnBus { next_task: Some(task.clone()), ..on_bus };
    assert_eq!(next(&with_task, &then), NextStep::Begin(task));
}

#[test]
fn an_urgent_message_interrupts_a_turn_once_and_its_task_continues_first() {
    let now = Instant::now();
    let (first, second) = (TaskId::from_bits(1), TaskId::from_bits(2));
    let on_bus = AgentOnBus { mail: mail(9, Some(9)), next_task: Some(second), ..on_bus() };
    let running = busy(now, None);
    assert_eq!(next(&on_bus, &running), NextStep::Interrupt);
    let mut interrupted = running.clone();
    if let Some(turn) = &mut interrupted.turn {
        turn.interrupted = true;
    }
    assert_eq!(
        next(&on_bus, &interrupted),
        NextStep::Rest(Some(now + wait_times::LOOK_FOR_SIGN_OF_LIFE)),
        "an interrupted turn that does not end is not abandoned"
    );
    assert_eq!(
        next(&on_bus, &busy(now, Some(now))),
        NextStep::Rest(Some(now + grace_periods::CANCEL))
    );
    let cut = Situation { cut: Some(first.clone()), ..idle(now) };
    assert_eq!(next(&on_bus, &cut), NextStep::Continue(first));
    let stopping = AgentOnBus { stop: Some(StopMode::Gracefully), ..on_bus };
    assert_eq!(next(&stopping, &cut), NextStep::Stop(StopMode::Gracefully));
}

#[test]
fn mail_is_steered_into_a_turn_that_is_not_cancelled() {
    let now = Instant::now();
    let on_bus = AgentOnBus { mail: mail(9, None), ..on_bus() };
    let reach = Reach { steer: Some(SteerWhen::Always), drains: false };
    let situation = |cancelled| Situation { reach, ..busy(now, cancelled) };
    assert_eq!(next(&on_bus, &situation(None)), NextStep::Steer);
    assert_eq!(
        next(&on_bus, &situation(Some(now))),
        NextStep::Rest(Some(now + grace_periods::CANCEL))
    );
    let later = now + Duration::from_secs(1);
    let gathering = Situation { steer_after: Some(later), ..situation(None) };
    assert_eq!(next(&on_bus, &gathering), NextStep::Rest(Some(later)));
}

#[test]
fn the_first_prompt_waits_for_the_tools_but_not_for_ever() {
    let now = Instant::now();
    let on_bus = AgentOnBus { next_task: Some(TaskId::from_bits(1)), unproven: true, ..on_bus() };
    assert_eq!(next(&on_bus, &idle(now)), NextStep::Rest(Some(now + wait_times::TOOLS_LISTED)));
    let late = Situation { now: now + wait_times::TOOLS_LISTED, ..idle(now) };
    assert_eq!(next(&on_bus, &late), NextStep::MissTools);
}

#[test]
fn the_first_prompt_waits_until_the_agent_shows_its_model_the_tools() {
    let now = Instant::now();
    let task = TaskId::from_bits(1);
    let on_bus = AgentOnBus { next_task: Some(task.clone()), ..on_bus() };
    let settled = now + Duration::from_millis(500);
    let early = Situation { settled: Some(settled), ..idle(now) };
    assert_eq!(next(&on_bus, &early), NextStep::Rest(Some(settled)));
    let later = Situation { now: settled, ..early };
    assert_eq!(next(&on_bus, &later), NextStep::Begin(task));
}

#[test]
fn only_a_fresh_task_takes_a_new_process_and_only_between_turns() {
    let now = Instant::now();
    let task = TaskId::from_bits(1);
    let fresh =
        AgentOnBus { next_task: Some(task.clone()), fresh_task: Some(task.clone()), ..on_bus() };
    let used = Situation { renews: true, ..idle(now) };
    assert_eq!(next(&fresh, &used), NextStep::Renew);
    let running = Situation { renews: true, ..busy(now, None) };
    assert_eq!(
        next(&fresh, &running),
        NextStep::Rest(Some(now + wait_times::LOOK_FOR_SIGN_OF_LIFE))
    );
    let resuming = Situation { interrupted: Some(TaskId::from_bits(2)), ..used.clone() };
    assert_eq!(next(&fresh, &resuming), NextStep::Resume(TaskId::from_bits(2)));
    assert_eq!(next(&fresh, &idle(now)), NextStep::Begin(task.clone()));
    let plain = AgentOnBus { fresh_task: None, ..fresh };
    assert_eq!(next(&plain, &used), NextStep::Begin(task));
}

#[test]
fn a_cancelled_turn_that_does_not_end_is_abandoned() {
    let now = Instant::now();
    let on_bus = AgentOnBus { cancel: true, ..on_bus() };
    assert_eq!(next(&on_bus, &busy(now, None)), NextStep::CancelTurn);
    assert_eq!(
        next(&on_bus, &busy(now, Some(now))),
        NextStep::Rest(Some(now + grace_periods::CANCEL.min(wait_times::LOOK_FOR_SIGN_OF_LIFE)))
    );
    assert_eq!(next(&on_bus, &busy(now + grace_periods::CANCEL, Some(now))), NextStep::AbandonTask);
}

#[test]
fn a_graceful_stop_lets_the_turn_end_then_cancels_it_then_stops_all_the_same() {
    let now = Instant::now();
    let on_bus = AgentOnBus { stop: Some(StopMode::Gracefully), ..on_bus() };
    assert_eq!(next(&on_bus, &idle(now)), NextStep::Stop(StopMode::Gracefully));
    let running = Situation { stopping_since: Some(now), ..busy(now, None) };
    assert_eq!(next(&on_bus, &running), NextStep::Rest(Some(now + grace_periods::TURN)));
    let late = Situation { now: now + grace_periods::TURN, ..running };
    assert_eq!(next(&on_bus, &late), NextStep::CancelTurn);
    let cancelled = busy(now + grace_periods::CANCEL_WHILE_STOPPING, Some(now));
    assert_eq!(next(&on_bus, &cancelled), NextStep::Stop(StopMode::Gracefully));
}

#[test]
fn a_stop_does_not_wait_for_an_answer_to_a_question() {
    let now = Instant::now();
    let on_bus = AgentOnBus { stop: Some(StopMode::Gracefully), ..on_bus() };
    let asking = Situation {
        stopping_since: Some(now),
        turn: Some(TurnSituation {
            cancelled: None,
            abandoned: false,
            asking: true,
            heard: now,
            waited: None,
            stirred: now,
            interrupted: false,
            calls: false,
        }),
        ..idle(now)
    };
    assert_eq!(next(&on_bus, &asking), NextStep::CancelTurn);
}

#[test]
fn the_silence_during_a_wait_does_not_count() {
    let now = Instant::now();
    let mut silent = Situation { now: now + STALL, ..busy(now, None) };
    silent.turn.as_mut().unwrap().waited = Some(now + STALL);
    let rest = NextStep::Rest(Some(silent.now + wait_times::LOOK_FOR_SIGN_OF_LIFE));
    assert_eq!(next(&on_bus(), &silent), rest);
    silent.now += STALL;
    assert_eq!(next(&on_bus(), &silent), NextStep::Stall);
}

#[test]
fn silence_is_reported_once_and_so_is_its_end() {
    let now = Instant::now();
    let silent = Situation { now: now + STALL, ..busy(now, None) };
    assert_eq!(next(&on_bus(), &silent), NextStep::Stall);
    let reported = AgentOnBus { stalled: true, ..on_bus() };
    assert_eq!(
        next(&reported, &silent),
        NextStep::Rest(Some(now + STALL + wait_times::LOOK_FOR_SIGN_OF_LIFE))
    );
    assert_eq!(next(&reported, &busy(now, None)), NextStep::Stir);
    let waits = AgentOnBus { waits: true, ..on_bus() };
    assert_eq!(
        next(&waits, &silent),
        NextStep::Rest(Some(now + STALL + wait_times::LOOK_FOR_SIGN_OF_LIFE))
    );
    let mut asking = silent;
    if let Some(turn) = &mut asking.turn {
        turn.asking = true;
    }
    assert_eq!(
        next(&on_bus(), &asking),
        NextStep::Rest(Some(now + STALL + wait_times::LOOK_FOR_SIGN_OF_LIFE)),
        "it waits for us"
    );
}

#[test]
fn signs_of_life_are_recorded_now_and_then() {
    let now = Instant::now();
    let mut situation = busy(now, None);
    situation.now = now + wait_times::RECORD_SIGN_OF_LIFE;
    let quiet = NextStep::Rest(Some(situation.now + wait_times::LOOK_FOR_SIGN_OF_LIFE));
    assert_eq!(next(&on_bus(), &situation), quiet, "there was none");
    if let Some(turn) = &mut situation.turn {
        turn.heard = now + wait_times::RECORD_SIGN_OF_LIFE;
    }
    assert_eq!(next(&on_bus(), &situation), NextStep::Stir);
}

#[test]
fn an_interrupted_task_goes_before_the_next() {
    let now = Instant::now();
    let (first, second) = (TaskId::from_bits(1), TaskId::from_bits(2));
    let on_bus = AgentOnBus { next_task: Some(second), ..on_bus() };
    let situation = Situation { interrupted: Some(first.clone()), ..idle(now) };
    assert_eq!(next(&on_bus, &situation), NextStep::Resume(first));
}

#[test]
fn a_kill_waits_for_nothing() {
    let now = Instant::now();
    let on_bus = AgentOnBus { stop: Some(StopMode::AtOnce), ..on_bus() };
    assert_eq!(next(&on_bus, &busy(now, None)), NextStep::Stop(StopMode::AtOnce));
    assert_eq!(next(&AgentOnBus::default(), &busy(now, None)), NextStep::Abandon);
}

#[test]
fn what_has_happened_is_written_before_anything_else_begins() {
    let now = Instant::now();
    let on_bus =
        AgentOnBus { next_task: Some(TaskId::from_bits(1)), mail: mail(9, Some(9)), ..on_bus() };
    let later = now + Duration::from_secs(1);
    let with =
        |situation: Situation, unwritten| Situation { unwritten: Some(unwritten), ..situation };
    for idle_or_not in [idle(now), busy(now, None)] {
        let due = with(idle_or_not.clone(), now);
        assert_eq!(next(&on_bus, &due), NextStep::Write);
        let waiting = with(idle_or_not, later);
        assert_eq!(next(&on_bus, &waiting), NextStep::Rest(Some(later)));
    }
    let stopping = AgentOnBus { stop: Some(StopMode::Gracefully), ..on_bus.clone() };
    let unwritten = with(idle(now), now);
    assert_eq!(next(&stopping, &unwritten), NextStep::Stop(StopMode::Gracefully));
    let cancelled = AgentOnBus { cancel: true, ..on_bus };
    let running = with(busy(now, None), later);
    assert_eq!(next(&cancelled, &running), NextStep::CancelTurn, "that needs no bus");
}
