//! Who leads: decided in the append in which the one before leaves, stops responding or is preempted.
//!
//! What was for whoever leads, and nobody has been shown, passes to the next lead in the same append. What stands in the state, such as an
//! interrupted workflow, it is told anew.

use serde_json::json;

use crate::bus::event::{Envelope, Event, LeadTaken};
use crate::bus::rules::conflicts;
use crate::bus::rules::decision::Decision;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::withdraw_nudges;
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::workflows;
use crate::bus::state::{Delivery, Message, Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::messaging::{MessageKind, Priority, Signal};
use crate::domain::name::Name;

/// Why another orchestrator leads now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It has said that it does.
    Taken,
    /// It is the one that should.
    Due,
}

/// Lets the orchestrator lead that should, after events by which that may be another one.
pub(in crate::bus::rules) fn settle_lead(decision: &mut Decision<'_>) -> Result<(), Refusal> {
    if !decision.may_move_lead() {
        return Ok(());
    }
    decision.step(|writer| {
        lead_rightfully(writer);
        Ok(())
    })
}

/// Lets the orchestrator lead that should, if it does not yet.
pub(in crate::bus::rules) fn lead_rightfully(writer: &mut Writer<'_>) {
    if let Some(next) = writer.state.rightful_lead() {
        lead(writer, next, Change::Due);
    }
}

/// Lets an orchestrator lead that has said so when it joined.
pub(in crate::bus::rules) fn take_lead(writer: &mut Writer<'_>, session: SessionId) {
    let next = writer.state.session(session);
    if let Some(next) = next.filter(|next| next.kind == MemberKind::Orchestrator) {
        lead(writer, next, Change::Taken);
    }
}

fn lead(writer: &mut Writer<'_>, next: &Session, change: Change) {
    if writer.state.is_lead(next.id) {
        return;
    }
    let before = writer.state.lead();
    writer.push(Event::LeadTaken(LeadTaken {
        session: next.id,
        preempted: before.map(|before| before.id),
    }));
    if let Some(before) = before.filter(|before| !before.runs_plan()) {
        tell_preempted(writer, before, next, change);
    }
    pass_mail(writer, before, next);
    conflicts::show_undecided(writer, next);
    workflows::show_interrupted(writer, next);
}

/// Tells an orchestrator that another leads in its place.
fn tell_preempted(writer: &mut Writer<'_>, before: &Session, next: &Session, change: Change) {
    if !writer.accepts_notice(&before.name) {
        return;
    }
    let (why, stays) = match change {
        Change::Taken => (
            " has taken the lead of the team from you",
            ". Your agents, tasks and workflows stay yours",
        ),
        Change::Due => (" leads the team now, because you stopped responding", ""),
    };
    let text = notice![next.name, why, ": what concerns the whole team goes to ", next.name, stays];
    let mut post = Post::notice(before.name.clone(), text);
    post.priority = Priority::High;
    let payload = json!({
        "preempted_by": next.name,
        "new_master_session": next.number.map(|number| number.to_string()),
    });
    post.more = Some(Box::new(Envelope {
        signal: Some(Signal::MASTER_PREEMPTED),
        payload: payload.as_object().cloned(),
        ..Envelope::default()
    }));
    writer.post(post);
}

/// Passes on what was for the lead and is unread: by the one before, by one that does not respond, or under a name without a session.
/// What has no room in this append or in the inbox stays where it is.
fn pass_mail(writer: &mut Writer<'_>, before: Option<&Session>, next: &Session) {
    for (message, holder) in mail_for_lead(writer.state, before, next) {
        if writer.is_full() || !writer.accepts_notice(&next.name) {
            return;
        }
        let (id, to) = (message.id.clone(), vec![next.name.clone()]);
        writer.push(Event::MessageAddressed { id: id.clone(), to: to.clone().into() });
        withdraw_nudges(writer, &id, std::slice::from_ref(holder));
        writer.push(Event::MessageSuperseded { id, members: vec![holder.clone()].into() });
        writer.deliver_to_waits(message, &to);
    }
}

/// Returns the messages to pass on, each with who has it, oldest first.
fn mail_for_lead<'a>(
    state: &'a State,
    before: Option<&Session>,
    next: &Session,
) -> Vec<(&'a Message, &'a Name)> {
    let lost = state.names().filter(|name| match state.live(name) {
        Some(live) => {
            live.id != next.id && (live.hung || before.is_some_and(|one| one.id == live.id))
        }
        None => true,
    });
    let may_get = |message: &Message| {
        message.from.member() != Some(&next.name)
            && matches!(
                message.delivery(&next.name),
                None | Some(Delivery::Superseded | Delivery::Expired)
            )
    };
    let is_mail = |message: &&Message| {
        // A request is shown to whoever its address means, and a message of the queue passes to the next who fits.
        let is_told = !matches!(
            message.kind,
            MessageKind::Request | MessageKind::Nudge | MessageKind::Shutdown
        );
        is_told
            && message.is_for_lead()
            && !conflicts::asks_lead(state, message)
            && !state.is_promised(&message.id)
            && may_get(message)
    };
    let mail = lost.flat_map(|name| {
        let unread = state.unread(name).filter(is_mail);
        unread.map(move |message| (message, name))
    });
    let mut mail: Vec<_> = mail.collect();
    mail.sort_by_key(|(message, _)| message.seq);
    // A message that was to several is passed on once.
    mail.dedup_by_key(|(message, _)| message.seq);
    mail
}

/// Makes what was for the lead unread again where an orchestrator that does not respond may never have read it.
pub(in crate::bus::rules) fn requeue_mail_for_lead(writer: &mut Writer<'_>, hung: &Session) {
    let state = writer.state;
    writer.ignore_waits_of(hung.id);
    for call in hung.in_flight.keys() {
        if state.in_flight_to(hung.id, *call).iter().any(|message| message.is_for_lead()) {
            writer.requeue(hung.id, *call);
        }
    }
}

impl Writer<'_> {
    /// Returns the orchestrator that leads, unless it leaves by this step.
    pub(in crate::bus::rules) fn lead(&self) -> Option<&Session> {
        self.state.lead().filter(|lead| !self.is_leaving(lead.id))
    }
}
