//! The board: everything that stands on a bus at one moment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::commitments::SHORT_WORDS;
use super::rows::member_row::is_there;
use super::shown::interrupted;
use super::stretches::by_member;
use super::{
    ConflictRow, Group, MemberRow, Moment, Need, PermissionRow, Problem, RequestRow, Spent,
    Stretch, TaskRow, Texts, Totals, WorkflowTree, last_turns, needs, problems, waits,
};
use crate::bus::state::{Permission, State};
use crate::domain::ids::SessionId;
use crate::domain::task::TaskStatus;
use crate::domain::text::counted::counted_as;
use crate::domain::text::listed::listed;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::Now;
use crate::domain::wait_times;

/// The version of the read model. It increases when a field changes its meaning, not when a field is added.
pub const VIEW_VERSION: u32 = 1;

/// The most characters of a prompt in a row; a window cuts the row where it ends.
const SHOWN_CHARS: usize = 400;

/// What a board is made of, besides texts.
pub struct Looked<'a> {
    pub state: &'a State,
    /// The seq of the last event in the state.
    pub seq: u64,
    /// The time.
    pub now: Now,
    /// Says whether the process of a session lives.
    pub is_held: &'a dyn Fn(SessionId) -> bool,
    /// The lines of the log that were passed over because they are damaged.
    pub damaged_lines: u64,
    /// The most ended tasks, ended requests, ended workflows and members that left to show, of each.
    pub most_ended: usize,
}

/// Everything that stands on a bus.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Board {
    /// The version of this format.
    pub version: u32,
    /// The seq of the last event that it shows.
    pub seq: u64,
    /// When it was made.
    pub at: Moment,
    /// What waits for a person.
    pub needs_you: Vec<Need>,
    /// Live members, longest-lived first, then agents that left in the last minutes.
    pub members: Vec<MemberRow>,
    /// Tasks, the one assigned last first: all open ones, and the last ended ones.
    pub tasks: Vec<TaskRow>,
    /// Requests without an answer, oldest first.
    pub requests: Vec<RequestRow>,
    /// The last requests that have ended, the one that ended last first.
    pub ended_requests: Vec<RequestRow>,
    /// Permission questions without an answer, oldest first.
    pub permissions: Vec<PermissionRow>,
    /// Disagreements between members that are not over, oldest first, and then the last that are, newest first.
    pub conflicts: Vec<ConflictRow>,
    /// Workflows, newest first: all open ones, and the last ended ones.
    pub workflows: Vec<WorkflowTree>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    pub totals: Totals,
}

