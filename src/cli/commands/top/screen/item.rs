//! A row of a pane: a heading, or something that can be chosen.

use crate::view::{
    Board, ConflictRow, Decided, Happening, Letter, MemberRow, Moment, Need, NeedKind, Problem,
    RequestRow, StepNode, TaskRow, ThreadEnd, WorkflowTree,
};

/// A row of a pane.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli::commands::top) enum Item<'a> {
    /// A heading, how many rows it has, and how many are left out.
    Heading(&'a str, usize, usize),
    /// Something that waits for a person, and the member that waits, if it is one.
    Need(&'a Need, Option<&'a MemberRow>),
    /// Something that is wrong with the bus itself.
    Problem(&'a Problem),
    /// A disagreement that members still settle among themselves.
    Conflict(&'a ConflictRow),
    Member(&'a MemberRow),
    Letter(&'a Letter),
    /// Something that has been decided.
    Decided(&'a Decided),
    Task(&'a TaskRow),
    Request(&'a RequestRow),
    Workflow(&'a WorkflowTree),
    /// A step, and how deep it stands below those that it waits for.
    Step(&'a WorkflowTree, &'a StepNode, usize),
    Happening(&'a Happening),
}

impl<'a> Item<'a> {
    /// Returns what identifies it from one news to the next; nothing for a heading, which cannot be chosen.
    pub(in crate::cli::commands::top) fn key(&self) -> Option<String> {
        Some(match self {
            Self::Heading(..) => return None,
            Self::Need(need, _) => {
                let id = need.id.as_deref().unwrap_or_default();
                format!("need {} {} {id}", need.kind.as_str(), need.who)
            }
            Self::Problem(problem) => format!(
                "problem {:?} {} {}",
                problem.kind,
                problem.who(),
                problem.session.map(|session| session.to_string()).unwrap_or_default()
            ),
            Self::Conflict(row) => format!("conflict {}", row.thread),
            Self::Member(row) if row.state == "left" => {
                format!("left {} {}", row.name, row.last_active.0)
            }
            Self::Member(row) => format!("member {}", row.name),
            Self::Letter(letter) => format!("letter {}", letter.message_id),
            Self::Decided(row) => format!("decided {} {}", row.how.as_str(), row.id),
            Self::Task(task) => format!("task {}", task.task_id),
            Self::Request(request) => format!("request {}", request.request_id),
            Self::Workflow(tree) => format!("workflow {}", tree.workflow_id),
            Self::Step(tree, step, _) => format!("step {} {}", tree.workflow_id, step.name),
            Self::Happening(happening) => format!("event {}", happening.seq),
        })
    }

    /// Returns the moment whose age its row shows.
    pub(in crate::cli::commands::top) fn since(&self) -> Option<Moment> {
        Some(match self {
            Self::Heading(..) | Self::Step(..) => return None,
            Self::Problem(problem) => return problem.since,
            Self::Need(need, _) => return need.since,
            Self::Conflict(row) => row.since,
            Self::Member(row) => row.since(),
            Self::Letter(letter) => letter.at,
            Self::Decided(row) => row.at,
            Self::Task(task) => task.ended_at.or(task.started_at).unwrap_or(task.queued_at),
            Self::Request(row) => row.answered_at.unwrap_or(row.opened_at),
            Self::Workflow(tree) => tree.ended_at.unwrap_or(tree.created_at),
            Self::Happening(happening) => happening.at,
        })
    }

    /// Returns the moments until which its row says how much time is left.
    pub(in crate::cli::commands::top) fn times_left(&self) -> Vec<Moment> {
        let (need, row) = match self {
            Self::Need(need, row) => (need.until, *row),
            Self::Member(row) => (None, Some(*row)),
            Self::Request(row) => return row.lease_ends_at.into_iter().collect(),
            _ => return Vec::new(),
        };
        let owed = row.into_iter().flat_map(|row| row.owes.iter().filter_map(|one| one.due_at));
        let leases = row.into_iter().flat_map(|row| row.leases.iter().map(|one| one.ends_at));
        need.into_iter().chain(owed).chain(leases).collect()
    }

    /// Returns the member that it is about.
    pub(in crate::cli::commands::top) fn member(&self) -> Option<&'a str> {
        match self {
            Self::Heading(..) | Self::Problem(_) | Self::Workflow(_) | Self::Conflict(_) => None,
            Self::Need(need, _) => need.kind.is_of_member().then_some(need.who.as_str()),
            Self::Member(row) => Some(&row.name),
            // Who wrote to others does not write to themselves.
            Self::Letter(letter) if letter.is_from_human() => Some(&letter.to),
            Self::Letter(letter) => Some(letter.for_member.as_ref().unwrap_or(&letter.from)),
            Self::Decided(row) if row.is_from_human() => row.whom.first().map(String::as_str),
            Self::Decided(row) => Some(&row.by),
            Self::Task(task) => Some(&task.agent),
            Self::Request(request) => Some(request.owner.as_ref().unwrap_or(&request.from)),
            Self::Step(_, step, _) => Some(&step.agent),
            Self::Happening(happening) => happening.members.first().map(String::as_str),
        }
    }

    /// Returns who disagree, and their thread, if it is about that.
    pub(in crate::cli::commands::top) fn disagreement(&self) -> Option<(String, &'a str)> {
        match self {
            Self::Need(need, _) if need.kind == NeedKind::Decision => {
                Some((need.who.clone(), need.id.as_deref()?))
            }
            Self::Conflict(row) => Some((row.names(), &row.thread)),
            _ => None,
        }
    }

    /// Returns the task that it is about: its own, or else the last one of its member.
    pub(in crate::cli::commands::top) fn task(&self, board: &'a Board) -> Option<&'a str> {
        let last_of = |name: &str| {
            let mut tasks = board.tasks.iter().filter(|task| task.agent == name);
            tasks.next().map(|task| task.task_id.as_str())
        };
        match self {
            Self::Task(task) => Some(&task.task_id),
            Self::Step(_, step, _) => step.task_id.as_deref(),
            Self::Decided(row) if row.task_id.is_some() => row.task_id.as_deref(),
            Self::Member(row) | Self::Need(_, Some(row)) => {
                let turn = row.task_id.as_deref().or(row.last_turn.as_deref());
                turn.or_else(|| last_of(&row.name))
            }
            Self::Letter(letter) => letter.task_id.as_deref().or_else(|| last_of(&letter.from)),
            // It has no row of its own any more.
            Self::Problem(problem) => problem.member.as_deref().and_then(last_of),
            _ => self.member().and_then(last_of),
        }
    }

    /// Says whether it contains all words of a filter, which is in lower case.
    pub(super) fn fits(&self, filter: &str) -> bool {
        filter.is_empty() || {
            let text = self.text().to_lowercase();
            filter.split_whitespace().all(|word| text.contains(word))
        }
    }

    /// Returns all the words that a filter may find.
    fn text(&self) -> String {
        let some = |text: &Option<String>| text.clone().unwrap_or_default();
        let member = |row: &MemberRow| {
            let profile = some(&row.profile);
            format!("{} {} {} {profile} {}", row.name, row.kind, row.state, row.doing)
        };
        match self {
            Self::Heading(..) => String::new(),
            Self::Need(need, row) => {
                let row = row.map(member).unwrap_or_default();
                format!("{} {} {} {row}", need.word(), need.who, need.words)
            }
            Self::Problem(problem) => format!("{} {}", problem.who(), problem.words),
            Self::Conflict(row) => format!("{} {}", row.names(), row.in_full()),
            Self::Member(row) => member(row),
            Self::Letter(letter) => {
                let to: Vec<_> = letter
                    .receipts
                    .iter()
                    .map(|receipt| format!("{} {}", receipt.member, receipt.status.as_str()))
                    .collect();
                let text = some(&letter.text);
                let end = letter.resolved.as_ref().map(ThreadEnd::in_words).unwrap_or_default();
                let (from, to) = (letter.sender(), format!("{} {}", letter.to, to.join(" ")));
                format!("{from} {to} {} {text} {end}", letter.kind)
            }
            Self::Decided(row) => format!("{} {}", row.who(), row.what(usize::MAX)),
            Self::Task(task) => {
                let words = format!("{} {}", some(&task.prompt), some(&task.error));
                format!("{} {} {} {words}", task.task_id, task.agent, task.state())
            }
            Self::Request(row) => {
                let words = format!("{} {}", some(&row.description), some(&row.answer));
                let who = format!("{} {} {}", row.from, some(&row.to), some(&row.owner));
                format!("{} {who} {} {words}", row.request_id, row.status)
            }
            Self::Workflow(tree) => format!("{} {} {}", tree.workflow_id, tree.name, tree.state()),
            Self::Step(tree, step, _) => {
                let status = step.state();
                format!("{} {} {} {status}", tree.name, step.name, step.agent)
            }
            Self::Happening(happening) => {
                format!("{} {}", happening.topic.as_str(), happening.words)
            }
        }
    }
}
