//! Deadlines: the first process that looks writes the overdue work.

use super::decision::Decision;
use super::event_writer::Writer;
use super::refusal::Refusal;
use super::requests::{Unheard, end_unheard};
use super::{conflicts, members, messages, permissions, requests};
use crate::bus::event::Event;
use crate::bus::state::{Due, State};
use crate::domain::limits;
use crate::domain::time::Now;

/// Writes overdue work: each piece is a step of its own.
pub(super) fn write_due(
    decision: &mut Decision<'_>,
    state: &State,
    now: Now,
) -> Result<(), Refusal> {
    // After a reboot the timers mean nothing until the first entry of the new boot restarts them.
    if now.tick.boot != state.boot {
        return Ok(());
    }
    let names = state.due_names(now);
    let all = state.timers.due(now.tick.ms).chain(&names);
    for due in all.take(limits::DUE_AT_ONCE) {
        if decision.is_full() {
            break;
        }
        decision.step(|writer| {
            // An earlier step may have settled it.
            if writer.state.is_pending(due) {
                write(writer, due);
            }
            Ok(())
        })?;
        if let Due::Requeue(session, call) = due {
            end_unheard(decision, state, *session, Unheard::Unwritten(*call))?;
        }
    }
    if state.lacks_lead() {
        decision.step(|writer| {
            members::lead_rightfully(writer);
            Ok(())
        })?;
    }
    decision.step(|writer| {
        messages::deliver_queued(writer);
        Ok(())
    })?;
    for newcomer in state.newcomers() {
        if decision.is_full() {
            break;
        }
        decision.step(|writer| {
            requests::show_remaining_requests(writer, newcomer);
            Ok(())
        })?;
    }
    Ok(())
}

/// Each branch writes at least the event that stops the timer, or some progress towards it.
fn write(writer: &mut Writer<'_>, due: &Due) {
    match due {
        Due::Nudge(request) => requests::nudge(writer, request),
        Due::Expire(request) => requests::expire(writer, request),
        Due::Reopen(request) => requests::reopen(writer, request),
        Due::Lease(request) => requests::lease_due(writer, request),
        Due::Requeue(session, call) => writer.requeue(*session, *call),
        Due::Wait(session, call) => {
            writer.push(Event::WaitEnded { session: *session, call: *call });
        }
        Due::Mail(name) => members::end_mail(writer, name),
        Due::Message(id) => messages::expire(writer, id),
        Due::Answer(id) => messages::answer_is_due(writer, id),
        Due::Conflict(thread) => conflicts::conflict_is_due(writer, thread),
        Due::Permission(id) => permissions::expire(writer, id),
    }
}
