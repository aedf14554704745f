//! Leaving: ends the work and the claims of a session, and notifies other members.

use super::peer_signals::{Subject, tell_left};
use super::undelivered_mail::{abandon_mail, drop_obsolete_mail};
use crate::bus::event::Event;
use crate::bus::rules::event_writer::{Told, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::requests::{end_with_team, withdraw_own};
use crate::bus::rules::tasks::{AgentEnd, ends_of_work, write_ends_with_agent, write_finished};
use crate::bus::rules::workflows::notify_left;
use crate::bus::rules::{conflicts, permissions, requests};
use crate::bus::state::{Session, StopMode};
use crate::domain::ids::SessionId;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::task::TaskError;

pub(in crate::bus::rules) fn leave(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    departure: Departure,
    detail: Option<&str>,
) -> Result<(), Refusal> {
    let leaving = writer.acts_for(me, session)?;
    write_left(writer, leaving, Leaving { detail, ..Leaving::of(departure) }, EndNotice::Separate);
    say_left(writer, leaving, departure);
    Ok(())
}

/// Ends the session of an agent that could not start or begin a task: its queue fails with this error.
pub(in crate::bus::rules) fn fail(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    detail: Option<&str>,
    error: &TaskError,
) -> Result<(), Refusal> {
    let leaving = writer.acts_for(me, session)?;
    let how = Leaving { detail, error: Some(error), ..Leaving::of(Departure::Failed) };
    write_left(writer, leaving, how, EndNotice::Separate);
    say_left(writer, leaving, Departure::Failed);
    Ok(())
}

/// Tells that a session has left, unless it is an agent that never joined.
fn say_left(writer: &mut Writer<'_>, left: &Session, departure: Departure) {
    if left.pid.is_some() {
        tell_left(writer, &Subject::of(left), departure);
    }
}

/// How a session ends.
#[derive(Clone, Copy)]
pub(in crate::bus::rules) struct Leaving<'a> {
    pub(in crate::bus::rules) departure: Departure,
    pub(in crate::bus::rules) detail: Option<&'a str>,
    /// The error of the tasks that an agent never began.
    pub(in crate::bus::rules) error: Option<&'a TaskError>,
    /// When a dead session was last seen alive, if that is known.
    pub(in crate::bus::rules) alive_ms: Option<i64>,
}

impl Leaving<'_> {
    /// Returns a departure of which nothing more is known.
    pub(in crate::bus::rules) fn of(departure: Departure) -> Self {
        Self { departure, detail: None, error: None, alive_ms: None }
    }
}

/// How the leaders of an agent are notified of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bus::rules) enum EndNotice {
    Separate,
    InSummary,
}

pub(in crate::bus::rules) fn write_left(
    writer: &mut Writer<'_>,
    session: &Session,
    Leaving { departure, detail, error, alive_ms }: Leaving<'_>,
    end_notice: EndNotice,
) {
    let is_killed = departure == Departure::Stopped && session.stop == Some(StopMode::AtOnce);
    let detail = detail.or_else(|| is_killed.then_some(Departure::KILLED));
    permissions::end_all(writer, session.id);
    writer.push(Event::MemberLeft {
        session: session.id,
        departure,
        detail: detail.map(str::to_owned),
        alive_ms,
    });
    requests::reopen_claims(writer, session);
    let stopped = departure == Departure::Stopped || departure == Departure::Closed;
    let (what, of_task) = departed(departure, session.pid.is_some(), is_killed);
    let detail = departure.with_detail(detail).1;
    let end = AgentEnd { what, of_task, detail, error, stopped };
    let ends = ends_of_work(writer.state, session, end);
    if session.kind == MemberKind::Agent && !stopped && end_notice == EndNotice::Separate {
        let is_unexplained = departure == Departure::Dead && detail.is_none();
        let advice =
            if is_unexplained { ". assign_task with its name starts it again" } else { "" };
        let told = told_of(writer, session);
        write_ends_with_agent(writer, (session, told), end, advice, &ends);
    } else {
        for (task, ending) in &ends {
            write_finished(writer, task, ending);
        }
    }
    let member = writer.state.member(&session.name);
    let is_chosen = member.is_some_and(|member| member.chosen);
    if !is_chosen {
        withdraw_own(writer, &session.name);
    }
    if is_chosen || departure.leaves_mail_waiting(session.kind) {
        drop_obsolete_mail(writer, session, is_chosen);
    } else {
        abandon_mail(writer, &session.name, "has left");
    }
    conflicts::settle_left(writer, session);
    end_with_team(writer, session);
    notify_left(writer, session);
}

/// Says how an agent has left: after its name, and to its tasks.
fn departed(
    departure: Departure,
    has_started: bool,
    is_killed: bool,
) -> (&'static str, &'static str) {
    match departure {
        Departure::Stopped if is_killed => ("was killed", "its agent was killed"),
        Departure::Closed => ("has left", "its agent has left"),
        Departure::Stopped => ("was stopped", "its agent was stopped"),
        Departure::Failed if has_started => ("has failed", "its agent ended"),
        Departure::Failed => ("has failed", "its agent did not start"),
        Departure::Dead => ("ended: its bridge was killed", "its agent's bridge was killed"),
    }
}

/// Returns who is told of an agent's end: its bridge, else the orchestrator that leads.
pub(in crate::bus::rules) fn told_of(writer: &Writer<'_>, agent: &Session) -> Option<Told> {
    let owner = agent.owner.and_then(|owner| writer.state.session(owner));
    // The bridge of a host has no model that would read it.
    let owner = owner.filter(|owner| writer.state.offer_of(owner.id).is_none());
    let owner = owner.map(|owner| Told::Member(owner.name.clone()));
    owner.or_else(|| writer.lead().map(|lead| Told::Lead(lead.name.clone())))
}
