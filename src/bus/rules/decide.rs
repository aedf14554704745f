//! Decides a command: its rules, and the steps in which they run.

use super::asker::Asker;
use super::command::{Command, NewMember, Operation};
use super::decision::Decision;
use super::event_writer::Writer;
use super::members::session_summary;
use super::refusal::Refusal;
use super::requests::Unheard;
use super::{
    health, human_wish, members, messages, outward, overdue, permissions, requests, tasks,
    workflows,
};
use crate::bus::event::{Event, Proposal};
use crate::bus::state::{State, Wait};
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::messaging::Group;
use crate::domain::name::Name;
use crate::domain::time::Now;

/// Decides what a command does: its events, nothing, or a refusal.
///
/// A command that is already in the log does nothing. If overdue work leaves no room for the command in one line, the proposal
/// has the overdue work only, under another id. The caller appends it and decides the command again, which then has room.
pub fn decide(state: &State, now: Now, command: &Command) -> Result<Option<Proposal>, Refusal> {
    if state.knows_command(command.id) {
        return Ok(None);
    }
    let mut decision = Decision::new(state, now, command);
    if !state.knows_command(command.id.ahead()) {
        overdue::write_due(&mut decision, state, now)?;
        decision.end_due();
    }
    match &command.operation {
        Operation::Due => {}
        Operation::Reap(sessions) => members::reap(&mut decision, sessions)?,
        Operation::Join(new) if state.session(new.session).is_some() => {}
        Operation::Join(new) => {
            members::reap(&mut decision, &members::name_holder_first(state, new))?;
            join(&mut decision, state, new)?;
        }
        Operation::NotifyOfEndedTasks(session) => decision.step(|writer| {
            session_summary::notify(writer, *session, &[]);
            if !writer.state.is_lead(*session) {
                session_summary::inherit(writer);
            }
            Ok(())
        })?,
        Operation::Hung(sessions, after_ms) => health::hung(&mut decision, sessions, *after_ms)?,
        Operation::Back(sessions) => {
            decision.step(|writer| {
                health::back(writer, sessions);
                Ok(())
            })?;
            members::settle_lead(&mut decision)?;
        }
        Operation::Leave { .. } | Operation::Fail { .. } => {
            decision.step(|writer| write_operation(writer, command))?;
            members::settle_lead(&mut decision)?;
        }
        Operation::Crossing(crossing) if command.by.is_none() => {
            decision.step(|writer| outward::from_elsewhere(writer, crossing))?;
        }
        Operation::ByHuman(wish) => decision.step(|writer| human_wish::perform(writer, wish))?,
        Operation::Crash { session, .. } => {
            decision.step(|writer| write_operation(writer, command))?;
            // In a state in which the calls of the session hold nothing any more.
            decision.step(|writer| health::reopen_claims(writer, *session))?;
        }
        Operation::EndCalls(session) => {
            decision.step(|writer| write_operation(writer, command))?;
            requests::end_unheard(&mut decision, state, *session, Unheard::All)?;
        }
        Operation::Settle { session, call, seen: false } => {
            decision.step(|writer| write_operation(writer, command))?;
            requests::end_unheard(&mut decision, state, *session, Unheard::Of(*call))?;
        }
        Operation::Send { to, more, .. } => {
            decision.step(|writer| write_operation(writer, command))?;
            let may_wait = more.as_ref().is_some_and(|more| more.queue);
            if may_wait || matches!(Group::parse(to.trim()), Ok(Some(Group::Human))) {
                decision.step(|writer| {
                    messages::deliver_queued(writer);
                    Ok(())
                })?;
            }
        }
        Operation::FollowTopic(_) => {
            decision.step(|writer| write_operation(writer, command))?;
            // What waited for the first who follows it.
            decision.step(|writer| {
                messages::deliver_queued(writer);
                Ok(())
            })?;
        }
        _ => decision.step(|writer| write_operation(writer, command))?,
    }
    Ok(decision.into_proposal())
}