impl Board {
    /// Makes a board.
    pub fn of(looked: &Looked<'_>, texts: &mut dyn Texts) -> Self {
        let Looked { state, now, most_ended, .. } = *looked;
        let mut used = usage_by_session(state);
        let live = state.live_sessions().into_iter();
        let mut members: Vec<_> = live
            .map(|session| {
                let usage = used.remove(&session.id).unwrap_or_default();
                let is_there = is_there(state, session, looked.is_held);
                MemberRow::of(state, session, (is_there, usage), now, texts)
            })
            .collect();
        let failures = last_failures(state);
        for row in members.iter_mut().filter(|row| row.group == Group::Idle) {
            if let Some(class) = failures.get(&row.session) {
                row.doing = format!("{}; its last task failed ({class})", row.doing);
                if let Some(words) = &mut row.failed_wake {
                    *words = format!("{words}; its last task failed, too ({class})");
                }
            }
        }
        let ended = state.departed().rev().filter(|ended| problems::is_shown(state, ended, now));
        let ended: Vec<_> = ended.collect();
        let not_shown = ended.len().saturating_sub(most_ended);
        members.extend(ended.into_iter().take(most_ended).map(|ended| {
            MemberRow::of_ended(ended, used.remove(&ended.session).unwrap_or_default(), now)
        }));
        for (session, prompt) in interrupted(state) {
            let mut ended = members.iter_mut().filter(|row| row.state == "left");
            let row = ended.find(|row| row.session == session);
            let words =
                row.and_then(|row| Some((row, texts.first_of_prompt(prompt, SHOWN_CHARS)?)));
            if let Some((row, words)) = words {
                row.doing = format!("{}, in {}", row.doing, quoted(&words, SHOWN_CHARS));
            }
        }
        waits::put_words(&mut members);
        let tasks = tasks(looked, texts);
        put_those_at_work(&mut members, &tasks);
        // Nobody can answer an agent whose process has ended.
        let is_waiting = |permission: &&Permission| {
            let agent = state.session(permission.question.session);
            agent.is_none_or(|agent| is_there(state, agent, looked.is_held))
        };
        let asked = state.open_permissions().into_iter().filter(is_waiting);
        let permissions: Vec<_> = asked.map(PermissionRow::of).collect();
        Self {
            version: VIEW_VERSION,
            seq: looked.seq,
            at: Moment(now.wall_ms),
            needs_you: needs::of(state, &members, &permissions, now, texts),
            tasks,
            requests: requests(state, now, texts),
            ended_requests: RequestRow::of_ended(state, most_ended, now, texts),
            conflicts: ConflictRow::all(state, most_ended, texts),
            workflows: workflows(looked),
            problems: problems::of(state, &members, (looked.damaged_lines, now), texts),
            totals: Totals::of(state, &members, not_shown),
            permissions,
            members,
        }
    }
}

impl Board {
    /// Adds what only the last stretches show: members that are just asking anew still wait, since they first asked, and turns without a
    /// task. Every window shows that, so that they agree.
    #[must_use]
    pub fn with_last_stretches(mut self, stretches: &[Stretch]) -> Self {
        let by_member = by_member(stretches);
        waits::bridge(&mut self.members, &by_member, self.at);
        last_turns::add(&mut self.members, &by_member);
        waits::put_words(&mut self.members);
        problems::replace_waits(&mut self.problems, &self.members);
        self
    }

    /// Says whether somebody waits for a member, or may be just asking anew: then the last stretches say who does, and since when.
    pub fn may_be_waiting(&self) -> bool {
        let is_recent =
            |row: &MemberRow| row.last_written.until(self.at) < wait_times::WAIT_ASKED_AGAIN_MS;
        let mut rows = self.members.iter();
        rows.any(|row| row.waits_for.is_some() || waits::may_ask_anew(row) && is_recent(row))
    }

    /// Returns what a member does now, as its row has the age of that beside it: for whom it waits, in a turn the prompt of its task, and
    /// what others count on it for. An answer that is overdue comes first.
    pub fn now_words(&self, row: &MemberRow) -> String {
        let commitments = row.commitments_in_words(self.at);
        let most = if commitments.is_empty() { SHOWN_CHARS } else { SHORT_WORDS };
        let prompt = row.task_id.as_ref().and_then(|id| {
            let task = self.tasks.iter().find(|task| task.task_id == *id)?;
            Some(quoted(task.prompt.as_ref()?, most))
        });
        let queued = match row.queued {
            0 => String::new(),
            some => format!(" (+{some} queued)"),
        };
        let does = match (row.state.as_str(), &row.wait_words, prompt) {
            ("running", None, Some(prompt)) => format!("{prompt}{queued}"),
            ("waiting", words, prompt) | ("running", words @ Some(_), prompt) => {
                let waits = words.as_ref().unwrap_or(&row.doing);
                // Whom it waits for may stand last in these words: the queue is not that member's.
                let of_task = prompt.map(|prompt| format!(", in {prompt}"));
                match (of_task, row.queued) {
                    (Some(of_task), _) => format!("{waits}{of_task}{queued}"),
                    (None, 0) => waits.clone(),
                    (None, some) => {
                        let own = counted_as(
                            some,
                            "more task of its own is",
                            "more tasks of its own are",
                        );
                        format!("{waits}; {own} queued")
                    }
                }
            }
            _ => row.doing.clone(),
        };
        with_commitments(row, does, commitments)
    }

