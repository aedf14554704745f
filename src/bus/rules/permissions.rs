//! Rules of permission questions: asked by a bridge for its agent, and answered once, by the first answer.

use super::command::{AskedFirst, NewQuestion, PermissionReply};
use super::event_writer::{Post, Writer};
use super::notice::{notice, quoted};
use super::refusal::Refusal;
use crate::bus::event::{Event, PermissionAnswered, PermissionAsked, Question};
use crate::bus::state::{Permission, State};
use crate::domain::ids::{PermissionId, SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision, known_kind};

pub(super) fn ask(
    writer: &mut Writer<'_>,
    me: SessionId,
    new: &NewQuestion,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, new.question.session)?;
    if writer.state.open_permissions_of(agent.id).len() >= limits::MAX_QUESTIONS {
        return Err(Refusal::TooManyQuestions { name: agent.name.clone() });
    }
    let asked = PermissionAsked {
        id: new_id(writer),
        question: new.question.clone(),
        offers: new.offers.clone(),
        timeout_ms: new.timeout_ms,
    };
    writer.push(Event::PermissionAsked(asked.clone()));
    if new.to != AskedFirst::Human {
        let shows_form = new.to == AskedFirst::HumanWithNextCall;
        notify_leader(writer, &asked.id, &asked.question, (asked.timeout_ms, shows_form));
    }
    Ok(())
}

pub(super) fn record(
    writer: &mut Writer<'_>,
    me: SessionId,
    question: &Question,
    (decision, times): (Decision, Option<u64>),
) -> Result<(), Refusal> {
    writer.acts_for(me, question.session)?;
    let id = new_id(writer);
    writer.push(Event::PermissionAnswered(PermissionAnswered {
        id,
        decision,
        by: Decider::Policy,
        name: None,
        question: Some(question.clone()),
        times,
        lasts: false,
    }));
    Ok(())
}

pub(super) fn answer(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &PermissionId,
    reply: PermissionReply,
) -> Result<(), Refusal> {
    let orchestrator = writer.session(me)?;
    if orchestrator.kind != MemberKind::Orchestrator {
        return Err(Refusal::NotAnOrchestrator);
    }
    let permission = open(writer.state, id)?;
    let asker = writer.state.session(permission.question.session);
    let marks: Vec<_> = orchestrator.client.into_iter().collect();
    if asker.is_some_and(|asker| asker.runs_as_any_of(&marks)) {
        return Err(Refusal::OwnQuestion { id: id.clone() });
    }
    let (decision, by) = match reply {
        PermissionReply::Itself(decision) => (decision, Decider::Orchestrator),
        PermissionReply::Human(decision) => (decision, Decider::Human),
    };
    write_chosen(writer, permission, decision, (by, Some(&orchestrator.name)))
}

/// Writes the answer of the person at the command line.
pub(super) fn answer_as_human(
    writer: &mut Writer<'_>,
    id: &PermissionId,
    decision: Decision,
) -> Result<(), Refusal> {
    let permission = open(writer.state, id)?;
    write_chosen(writer, permission, decision, (Decider::Human, None))
}

/// Writes an answer, if the question offers it.
fn write_chosen(
    writer: &mut Writer<'_>,
    permission: &Permission,
    decision: Decision,
    by: (Decider, Option<&Name>),
) -> Result<(), Refusal> {
    // Without an offer to reject, the bridge answers the agent that the question is cancelled.
    if !decision.is_rejection() && !permission.offers.contains(&decision) {
        let mut offers = permission.offers.clone();
        if !offers.contains(&Decision::Reject) {
            offers.push(Decision::Reject);
        }
        return Err(Refusal::NotOffered { id: permission.id.clone(), offers });
    }
    write_answered(writer, permission, decision, by);
    Ok(())
}

pub(super) fn notify(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &PermissionId,
) -> Result<(), Refusal> {
    writer.session(me)?;
    let permission = open(writer.state, id)?;
    if permission.notice.is_none() {
        notify_leader(writer, id, &permission.question, (permission.timeout_ms, false));
    }
    Ok(())
}

pub(super) fn end(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    ids: &[PermissionId],
) -> Result<(), Refusal> {
    writer.acts_for(me, session)?;
    for permission in writer.state.open_permissions_of(session) {
        if ids.contains(&permission.id) {
            write_answered(writer, permission, Decision::Cancelled, (Decider::Ended, None));
        }
    }
    Ok(())
}

