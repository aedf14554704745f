//! How each event changes the state.

use super::event_place::At;
use super::{State, Wait};
use crate::bus::event::LogPosition;
use crate::bus::event::{Entry, Event};
use crate::domain::ids::CommandId;
use crate::domain::limits;
use crate::domain::time::Now;

impl State {
    /// Takes an entry as a fact. `indices` are the places of its events in the line, some of which may have been skipped.
    pub fn apply(&mut self, entry: &Entry, indices: &[u16], place: LogPosition) {
        if entry.tick.boot != self.boot {
            let last_ms = self.watch.ms_of(self.boot);
            self.boot = entry.tick.boot;
            self.timers.carry_over(last_ms, entry.tick.ms);
        }
        self.watch = self.watch.after(Now { wall_ms: entry.ts, tick: entry.tick });
        self.remember(entry);
        for (event, index) in entry.events.iter().zip(indices) {
            let seq = entry.seq.saturating_add(u64::from(*index));
            self.apply_event(
                event,
                &At { seq, ts: entry.ts, tick: entry.tick, place, index: *index },
            );
        }
        if entry.events.iter().any(moves_members_between_groups) {
            self.show_requests_of_groups();
        }
        if !self.newcomers.is_empty() {
            self.forget_served_newcomers();
        }
    }

    /// Remembers the command, and when its session was last active.
    fn remember(&mut self, entry: &Entry) {
        if let Some(session) = entry.by.and_then(|by| self.sessions.get_mut(&by)) {
            session.last_ms = entry.ts;
        }
        if self.command_set.insert(entry.id) {
            self.commands.push_back(entry.id);
        }
        while self.commands.len() > limits::KEPT_COMMANDS {
            if let Some(oldest) = self.commands.pop_front() {
                self.command_set.remove(&oldest);
            }
        }
    }

