//! The rules: which events follow from a command in a state. Pure.
//!
//! [`decide`] first emits what is due at the command's tick, then what was asked, as one append of several steps. A name, a claim, a hand-over is
//! exactly-once because it is decided here, under the log's lock.

mod command;
mod wake_whom;
mod decision;
mod overdue;
mod health;
mod members;
mod messages;
mod notice;
mod permissions;
mod delivery_proofs;
mod refusal;
mod requests;
mod session_summary;
mod tasks;
mod workflows;
mod event_writer;

#[cfg(test)]
mod tests;

pub use self::command::{
    Approval, AskedFirst, Broken, Command, Ending, NameChoice, NewAgent, NewItems, NewMember,
    NewQuestion, NewTask, NewWorkflow, Operation, PermissionReply, Pick,
};
pub use self::delivery_proofs::unsaid_by_hooks;
pub use self::messages::{known_member, picked};
pub use self::refusal::Refusal;
pub use self::session_summary::is_wanted as is_summary_wanted;
pub use self::wake_whom::concerned;

use self::decision::Decision;
use self::delivery_proofs::Untold;
use self::event_writer::Writer;
use self::session_summary::Heir;
use super::event::Proposal;
use super::state::State;
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::time::Now;

/// Decides what a command does: its events, nothing, or a refusal.
///
/// A command that is in the log already does nothing. Where what is due leaves no room for the command in one line, the proposal
/// is what is due alone, and has another id: the command is to be decided again behind it, and then finds room.
pub fn decide(state: &State, now: Now, command: &Command) -> Result<Option<Proposal>, Refusal> {
    if state.knows_command(command.id) {
        return Ok(None);
    }
    let mut decision = Decision::new(state, now, command);
    if !state.knows_command(command.id.ahead()) {
        overdue::write_due(&mut decision, state, now)?;
        decision.end_due();
    }
    match &command.ask {
        Operation::Due => {}
        Operation::Bury(sessions) => members::bury(&mut decision, sessions)?,
        Operation::Join(new) if state.session(new.session).is_some() => {}
        Operation::Join(new) => {
            members::bury(&mut decision, &members::holders_first(state, new))?;
            decision.step(|writer| members::join(writer, new))?;
            if let Some(aside) = &new.put_aside {
                decision.step(|writer| members::tell_put_aside(writer, new.session, aside))?;
            }
            let (NameChoice::Chosen(name) | NameChoice::Like(name)) = &new.wish;
            if new.kind == MemberKind::Orchestrator
                && (!new.dead.is_empty() || session_summary::is_wanted(state, name))
            {
                decision.step(|writer| {
                    session_summary::tell(writer, new.session, &[], Heir::of(&new.roles));
                    Ok(())
                })?;
            }
            // Mostly there are none, and then nothing more is to be decided.
            if state.has_unended_workflows() {
                decision.step(|writer| {
                    workflows::show_interrupted(writer, new.session);
                    Ok(())
                })?;
            }
        }
        Operation::TellEnds(session) => decision.step(|writer| {
            session_summary::tell(writer, *session, &[], session_summary::Heir::Yes);
            Ok(())
        })?,
        Operation::Hung(sessions, after_ms) => health::hung(&mut decision, sessions, *after_ms)?,
        Operation::Back(sessions) => decision.step(|writer| {
            health::back(writer, sessions);
            Ok(())
        })?,
        Operation::Crash { session, .. } => {
            decision.step(|writer| write_asked(writer, command))?;
            // In the state in which its calls hold nothing any more.
            decision.step(|writer| health::reopen_claims(writer, *session))?;
        }
        Operation::EndCalls(session) => {
            decision.step(|writer| write_asked(writer, command))?;
            delivery_proofs::end_untold(&mut decision, state, *session, Untold::All)?;
        }
        Operation::Settle { session, call, seen: false } => {
            decision.step(|writer| write_asked(writer, command))?;
            delivery_proofs::end_untold(&mut decision, state, *session, Untold::Of(*call))?;
        }
        _ => decision.step(|writer| write_asked(writer, command))?,
    }
    Ok(decision.into_proposal())
}

fn write_asked(writer: &mut Writer<'_>, command: &Command) -> Result<(), Refusal> {
    let me = command.by.filter(|by| writer.state.session(*by).is_some()).ok_or(Refusal::Left)?;
    messages::note_taken(writer, me, &command.taken);
    ask_as(writer, me, &command.ask)
}