/// Cancels all questions of an agent that leaves.
pub(super) fn end_all(writer: &mut Writer<'_>, session: SessionId) {
    for permission in writer.state.open_permissions_of(session) {
        write_answered(writer, permission, Decision::Cancelled, (Decider::Ended, None));
    }
}

/// Rejects a question at its deadline.
pub(super) fn expire(writer: &mut Writer<'_>, id: &PermissionId) {
    if let Ok(permission) = open(writer.state, id) {
        write_answered(writer, permission, Decision::Reject, (Decider::Deadline, None));
    }
}

fn new_id(writer: &mut Writer<'_>) -> PermissionId {
    writer.new_id(PermissionId::from_bits, |state, id| state.permission(id).is_some())
}

fn open<'a>(state: &'a State, id: &PermissionId) -> Result<&'a Permission, Refusal> {
    let permission =
        state.permission(id).ok_or_else(|| Refusal::UnknownPermission { id: id.clone() })?;
    match &permission.answer {
        None => Ok(permission),
        Some(answer) => {
            Err(Refusal::PermissionOver { id: id.clone(), decision: answer.given(), by: answer.by })
        }
    }
}

/// Writes the answer, and withdraws the notice of the question from members that have not seen it.
fn write_answered(
    writer: &mut Writer<'_>,
    permission: &Permission,
    decision: Decision,
    (by, name): (Decider, Option<&Name>),
) {
    let (decision, lasts) = decision.stored();
    writer.push(Event::PermissionAnswered(PermissionAnswered {
        id: permission.id.clone(),
        decision,
        by,
        name: name.cloned(),
        question: None,
        times: None,
        lasts,
    }));
    let notice = permission.notice.as_ref();
    let Some(notice) = notice.and_then(|id| writer.state.message(id)) else {
        return;
    };
    let pending = notice.deliveries.iter();
    let members: Vec<_> = pending
        .filter(|(_, delivery)| !delivery.is_final())
        .map(|(name, _)| name.clone())
        .collect();
    if !members.is_empty() {
        writer.push(Event::MessageSuperseded { id: notice.id.clone(), members: members.into() });
    }
}

/// Notifies the orchestrator that the agent works for, so that its next call shows the question. With `shows_form`, that call of the
/// agent's holder shows it to the user; the notice then begins with this, because readers may see only its beginning.
fn notify_leader(
    writer: &mut Writer<'_>,
    id: &PermissionId,
    question: &Question,
    (timeout_ms, shows_form): (u64, bool),
) {
    let Some((leader, name)) = leader(writer.state, question.session, question.task.as_ref())
    else {
        return;
    };
    let places: Vec<_> = question.further_paths().map(String::as_str).collect();
    let places =
        if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
    let kind = match known_kind(&question.kind) {
        Some(kind) => notice![kind],
        None => notice![quoted(&question.kind, usize::MAX)],
    };
    let asked = format!("{}{places}", question.title);
    let owner = writer.state.session(question.session).and_then(|agent| agent.owner);
    let seconds = timeout_ms.div_ceil(1000);
    let asks = notice![question.agent, " asks for permission ", *id, " (", kind, ")"];
    let text = if shows_form && owner == Some(leader) {
        notice![
            asks,
            ". Call check_messages now: that shows your user the question, once. If it is still \
                open then, answer it with answer_permission; otherwise it is rejected within ",
            seconds,
            " s: ",
            quoted(&asked, usize::MAX),
        ]
    } else {
        notice![
            asks,
            ": ",
            quoted(&asked, usize::MAX),
            ". Answer it with answer_permission; otherwise it is rejected within ",
            seconds,
            " s",
        ]
    };
    let mut post = Post::notice(name, text);
    post.task.clone_from(&question.task);
    let notice = writer.post(post);
    writer.push(Event::PermissionNotified { id: id.clone(), notice });
}

/// Returns the live orchestrator that assigned the task, else the one that holds the agent; where that is the bridge of a host, which has
/// no model, the one that leads.
fn leader(state: &State, agent: SessionId, task: Option<&TaskId>) -> Option<(SessionId, Name)> {
    let assigner = task
        .and_then(|task| state.task(task))
        .and_then(|task| state.live(&task.by))
        .filter(|session| session.kind == MemberKind::Orchestrator);
    let owner = state.session(agent).and_then(|agent| agent.owner);
    let holder = || match owner {
        Some(owner) if state.offer_of(owner).is_some() => state.lead(),
        owner => owner.and_then(|owner| state.session(owner)),
    };
    let leader = assigner.or_else(holder);
    leader.map(|leader| (leader.id, leader.name.clone()))
}