    fn apply_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::MemberStarting(starting) => self.member_starting(starting, at),
            Event::MemberJoined(joined) => self.member_joined(joined, at),
            Event::MemberDescribed(described) => self.member_described(described),
            Event::TopicFollowed(_)
            | Event::TopicLeft(_)
            | Event::LaneClaimed(_)
            | Event::LaneReleased(_)
            | Event::LeadTaken(_) => self.group_event(event, at),
            Event::MemberActivity { session, activity } => {
                self.member_activity(*session, *activity, at);
            }
            Event::MemberMethods { session, .. }
            | Event::MemberModel { session, .. }
            | Event::MemberTools { session, .. }
            | Event::TurnUsed { session, .. } => self.member_trait(*session, event),
            Event::MemberLeft { session, departure, detail, alive_ms } => {
                self.member_left(*session, (*departure, detail.as_deref()), *alive_ms, at);
            }
            Event::MemberForgotten { name } => self.member_forgotten(name),
            Event::AgentRuns(_)
            | Event::AgentSwept { .. }
            | Event::AgentStirred { .. }
            | Event::AgentStalled { .. }
            | Event::AgentStuck { .. }
            | Event::AgentFree { .. }
            | Event::AgentCrashed { .. }
            | Event::MemberHung { .. }
            | Event::MemberBack { .. }
            | Event::LimitsSet(_) => self.apply_health(event, at),
            Event::MessageSent(sent) => self.message_sent(sent, at),
            Event::MessageAddressed { id, to } => self.message_addressed(id, to, at),
            Event::MessageUnclaimed { id } => self.message_unclaimed(id),
            Event::MessageHanded { ids, member, session, call, method } => {
                self.message_delivered(ids, member, (*session, *call, *method), at);
            }
            Event::MessageReturned { session, call } => self.message_requeued(*session, *call),
            Event::MessageSeen { session, call } => self.message_seen(*session, *call),
            Event::MessageAcknowledged(acknowledged) => self.message_acknowledged(acknowledged),
            Event::ThreadResolved(resolved) => self.thread_resolved(resolved),
            Event::AnswerWritten(written) => self.answer_written(written),
            Event::MessageSuperseded { id, members } => self.message_superseded(id, members),
            Event::MessageExpired { id, member } => self.message_expired(id, member),
            Event::MessageReminded { id } => self.message_reminded(id, at),
            Event::MessageUnanswered { id } => self.answer_not_awaited(id),
            Event::ConflictOpened(_)
            | Event::ConflictMoved(_)
            | Event::ConflictResolved(_)
            | Event::ConflictOverruled(_)
            | Event::ArbiterSet { .. } => self.conflict_event(event, at),
            Event::WaitStarted { session, call, from, request, reply_to, timeout_ms } => {
                let wait = Wait::of(*call, from.as_ref(), request.as_ref(), reply_to.as_ref());
                self.wait_started(*session, wait, *timeout_ms, at);
            }
            Event::WaitEnded { session, call } => self.wait_ended(*session, *call),
            Event::RequestOpened(_)
            | Event::RequestNudged { .. }
            | Event::RequestClaimed { .. }
            | Event::ClaimUnheard(_)
            | Event::ClaimKnown(_)
            | Event::RequestReopened { .. }
            | Event::RequestRenewed { .. }
            | Event::RequestReminded { .. }
            | Event::RequestHandedOver { .. }
            | Event::RequestFailed { .. }
            | Event::RequestCompleted { .. }
            | Event::RequestExpired { .. } => self.request_event(event, at),
            Event::HostOffered { .. } | Event::TaskPlaced(_) | Event::PlacementEnded { .. } => {
                self.placement_event(event, at);
            }
            Event::TaskAssigned(assigned) => self.task_assigned(assigned, at),
            Event::TaskStarted { id } | Event::TaskResumed { id } => self.task_started(id, at),
            Event::TaskCancelAsked { id, by, human } => self.task_cancel_asked(id, by, *human),
            Event::TaskFinished(finished) => self.task_finished(finished, at),
            Event::StopAsked { session, by, kill, human } => {
                self.stop_asked(*session, *kill, at);
                self.stopped_with_agent(*session, by, *human);
            }
            Event::PermissionAsked(_)
            | Event::PermissionNotified { .. }
            | Event::PermissionAnswered(_) => self.permission_event(event, at),
            Event::WorkflowCreated(_)
            | Event::WorkflowResumed(_)
            | Event::WorkflowCancelAsked { .. }
            | Event::WorkflowEnded { .. }
            | Event::StepAsked(_)
            | Event::StepApproved(_)
            | Event::StepStarted(_)
            | Event::StepExpanded(_)
            | Event::StepReturned(_)
            | Event::StepEnded(_) => self.workflow_event(event, at),
            Event::KeyMade { .. } | Event::KeyRevoked { .. } => self.key_event(event, at),
            Event::WebhookSent { name, seq, .. } => self.webhook_sent(name, *seq),
            Event::ProjectsListed(_)
            | Event::MessageRelayed(_)
            | Event::MessageHeld(_)
            | Event::ReceiptsTold(_) => self.crossing_event(event, at),
            Event::SegmentFailed { .. } => {}
        }
    }

    /// Says whether a command is among the last ones in the log.
    pub(in crate::bus) fn knows_command(&self, id: CommandId) -> bool {
        self.command_set.contains(&id)
    }

    /// Returns the last command in the log; none if there is none.
    pub(in crate::bus) fn last_command(&self) -> Option<CommandId> {
        self.commands.back().copied()
    }
}

/// Says whether members may be in a group from now on that were here and not in it before.
fn moves_members_between_groups(event: &Event) -> bool {
    matches!(
        event,
        Event::MemberLeft { .. }
            | Event::MemberHung { .. }
            | Event::MemberBack { .. }
            | Event::LaneClaimed(_)
            | Event::LaneReleased(_)
            | Event::LeadTaken(_)
            | Event::TopicFollowed(_)
    )
}
