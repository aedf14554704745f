//! Leaving: ends the work and the claims of a session, and notifies other members.

use super::undelivered_mail::{abandon_mail, drop_obsolete_mail};
use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{notice, quoted};
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::requests::{end_with_team, withdraw_own};
use crate::bus::rules::tasks::end_work;
use crate::bus::rules::workflows::notify_left;
use crate::bus::rules::{permissions, requests};
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{Departure, MemberKind};
use crate::domain::name::Name;

pub(in crate::bus::rules) fn leave(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    departure: Departure,
    detail: Option<&str>,
) -> Result<(), Refusal> {
    let leaving = writer.acts_for(me, session)?;
    write_left(writer, leaving, (departure, detail), EndNotice::Separate);
    Ok(())
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
    (departure, detail): (Departure, Option<&str>),
    end_notice: EndNotice,
) {
    permissions::end_all(writer, session.id);
    writer.push(Event::MemberLeft {
        session: session.id,
        departure,
        detail: detail.map(str::to_owned),
    });
    requests::reopen_claims(writer, session);
    let stopped = departure == Departure::Stopped || departure == Departure::Closed;
    end_work(writer, session, (departed(departure), detail), stopped);
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
    end_with_team(writer, session);
    if session.kind == MemberKind::Agent && !stopped && end_notice == EndNotice::Separate {
        let what = notice![session.name, " ", departed(departure)];
        let text = match detail {
            Some(detail) => what.and(&": ").and(&quoted(detail, usize::MAX)),
            None if departure == Departure::Dead => {
                what.and(&". assign_task with its name starts it again")
            }
            None => what,
        };
        writer.notice_to_each(&leaders_of(writer.state, session), &text);
    }
    notify_left(writer, session);
}

fn departed(departure: Departure) -> &'static str {
    match departure {
        Departure::Closed => "has left",
        Departure::Stopped => "was stopped",
        Departure::Failed => "has failed",
        Departure::Dead => "ended: its bridge was killed",
    }
}

/// Returns the members that are notified of an agent's end: its bridge, else every orchestrator.
pub(in crate::bus::rules) fn leaders_of(state: &State, agent: &Session) -> Vec<Name> {
    if let Some(owner) = agent.owner.and_then(|owner| state.session(owner)) {
        return vec![owner.name.clone()];
    }
    let orchestrators = state
        .live_sessions()
        .into_iter()
        .filter(|session| session.kind == MemberKind::Orchestrator);
    orchestrators.map(|session| session.name.clone()).collect()
}
