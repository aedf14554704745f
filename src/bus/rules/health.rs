//! Rules of health: the processes of agents, stalled, stuck and hung members, restarted agents, and the limits of the team.

use super::command::Broken;
use super::decision::Decision;
use super::event_writer::Writer;
use super::members::{requeue_mail_for_lead, settle_lead, told_of};
use super::notice::notice;
use super::refusal::Refusal;
use super::requests;
use super::tasks::{AgentEnd, ended, write_ends_with_agent, write_finished};
use super::workflows::notify_hung;
use crate::bus::event::{Event, Runs, Skip};
use crate::domain::ids::SessionId;
use crate::domain::limits::TeamLimits;
use crate::domain::member::Activity;
use crate::domain::task::TaskStatus;
use crate::domain::task::error_class;

pub(super) fn runs(writer: &mut Writer<'_>, me: SessionId, runs: &Runs) -> Result<(), Refusal> {
    writer.acts_for(me, runs.session)?;
    writer.push(Event::AgentRuns(runs.clone()));
    Ok(())
}

/// Writes that all processes of a dead agent have ended. Any session may find that.
pub(super) fn swept(writer: &mut Writer<'_>, session: SessionId) {
    if writer.state.unswept.contains_key(&session) {
        writer.push(Event::AgentSwept { session });
    }
}

pub(super) fn stir(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
) -> Result<(), Refusal> {
    writer.acts_for(me, session)?;
    writer.push(Event::AgentStirred { session });
    Ok(())
}

/// Writes once that an agent in a turn is stalled, and notifies its bridge. An agent that waits for a message is not stalled.
pub(super) fn stall(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    after_ms: u64,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    let in_turn = agent.activity == Activity::Running && agent.waits.is_empty();
    if agent.stalled || !in_turn {
        return Ok(());
    }
    writer.push(Event::AgentStalled { session });
    let silent_s = after_ms / 1000;
    let task = agent.running.as_ref().and_then(|id| writer.state.task(id));
    let text = if task.is_some_and(|task| task.cancel_asked) {
        notice![
            agent.name,
            " has been silent in its turn for ",
            silent_s,
            " s, and its task is being cancelled. If that does not end its turn, kill_agent stops it",
        ]
    } else if task.is_some() {
        notice![
            agent.name,
            " has been silent in its turn for ",
            silent_s,
            " s. It keeps running: cancel_task ends its turn, kill_agent stops it",
        ]
    } else {
        notice![
            agent.name,
            " has been silent for ",
            silent_s,
            " s in a turn in which it reads its messages. It keeps running: kill_agent stops it, and assign_task with `resume` starts it \
             again with what it knows",
        ]
    };
    if let Some(told) = told_of(writer, agent) {
        writer.tell(&told, text);
    }
    Ok(())
}

/// Writes that an agent does not end its turn, and ends its queued tasks, which might never begin.
pub(super) fn stuck(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.stuck {
        return Ok(());
    }
    writer.push(Event::AgentStuck { session, skip: Skip });
    let why = format!(
        "{} does not end its previous turn, so this task never started. Assign it to another \
            agent, or again after kill_agent",
        agent.name
    );
    for task in agent.queue.iter().filter_map(|id| writer.state.task(id)) {
        let ending = ended(TaskStatus::Interrupted, error_class::STUCK, why.clone());
        write_finished(writer, task, &ending);
    }
    Ok(())
}

/// Writes that the turn of a stuck agent has ended after all.
pub(super) fn free(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
) -> Result<(), Refusal> {
    if writer.acts_for(me, session)?.stuck {
        writer.push(Event::AgentFree { session, skip: Skip });
    }
    Ok(())
}

/// Writes that an agent's process has ended and is being restarted. Requeues the messages of its calls, and ends its task unless
/// that is kept.
pub(super) fn crash(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    detail: &str,
    broken: Broken,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    writer.push(Event::AgentCrashed { session, detail: detail.to_owned() });
    for call in agent.in_flight.keys() {
        writer.requeue(session, *call);
    }
    let end = AgentEnd {
        what: "crashed and is being restarted",
        of_task: "its agent crashed and is being restarted",
        detail: Some(detail),
        error: None,
        stopped: false,
    };
    let running = agent.running.as_ref().filter(|_| broken == Broken::Interrupted);
    let running = running.and_then(|id| writer.state.task(id));
    let why = format!("{}: {detail}", end.of_task);
    let ends = running.map(|task| (task, ended(TaskStatus::Interrupted, "crashed", why)));
    let told = told_of(writer, agent);
    let ends: Vec<_> = ends.into_iter().collect();
    write_ends_with_agent(writer, (agent, told), end, "", &ends);
    Ok(())
}

pub(super) fn reopen_claims(writer: &mut Writer<'_>, session: SessionId) -> Result<(), Refusal> {
    let holder = writer.session(session)?;
    requests::reopen_claims(writer, holder);
    Ok(())
}

/// Writes once per session that it is hung, releases its claims and its workflows, and notifies the orchestrator that leads, which is
/// another one then if another responds.
pub(super) fn hung(
    decision: &mut Decision<'_>,
    sessions: &[SessionId],
    after_ms: u64,
) -> Result<(), Refusal> {
    let mut hung = Vec::new();
    for id in sessions {
        if decision.is_full() {
            break;
        }
        decision.step(|writer| {
            let state = writer.state;
            let Some(session) = state.session(*id).filter(|session| !session.hung) else {
                return Ok(());
            };
            hung.push((*id, session.name.clone()));
            writer.push(Event::MemberHung { session: *id });
            requests::reopen_claims(writer, session);
            notify_hung(writer, session);
            if state.is_lead(*id) {
                requeue_mail_for_lead(writer, session);
            }
            Ok(())
        })?;
    }
    settle_lead(decision)?;
    decision.step(|writer| {
        for (id, name) in &hung {
            let is_anothers = writer.lead().is_some_and(|lead| lead.id != *id);
            if is_anothers {
                writer.tell_lead(notice![
                    *name,
                    " stopped responding (no heartbeat for ",
                    after_ms / 1000,
                    " s). Its claims and its workflows were released. It rejoins when its \
                        heartbeat returns",
                ]);
            }
        }
        Ok(())
    })
}

pub(super) fn back(writer: &mut Writer<'_>, sessions: &[SessionId]) {
    let is_hung = |id: &&SessionId| writer.state.session(**id).is_some_and(|live| live.hung);
    let back: Vec<_> = sessions.iter().filter(is_hung).collect();
    for session in back {
        writer.push(Event::MemberBack { session: *session });
    }
}

/// Sets the limits of the team if they have changed.
pub(super) fn limit(
    writer: &mut Writer<'_>,
    me: SessionId,
    limits: TeamLimits,
) -> Result<(), Refusal> {
    writer.session(me)?;
    if writer.state.limits != limits {
        writer.push(Event::LimitsSet(limits));
    }
    Ok(())
}
