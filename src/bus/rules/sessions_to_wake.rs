//! The sessions to wake after an append.

use std::collections::BTreeSet;

use crate::bus::event::{
    Addressees, AnswerWritten, Created, Event, Finished, MessageSent, PermissionAnswered,
    PermissionAsked, RequestOpened, Resumed, StepApproved, StepEnded, TaskAssigned, TaskPlaced,
    UnheardClaim,
};
use crate::bus::state::State;
use crate::domain::ids::{MessageId, PermissionId, SessionId, TaskId, WorkflowId};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::workflow::StepStatus;

/// Returns the sessions that have something to do after these events; `state` is the one after them.
///
/// An event about an agent also concerns the bridge that holds it: only that bridge acts on its session.
pub(in crate::bus) fn concerned(state: &State, events: &[Event]) -> BTreeSet<SessionId> {
    let mut all = BTreeSet::new();
    for event in events {
        match event {
            Event::MessageSent(sent) => add_recipients(state, sent, &mut all),
            Event::RequestOpened(RequestOpened { message: id, to, .. })
            | Event::MessageAddressed { id, to } => add_addressees(state, id, to, &mut all),
            Event::MessageHanded { session, .. }
            | Event::MessageReturned { session, .. }
            | Event::WaitEnded { session, .. }
            | Event::AnswerWritten(AnswerWritten { session, .. })
            | Event::ClaimUnheard(UnheardClaim { session, .. })
            | Event::MemberTools { session, .. }
            | Event::AgentCrashed { session, .. }
            | Event::TaskPlaced(TaskPlaced { with: session, .. })
            | Event::PlacementEnded { asker: session, .. }
            | Event::StopAsked { session, .. } => add_session(state, *session, &mut all),
            Event::MemberStarting(_)
            | Event::MemberJoined(_)
            | Event::MemberLeft { .. }
            | Event::MemberModel { .. }
            | Event::TopicFollowed(_)
            | Event::TopicLeft(_)
            | Event::LaneClaimed(_)
            | Event::LaneReleased(_)
            | Event::LeadTaken(_)
            | Event::MemberActivity { .. }
            | Event::AgentStirred { .. }
            | Event::AgentStalled { .. }
            | Event::AgentStuck { .. }
            | Event::AgentFree { .. }
            | Event::MemberHung { .. }
            | Event::MemberBack { .. } => all.extend(state.view_keepers()),
            Event::TaskAssigned(assigned) => add_assigned(state, assigned, &mut all),
            Event::TaskCancelAsked { id, .. }
            | Event::TaskStarted { id }
            | Event::TaskResumed { id }
            | Event::TaskFinished(Finished { id, .. }) => add_task(state, id, &mut all),
            Event::PermissionAsked(PermissionAsked { id, .. })
            | Event::PermissionAnswered(PermissionAnswered { id, .. }) => {
                add_permission(state, id, &mut all);
            }
            Event::WorkflowCreated(Created { id, .. })
            | Event::WorkflowResumed(Resumed { id, .. })
            | Event::StepApproved(StepApproved { workflow: id, .. })
            // It may be the refusal of an approval.
            | Event::StepEnded(StepEnded {
                workflow: id,
                status: StepStatus::Cancelled,
                ..
            })
            | Event::WorkflowCancelAsked { id, .. } => add_workflow(state, id, &mut all),
            Event::MemberForgotten { .. }
            // It stands beside the beginning of its session.
            | Event::MemberDescribed(_)
            | Event::AgentRuns(_)
            | Event::AgentSwept { .. }
            | Event::LimitsSet(_)
            | Event::ArbiterSet { .. }
            | Event::MemberMethods { .. }
            | Event::TurnUsed { .. }
            | Event::MessageSeen { .. }
            | Event::MessageAcknowledged(_)
            | Event::ThreadResolved(_)
            | Event::MessageSuperseded { .. }
            | Event::MessageExpired { .. }
            | Event::MessageUnclaimed { .. }
            | Event::MessageReminded { .. }
            | Event::MessageUnanswered { .. }
            | Event::ConflictOpened(_)
            | Event::ConflictMoved(_)
            | Event::ConflictResolved(_)
            | Event::ConflictOverruled(_)
            | Event::WaitStarted { .. }
            | Event::RequestNudged { .. }
            | Event::RequestClaimed { .. }
            | Event::ClaimKnown(_)
            | Event::RequestReopened { .. }
            | Event::RequestCompleted { .. }
            | Event::RequestExpired { .. }
            | Event::RequestRenewed { .. }
            | Event::RequestReminded { .. }
            | Event::RequestHandedOver { .. }
            | Event::RequestFailed { .. }
            | Event::PermissionNotified { .. }
            // The leader of the workflow writes them itself.
            | Event::StepAsked(_)
            | Event::StepStarted(_)
            | Event::StepExpanded(_)
            | Event::StepReturned(_)
            | Event::StepEnded(_)
            | Event::WorkflowEnded { .. }
            // A server looks at the state when it is given a key.
            | Event::HostOffered { .. }
            | Event::KeyMade { .. }
            | Event::KeyRevoked { .. }
            | Event::WebhookSent { .. }
            | Event::ProjectsListed(_)
            | Event::MessageRelayed(_)
            | Event::MessageHeld(_)
            | Event::ReceiptsTold(_)
            | Event::SegmentFailed { .. } => {}
        }
    }
    all
}