/// A session joins by itself. What an orchestrator is told depends on whether it leads.
fn join(decision: &mut Decision<'_>, before: &State, new: &NewMember) -> Result<(), Refusal> {
    decision.step(|writer| members::join(writer, new))?;
    if let Some(aside) = &new.put_aside {
        decision.step(|writer| members::notify_put_aside(writer, new.session, aside))?;
    }
    if new.description.takes_lead {
        decision.step(|writer| {
            members::take_lead(writer, new.session);
            Ok(())
        })?;
    } else {
        members::settle_lead(decision)?;
    }
    decision.step(|writer| {
        if let Some(listed) = &new.description.projects {
            outward::list_projects(writer, new.session, listed);
        }
        if let Some(arbiter) = &new.description.arbiter
            && writer.state.arbiter() != *arbiter
            && outward::sets_up_team(writer.state, new.session)
        {
            writer.push(Event::ArbiterSet { arbiter: arbiter.clone() });
        }
        if let Some(limits) = new.description.limits
            && outward::sets_up_team(writer.state, new.session)
        {
            health::limit(writer, new.session, limits)?;
        }
        Ok(())
    })?;
    let is_needed = |name: &Name| session_summary::is_needed(before, name);
    if new.kind == MemberKind::Orchestrator
        && (!new.dead.is_empty() || new.choice.wanted().iter().any(is_needed))
    {
        decision.step(|writer| {
            session_summary::notify(writer, new.session, &[]);
            if !writer.state.is_lead(new.session) {
                session_summary::inherit(writer);
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn write_operation(writer: &mut Writer<'_>, command: &Command) -> Result<(), Refusal> {
    let me = command.by.filter(|by| writer.state.session(*by).is_some()).ok_or(Refusal::Left)?;
    messages::note_received(writer, me, &command.received);
    perform(writer, me, &command.operation)
}

/// What a bridge reports of an agent.
fn perform_on_session(
    writer: &mut Writer<'_>,
    me: SessionId,
    operation: &Operation,
) -> Result<(), Refusal> {
    match operation {
        Operation::Ready { session, model, pid } => {
            members::ready(writer, me, *session, model.as_deref(), *pid)
        }
        Operation::DeliveryMethods { session, methods } => {
            members::delivery_methods(writer, me, *session, methods)
        }
        Operation::Activity { session, activity } => {
            members::activity(writer, me, *session, *activity)
        }
        Operation::Model { session, model } => members::model(writer, me, *session, model),
        Operation::Tools { session, tools } => members::tools(writer, me, *session, *tools),
        Operation::TurnUsed { session, usage } => members::turn_used(writer, me, *session, usage),
        _ => Ok(()),
    }
}

fn perform_on_groups(
    writer: &mut Writer<'_>,
    me: SessionId,
    operation: &Operation,
) -> Result<(), Refusal> {
    match operation {
        Operation::FollowTopic(topic) => messages::follow_topic(writer, me, topic),
        Operation::LeaveTopic(topic) => messages::leave_topic(writer, me, topic),
        Operation::ClaimLane(lane) => members::claim_lane(writer, me, lane),
        Operation::LoseLane(lane) => members::lose_lane(writer, me, lane),
        Operation::ReleaseLane(lane) => members::release_lane(writer, me, lane),
        _ => Ok(()),
    }
}

fn perform(writer: &mut Writer<'_>, me: SessionId, operation: &Operation) -> Result<(), Refusal> {
    match operation {
        Operation::Due
        | Operation::NotifyOfEndedTasks(_)
        | Operation::Reap(_)
        | Operation::Hung(..)
        | Operation::Back(_)
        | Operation::Join(_)
        | Operation::ByHuman(_)
        | Operation::Received => Ok(()),
        Operation::Runs(_)
        | Operation::Swept(_)
        | Operation::Stir(_)
        | Operation::Stall(..)
        | Operation::Stuck(_)
        | Operation::Free(_)
        | Operation::Crash { .. }
        | Operation::Limit(_) => perform_on_health(writer, me, operation),
        Operation::Start(new, task) => members::start(writer, me, new, task.as_ref()),
        Operation::Ready { .. }
        | Operation::DeliveryMethods { .. }
        | Operation::Activity { .. }
        | Operation::Model { .. }
        | Operation::Tools { .. }
        | Operation::TurnUsed { .. } => perform_on_session(writer, me, operation),
        Operation::Leave { session, departure, detail } => {
            members::leave(writer, me, *session, *departure, detail.as_deref())
        }
        Operation::Fail { session, detail, error } => {
            members::fail(writer, me, *session, detail.as_deref(), error)
        }
        Operation::Send { to, body, reply_to, priority, more } => {
            messages::send(writer, me, to, (body, *priority, more.as_deref()), reply_to.as_deref())
        }
        Operation::Broadcast(body) => messages::broadcast(writer, me, body),
        Operation::FollowTopic(_)
        | Operation::LeaveTopic(_)
        | Operation::ClaimLane(_)
        | Operation::LoseLane(_)
        | Operation::ReleaseLane(_) => perform_on_groups(writer, me, operation),
        Operation::Take { session, call, method, pick } => {
            messages::take(writer, me, *session, (*call, *method), pick)
        }
        Operation::Settle { session, call, seen } => {
            messages::settle(writer, me, *session, *call, *seen)
        }
        Operation::Named(_) | Operation::AnswerWritten(_) | Operation::EndHooks(_) => {
            note_proof(writer, me, operation);
            Ok(())
        }
        Operation::Acknowledge { ids, status, note } => {
            messages::acknowledge(writer, me, ids, (*status, note.as_deref()))
        }
        Operation::EndCalls(session) => messages::end_calls(writer, me, *session),
        Operation::Wait { .. } | Operation::EndWait { .. } => {
            perform_on_waits(writer, me, operation)
        }
        Operation::Open { .. } => open_request(writer, me, operation),
        Operation::UpdateClaim(id, update) => requests::update_claim(writer, me, id, update),
        Operation::Claim(id, call) => requests::claim(writer, me, id, *call),
        Operation::Release(id, call) => requests::release(writer, me, (id, *call)),
        Operation::Offer(_) | Operation::Place(_) | Operation::EndPlacement(..) => {
            perform_for_hosts(writer, me, operation)
        }
        Operation::Assign { session, task } => tasks::assign(writer, me, *session, task),
        Operation::StartTask(id) => tasks::start(writer, me, id),
        Operation::ResumeTask(id) => tasks::resume(writer, me, id),
        Operation::FinishTask(id, ending) => tasks::finish(writer, me, id, ending),
        Operation::CancelTask(id) => tasks::cancel(writer, Asker::session(writer.state, me)?, id),
        Operation::TakeNotice(call, id) => messages::take_notice(writer, me, *call, id),
        Operation::AskPermission(new) => permissions::ask(writer, me, new),
        Operation::RecordPermission(question, decision, times) => {
            permissions::record(writer, me, question, (*decision, *times))
        }
        Operation::AnswerPermission(id, reply) => permissions::answer(writer, me, id, *reply),
        Operation::NotifyOfPermission(id) => permissions::notify(writer, me, id),
        Operation::EndPermissions { session, ids } => permissions::end(writer, me, *session, ids),
        Operation::CreateWorkflow(new) => workflows::create(writer, me, new),
        Operation::MoveSteps(id, moves) => workflows::move_steps(writer, me, id, moves),
        Operation::ExpandStep(step, items) => workflows::expand(writer, me, step, items),
        Operation::CancelWorkflow(id) => {
            workflows::cancel(writer, Asker::leader(writer.state, me)?, id)
        }
        Operation::ApproveStep(step, approval) => {
            workflows::approve(writer, Asker::leader(writer.state, me)?, step, approval)
        }
        Operation::ResumeWorkflow(id) => workflows::resume(writer, me, id),
        Operation::Crossing(crossing) => outward::crossing(writer, me, crossing),
        Operation::WebhookSent(name, seq) => outward::webhook_sent(writer, me, name, *seq),
        Operation::Stop { agent, reason, kill } => {
            let by = Asker::session(writer.state, me)?;
            members::stop(writer, by, agent, reason.as_deref(), *kill)
        }
    }
}

/// Notes what shows whether a model has seen messages.
fn note_proof(writer: &mut Writer<'_>, me: SessionId, operation: &Operation) {
    match operation {
        Operation::Named(id) => messages::note_named(writer, me, id),
        Operation::AnswerWritten(call) => messages::note_written(writer, me, *call),
        Operation::EndHooks(calls) => messages::end_hooks(writer, me, calls),
        _ => {}
    }
}

fn open_request(
    writer: &mut Writer<'_>,
    me: SessionId,
    operation: &Operation,
) -> Result<(), Refusal> {
    let Operation::Open { description, context, to, nudge_ms, ttl_ms, lease_ms, urgency } =
        operation
    else {
        return Ok(());
    };
    let texts = (description, context.as_ref());
    let times = (*nudge_ms, *ttl_ms, *lease_ms);
    requests::open(writer, me, to.as_deref(), texts, times, *urgency)
}

fn perform_for_hosts(
    writer: &mut Writer<'_>,
    me: SessionId,
    operation: &Operation,
) -> Result<(), Refusal> {
    match operation {
        Operation::Offer(offer) => tasks::offer(writer, me, offer),
        Operation::Place(new) => tasks::place(writer, me, new),
        Operation::EndPlacement(id, why) => tasks::end_placement(writer, me, id, why),
        _ => Ok(()),
    }
}

fn perform_on_waits(
    writer: &mut Writer<'_>,
    me: SessionId,
    operation: &Operation,
) -> Result<(), Refusal> {
    match operation {
        Operation::Wait { call, from, request, reply_to, timeout_ms } => {
            let wait = Wait::of(*call, from.as_ref(), request.as_ref(), reply_to.as_ref());
            messages::wait(writer, me, wait, *timeout_ms)
        }
        Operation::EndWait { call } => messages::end_wait(writer, me, *call),
        _ => Ok(()),
    }
}

fn perform_on_health(
    writer: &mut Writer<'_>,
    me: SessionId,
    operation: &Operation,
) -> Result<(), Refusal> {
    match operation {
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