#[expect(clippy::too_many_lines, reason = "one arm a kind of command")]
fn ask_as(writer: &mut Writer<'_>, me: SessionId, ask: &Operation) -> Result<(), Refusal> {
    match ask {
        Operation::Due
        | Operation::TellEnds(_)
        | Operation::Bury(_)
        | Operation::Hung(..)
        | Operation::Back(_)
        | Operation::Join(_)
        | Operation::Taken => Ok(()),
        Operation::Runs(_)
        | Operation::Swept(_)
        | Operation::Stir(_)
        | Operation::Stall(..)
        | Operation::Stuck(_)
        | Operation::Free(_)
        | Operation::Crash { .. }
        | Operation::Limit(_) => ask_of_health(writer, me, ask),
        Operation::Start(new, task) => members::start(writer, me, new, task.as_ref()),
        Operation::Ready { session, model, pid } => {
            members::ready(writer, me, *session, model.as_deref(), *pid)
        }
        Operation::Ways { session, ways } => members::ways(writer, me, *session, ways),
        Operation::Activity { session, activity } => {
            members::activity(writer, me, *session, *activity)
        }
        Operation::Model { session, model } => members::model(writer, me, *session, model),
        Operation::Tools { session, tools } => members::tools(writer, me, *session, *tools),
        Operation::Leave { session, departure, detail } => {
            members::leave(writer, me, *session, *departure, detail.as_deref())
        }
        Operation::Send { to, body, reply_to, priority } => {
            messages::send(writer, me, to, (body, *priority), reply_to.as_deref())
        }
        Operation::Broadcast(body) => messages::broadcast(writer, me, body),
        Operation::Take { session, call, way, pick } => {
            messages::take(writer, me, *session, (*call, *way), pick)
        }
        Operation::Settle { session, call, seen } => {
            messages::settle(writer, me, *session, *call, *seen)
        }
        Operation::AnswerWritten(call) => {
            delivery_proofs::note_written(writer, me, *call);
            Ok(())
        }
        Operation::EndHooks(calls) => {
            delivery_proofs::end_hooks(writer, me, calls);
            Ok(())
        }
        Operation::EndCalls(session) => messages::end_calls(writer, me, *session),
        Operation::Wait { call, from, request, timeout_ms } => {
            messages::wait(writer, me, *call, (from.as_ref(), request.as_ref()), *timeout_ms)
        }
        Operation::EndWait { call } => messages::end_wait(writer, me, *call),
        Operation::Open { description, context, nudge_ms, ttl_ms } => {
            requests::open(writer, me, description, context.as_ref(), (*nudge_ms, *ttl_ms))
        }
        Operation::Claim(id, call) => requests::claim(writer, me, id, *call),
        Operation::Release(id, call) => delivery_proofs::release(writer, me, (id, *call)),
        Operation::Assign { session, task } => tasks::assign(writer, me, *session, task),
        Operation::StartTask(id) => tasks::start(writer, me, id),
        Operation::ResumeTask(id) => tasks::resume(writer, me, id),
        Operation::FinishTask(id, ending) => tasks::finish(writer, me, id, ending),
        Operation::CancelTask(id) => tasks::cancel(writer, me, id),
        Operation::TakeNotice(call, id) => delivery_proofs::take_notice(writer, me, *call, id),
        Operation::AskPermission(new) => permissions::ask(writer, me, new),
        Operation::RecordPermission(question, decision, times) => {
            permissions::record(writer, me, question, (*decision, *times))
        }
        Operation::AnswerPermission(id, saying) => permissions::answer(writer, me, id, *saying),
        Operation::TellPermission(id) => permissions::tell(writer, me, id),
        Operation::EndPermissions { session, ids } => permissions::end(writer, me, *session, ids),
        Operation::CreateWorkflow(new) => workflows::create(writer, me, new),
        Operation::MoveSteps(id, moves) => workflows::move_steps(writer, me, id, moves),
        Operation::SpreadStep(step, items) => workflows::spread(writer, me, step, items),
        Operation::CancelWorkflow(id) => workflows::cancel(writer, me, id),
        Operation::ApproveStep(step, approval) => workflows::approve(writer, me, step, approval),
        Operation::ResumeWorkflow(id) => workflows::resume(writer, me, id),
        Operation::Stop { agent, reason, kill } => {
            members::stop(writer, me, agent, reason.as_deref(), *kill)
        }
    }
}

fn ask_of_health(writer: &mut Writer<'_>, me: SessionId, ask: &Operation) -> Result<(), Refusal> {
    match ask {
        Operation::Runs(runs) => health::runs(writer, me, runs),
        Operation::Swept(session) => {
            health::swept(writer, *session);
            Ok(())
        }
        Operation::Stir(session) => health::stir(writer, me, *session),
        Operation::Stall(session, after_ms) => health::stall(writer, me, *session, *after_ms),
        Operation::Stuck(session) => health::stuck(writer, me, *session),
        Operation::Free(session) => health::free(writer, me, *session),
        Operation::Crash { session, detail, task } => {
            health::crash(writer, me, *session, detail, *task)
        }
        Operation::Limit(limits) => health::limit(writer, me, *limits),
        _ => Ok(()),
    }
}
