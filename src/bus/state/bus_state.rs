//! The state of a bus as one record: the part of the log's events that is still needed.
//!
//! Snapshots store the fields under these names.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{
    AccessKey, AwaitedAnswer, ChunkedLarge, Conflict, Due, EndedSession, Member, Message,
    OtherProjects, Permission, Placement, Request, Run, Session, Task, Timers, Unanswered, Watch,
    Workflow,
};
use crate::domain::ids::{
    CommandId, KeyId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Host, HostOffer, Label, SessionNumber};
use crate::domain::messaging::Arbiter;
use crate::domain::name::Name;
use crate::domain::time::Now;

/// The state of a bus after some entry of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The boot that deadlines count in.
    pub(in crate::bus) boot: u32,
    pub(in crate::bus) members: BTreeMap<Name, Member>,
    pub(in crate::bus) sessions: BTreeMap<SessionId, Session>,
    /// The number of the session that began last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::bus) last_number: Option<SessionNumber>,
    /// The orchestrator that leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::bus) lead: Option<SessionId>,
    /// The last sessions that left, oldest first.
    pub(in crate::bus) departed: VecDeque<EndedSession>,
    /// Messages that have not ended, and the last ended ones.
    pub(in crate::bus) messages: ChunkedLarge<MessageId, Message>,
    pub(in crate::bus) ended_messages: VecDeque<MessageId>,
    /// The answers that members owe, by the messages that they answer.
    #[serde(default)]
    pub(in crate::bus) awaited: BTreeMap<MessageId, AwaitedAnswer>,
    /// Messages that wait for somebody who fits their address.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(in crate::bus) queued: BTreeSet<MessageId>,
    /// Messages that want an answer of the user, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) user_questions: VecDeque<MessageId>,
    /// Disagreements by their threads: those that are not over, and the last that are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::bus) conflicts: BTreeMap<MessageId, Conflict>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) ended_conflicts: VecDeque<MessageId>,
    /// Who decides them, unless somebody can do what they are about; as the team has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::bus) arbiter: Option<Arbiter>,
    /// Requests that have not ended, and the last ended ones.
    pub(in crate::bus) requests: ChunkedLarge<RequestId, Request>,
    pub(in crate::bus) ended_requests: VecDeque<RequestId>,
    #[serde(skip)]
    pub(in crate::bus) unanswered: Unanswered,
    /// Sessions that have not yet been shown all open requests that are meant for them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(in crate::bus) newcomers: BTreeSet<SessionId>,
    /// Tasks that have not ended, and the last ended ones.
    pub(in crate::bus) tasks: ChunkedLarge<TaskId, Task>,
    pub(in crate::bus) ended_tasks: VecDeque<TaskId>,
    /// What the bridges of hosts offer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::bus) offers: BTreeMap<SessionId, HostOffer>,
    /// Tasks that wait for a host to start their agents, and why the last such were not begun.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::bus) placements: BTreeMap<TaskId, Placement>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(in crate::bus) unplaced: VecDeque<(TaskId, String)>,
    /// Questions for permission: the open ones, and the last answered.
    #[serde(default)]
    pub(in crate::bus) permissions: BTreeMap<PermissionId, Permission>,
    #[serde(default)]
    pub(in crate::bus) ended_permissions: VecDeque<PermissionId>,
    /// Workflows that have not ended, and the last ended ones.
    #[serde(default)]
    pub(in crate::bus) workflows: BTreeMap<WorkflowId, Workflow>,
    #[serde(default)]
    pub(in crate::bus) ended_workflows: VecDeque<WorkflowId>,
    /// The last commands: oldest first, and as a set.
    pub(in crate::bus) commands: VecDeque<CommandId>,
    #[serde(skip)]
    pub(in crate::bus) command_set: BTreeSet<CommandId>,
    pub(in crate::bus) timers: Timers,
    /// The time that has passed, for deadlines of days.
    #[serde(default)]
    pub(in crate::bus) watch: Watch,
    /// Names without a session, and the time at which their mail expires, which both the watch and the wall clock must have
    /// reached.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::bus) absent: BTreeMap<Name, i64>,
    /// Dead agents whose processes may still run, with those processes if they are known.
    #[serde(default)]
    pub(in crate::bus) unswept: BTreeMap<SessionId, Option<Run>>,
    /// Where live sessions, and dead agents whose processes may still run, are or were, on a bus that several machines share.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::bus) hosts: BTreeMap<SessionId, Host>,
    #[serde(default)]
    pub(in crate::bus) limits: TeamLimits,
    /// The valid keys for the HTTP API.
    #[serde(default)]
    pub(in crate::bus) keys: BTreeMap<KeyId, AccessKey>,
    /// How far the webhooks are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::bus) webhooks: BTreeMap<Label, u64>,
    /// Messages from project to project.
    #[serde(default, skip_serializing_if = "OtherProjects::is_empty")]
    pub(in crate::bus) other_projects: OtherProjects,
}

impl State {
    /// Returns the limits of the team.
    pub fn limits(&self) -> TeamLimits {
        self.limits
    }

    /// Rebuilds the fields that a snapshot leaves out because they follow from the others.
    pub(in crate::bus) fn rebuild(&mut self) {
        self.command_set = self.commands.iter().copied().collect();
        self.rebuild_unanswered();
        self.rebuild_read_inboxes();
        self.rebuild_absent();
    }

    /// Returns when a deadline is, in wall time to the second: the two clocks are read one after the other. None if it does not run.
    pub(in crate::bus::state) fn due_at_ms(&self, due: &Due, now: Now) -> Option<i64> {
        let runs = self.timers.runs(due) && now.tick.boot == self.boot;
        let left_ms = runs.then(|| self.timers.left_ms(due, now.tick.ms))?;
        let at_ms = now.wall_ms.saturating_add_unsigned(left_ms).saturating_add(500);
        Some(at_ms - at_ms.rem_euclid(1_000))
    }

    /// Returns the earliest deadline, in milliseconds of the boot that deadlines count in.
    pub(in crate::bus) fn earliest_due_ms(&self, now: Now) -> Option<u64> {
        let waits_at_once = self.newcomers().next().is_some() || self.lacks_lead();
        let others = self.timers.earliest_ms().into_iter();
        let others = others.chain(self.earliest_name_ms(now)).chain(self.queue_is_due_ms(now));
        if waits_at_once { Some(0) } else { others.min() }
    }
}
