//! Rules of health: which processes an agent has, who is stalled, hung or back, who is started again, and how much may be.

use super::command::Broken;
use super::decision::Decision;
use super::membership::leaders_of;
use super::messages::give_back;
use super::refusal::Refusal;
use super::requests;
use super::tasks;
use super::writer::Writer;
use crate::bus::event::{Event, Runs};
use crate::bus::state::{Session, State};
use crate::domain::id::SessionId;
use crate::domain::limits::{self, TeamLimits};
use crate::domain::member::{Activity, MemberKind};
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;

pub(super) fn runs(writer: &mut Writer<'_>, me: SessionId, runs: &Runs) -> Result<(), Refusal> {
    writer.acts_for(me, runs.session)?;
    writer.push(Event::AgentRuns(runs.clone()));
    Ok(())
}

/// Anybody may find that nothing is left.
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

/// Writes once that an agent in a turn is stalled, and tells its bridge. A wait for a message is no silence.
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
    let text = format!(
        "{} has shown no sign of life in its turn for {} s; it is left alone: cancel_task ends its turn, kill_agent ends it",
        agent.name,
        after_ms / 1000
    );
    for name in leaders_of(writer.state, agent) {
        writer.notice(&name, text.clone());
    }
    Ok(())
}

/// Writes that an agent's process has ended and is started again: what its calls held is unread again, and its task, unless it is
/// kept, has ended.
pub(super) fn crash(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    detail: &str,
    broken: Broken,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    writer.push(Event::AgentCrashed {
        session,
        detail: detail.to_owned(),
    });
    for call in agent.handed.keys() {
        give_back(writer, session, *call);
    }
    let running = agent.running.as_ref();
    if let Some(task) = running.and_then(|id| writer.state.task(id))
        && broken == Broken::Interrupted
    {
        let why = format!("{} has crashed and is started again: {detail}", agent.name);
        let ending = tasks::ended(TaskStatus::Interrupted, "crashed", why);
        tasks::write_finished(writer, task, &ending);
    }
    let text = format!("{} has crashed and is started again: {detail}", agent.name);
    for name in leaders_of(writer.state, agent) {
        writer.notice(&name, text.clone());
    }
    Ok(())
}

/// Opens again what a session holds.
pub(super) fn reopen_claims(writer: &mut Writer<'_>, session: SessionId) -> Result<(), Refusal> {
    let holder = writer.session(session)?;
    requests::reopen_claims(writer, holder);
    Ok(())
}

/// Writes once of each session that it is hung, frees its claims, and tells the orchestrators that are not.
pub(super) fn hung(
    decision: &mut Decision<'_>,
    sessions: &[SessionId],
    after_ms: u64,
) -> Result<(), Refusal> {
    for id in sessions {
        if decision.len() >= limits::EVENTS_AT_ONCE {
            break;
        }
        decision.step(|writer| {
            let state = writer.state;
            let Some(session) = state.session(*id).filter(|session| !session.hung) else {
                return Ok(());
            };
            writer.push(Event::MemberHung { session: *id });
            requests::reopen_claims(writer, session);
            let text = format!(
                "{} is hung: its heartbeat has stood still for {} s. Its claims are free again; it is back when it beats again",
                session.name,
                after_ms / 1000
            );
            for name in listening_orchestrators(state, session) {
                writer.notice(&name, text.clone());
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn listening_orchestrators(state: &State, but: &Session) -> Vec<Name> {
    let all = state.live_sessions().into_iter();
    let listening = |session: &&Session| {
        session.kind == MemberKind::Orchestrator && !session.hung && session.id != but.id
    };
    all.filter(listening)
        .map(|session| session.name.clone())
        .collect()
}

pub(super) fn back(writer: &mut Writer<'_>, sessions: &[SessionId]) {
    let is_hung = |id: &&SessionId| writer.state.session(**id).is_some_and(|live| live.hung);
    let back: Vec<_> = sessions.iter().filter(is_hung).collect();
    for session in back {
        writer.push(Event::MemberBack { session: *session });
    }
}

/// What has happened before a session joined, it is told on the bus: a client shows its model no other words of ours.
pub(super) fn tell(writer: &mut Writer<'_>, me: SessionId, text: &str) -> Result<(), Refusal> {
    let name = writer.session(me)?.name.clone();
    writer.notice(&name, text.to_owned());
    Ok(())
}

/// Sets the limits of the team, if they are others than those that hold.
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