    /// Returns what a member is doing, with the id of its task and since when it does that, and what others count on it for.
    pub fn doing_words(&self, row: &MemberRow) -> String {
        with_commitments(row, row.doing.clone(), row.commitments_in_words(self.at))
    }

    /// Says whether it shows the same as another one that was made of the same events at another time, but for ages and the time that is
    /// left of something, which a window paints anew when they change.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let Self {
            version: _,
            seq: _,
            at: _,
            needs_you,
            members,
            tasks,
            requests,
            ended_requests,
            permissions,
            conflicts,
            workflows,
            problems,
            totals,
        } = self;
        *needs_you == other.needs_you
            && members.len() == other.members.len()
            && members.iter().zip(&other.members).all(|(row, other)| row.is_same_as(other))
            && *tasks == other.tasks
            && requests.len() == other.requests.len()
            && requests.iter().zip(&other.requests).all(|(row, other)| row.is_same_as(other))
            && *ended_requests == other.ended_requests
            && *permissions == other.permissions
            && *conflicts == other.conflicts
            && *workflows == other.workflows
            && problems.len() == other.problems.len()
            && problems.iter().zip(&other.problems).all(|(one, other)| one.is_same_as(other))
            && *totals == other.totals
    }

    /// Returns how many members of a group have no row, as the board shows only the last ones that have ended.
    pub fn without_row(&self, group: Group) -> usize {
        let rows = self.members.iter().filter(|row| row.group == group).count();
        if group == Group::Ended { self.totals.ended.saturating_sub(rows) } else { 0 }
    }

    /// Returns what is wrong and does not stand among what needs a person, the ends of members last, each with the row that shows it,
    /// if there is one. Every window lists and counts these.
    pub fn problems_beside_needs(&self) -> Vec<(&Problem, Option<&MemberRow>)> {
        let beside = self.problems.iter().filter(|problem| !problem.is_among_needs());
        // Of many that have ended together, the words name the first.
        let row_of = |problem: &Problem| {
            let mut rows = self.members.iter().filter(|_| problem.agents.is_empty());
            rows.find(|row| problem.is_end_of(row))
        };
        let mut shown: Vec<_> = beside.map(|problem| (problem, row_of(problem))).collect();
        shown.sort_by_key(|(_, row)| row.is_some());
        shown
    }

    /// Returns the disagreements that members still settle among themselves, oldest first. Those that the user is asked to decide stand
    /// among what needs a person, and the others among what has been decided.
    pub fn open_disagreements(&self) -> Vec<&ConflictRow> {
        self.conflicts.iter().filter(|row| row.is_among_members()).collect()
    }

    /// Says whether the end of a member stands among what is wrong.
    pub fn is_problem(&self, row: &MemberRow) -> bool {
        self.problems.iter().any(|problem| problem.is_end_of(row))
    }

    /// Returns how many tasks that have ended have no row, of those that the state still has.
    pub fn ended_tasks_without_row(&self) -> usize {
        let shown = self.tasks.iter().filter(|task| task.ended_at.is_some()).count();
        (self.totals.tasks_done + self.totals.tasks_not_done).saturating_sub(shown)
    }

    /// Says how many things wait for a person; nothing if there are none.
    pub fn needs_in_words(&self) -> Option<String> {
        match self.needs_you.len() {
            0 => None,
            1 => Some("1 needs you".to_owned()),
            some => Some(format!("{some} need you")),
        }
    }

    /// Returns how many of the unread messages no row shows: those for members who are not here, of names that were chosen.
    pub fn unread_without_row(&self) -> usize {
        let shown: usize = self.members.iter().map(|row| row.unread).sum();
        self.totals.unread.saturating_sub(shown)
    }
}

/// Puts what others count on a member for beside what it does; what is overdue before it.
fn with_commitments(row: &MemberRow, does: String, mut commitments: Vec<String>) -> String {
    let overdue = row.owes.iter().filter(|owed| owed.is_overdue()).count();
    commitments.insert(overdue, does);
    commitments.join("; ")
}