/// Whoever has placed a task waits until the host's bridge has assigned it.
fn add_assigned(state: &State, assigned: &TaskAssigned, all: &mut BTreeSet<SessionId>) {
    add_session(state, assigned.session, all);
    let owner = state.session(assigned.session).and_then(|agent| agent.owner);
    if owner.is_some_and(|owner| state.offer_of(owner).is_some()) {
        add_name(state, &assigned.by, all);
    }
}

/// A message to another project concerns those who take it there.
fn add_recipients(state: &State, sent: &MessageSent, all: &mut BTreeSet<SessionId>) {
    if sent.audience.elsewhere().is_some() {
        all.extend(state.couriers());
    }
    add_addressees(state, &sent.id, &sent.to, all);
}

/// If the event names all members but some, the addressees are in the message.
fn add_addressees(state: &State, id: &MessageId, to: &Addressees, all: &mut BTreeSet<SessionId>) {
    for name in to.named() {
        add_name(state, name, all);
    }
    if let (Addressees::AllBut(_), Some(message)) = (to, state.message(id)) {
        for (name, _) in message.deliveries.iter() {
            add_name(state, name, all);
        }
    }
}

fn add_name(state: &State, name: &Name, all: &mut BTreeSet<SessionId>) {
    if let Some(session) = state.live(name) {
        add_session(state, session.id, all);
    }
}

fn add_session(state: &State, id: SessionId, all: &mut BTreeSet<SessionId>) {
    if let Some(session) = state.session(id) {
        all.insert(id);
        all.extend(session.owner);
    }
}

fn add_workflow(state: &State, id: &WorkflowId, to: &mut BTreeSet<SessionId>) {
    to.extend(state.workflow(id).and_then(|workflow| workflow.owner));
}

/// A task concerns its agent's bridge and its assigner.
fn add_task(state: &State, id: &TaskId, all: &mut BTreeSet<SessionId>) {
    if let Some(task) = state.task(id) {
        add_session(state, task.session, all);
        add_name(state, &task.by, all);
    }
}

/// A permission question concerns its agent's bridge and all orchestrators: each can answer, or show it to its user. An answer of a
/// policy concerns no session.
fn add_permission(state: &State, id: &PermissionId, all: &mut BTreeSet<SessionId>) {
    if let Some(permission) = state.permission(id) {
        add_session(state, permission.question.session, all);
        let sessions = state.live_sessions().into_iter();
        let orchestrators = sessions.filter(|session| session.kind == MemberKind::Orchestrator);
        all.extend(orchestrators.map(|session| session.id));
    }
}