/// Says of each member that is no agent which agents are in a turn of a task that it gave them.
fn put_those_at_work(members: &mut [MemberRow], tasks: &[TaskRow]) {
    let is_in_turn = |task: &&TaskRow| {
        let mut rows = members.iter();
        task.status == "running"
            && rows.any(|row| row.task_id.as_ref() == Some(&task.task_id) && row.state != "gone")
    };
    let mut at_work = BTreeMap::<String, Vec<String>>::new();
    for task in tasks.iter().filter(is_in_turn) {
        at_work.entry(task.assigned_by.clone()).or_default().push(task.agent.clone());
    }
    let leads = |row: &&mut MemberRow| row.kind != "agent" && row.group == Group::Idle;
    for row in members.iter_mut().filter(leads) {
        if let Some(mut agents) = at_work.remove(&row.name) {
            agents.sort();
            agents.dedup();
            let names: Vec<_> = agents.iter().map(String::as_str).collect();
            let are = if names.len() == 1 { "is" } else { "are" };
            row.doing = format!("{} {are} in a turn for it; {}", listed(&names, "and"), row.doing);
            row.at_work_for_it = agents;
        }
    }
}

/// Sums up what the turns of each session have used.
fn usage_by_session(state: &State) -> BTreeMap<SessionId, Spent> {
    let mut used = BTreeMap::<_, Spent>::new();
    let live = state.live_sessions().into_iter().map(|live| (live.id, &live.used_beside_tasks));
    let ended = state.departed().map(|ended| (ended.session, &ended.used_beside_tasks));
    for (session, usage) in live.chain(ended) {
        if let Some(usage) = usage {
            used.entry(session).or_default().add(usage);
        }
    }
    for task in state.tasks() {
        if let Some(usage) = &task.usage {
            used.entry(task.session).or_default().add(usage);
        }
    }
    used
}

/// Returns the class of the error of each session whose last task has failed.
fn last_failures(state: &State) -> BTreeMap<SessionId, String> {
    let mut last = BTreeMap::new();
    for task in state.tasks().filter(|task| task.status.is_final()) {
        let newest = last.entry(task.session).or_insert(task);
        if newest.ended_ms <= task.ended_ms {
            *newest = task;
        }
    }
    let failed = last.into_iter().filter(|(_, task)| task.status == TaskStatus::Failed);
    failed
        .map(|(session, task)| {
            let class = task.error.as_ref().map(|error| error.class.clone());
            (session, class.unwrap_or_else(|| "unknown".to_owned()))
        })
        .collect()
}

fn tasks(looked: &Looked<'_>, texts: &mut dyn Texts) -> Vec<TaskRow> {
    let Looked { state, is_held, most_ended, now, .. } = *looked;
    let mut ended = 0;
    let shown = state.newest_tasks().into_iter().filter(|task| {
        ended += usize::from(task.status.is_final());
        !task.status.is_final() || ended <= most_ended
    });
    shown.map(|task| TaskRow::of(state, task, (is_held, now), texts)).collect()
}

fn requests(state: &State, now: Now, texts: &mut dyn Texts) -> Vec<RequestRow> {
    let mut open: Vec<_> = state.unanswered_requests().collect();
    open.sort_by_key(|request| request.seq);
    open.into_iter().map(|request| RequestRow::of(state, request, now, texts)).collect()
}

fn workflows(looked: &Looked<'_>) -> Vec<WorkflowTree> {
    let Looked { state, is_held, most_ended, .. } = *looked;
    let mut ended = 0;
    let shown = state.workflows().into_iter().filter(|workflow| {
        ended += usize::from(workflow.status.is_final());
        !workflow.status.is_final() || ended <= most_ended
    });
    shown.map(|workflow| WorkflowTree::of(workflow, state).led_by(workflow, is_held)).collect()
}
