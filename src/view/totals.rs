//! The team in numbers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::State;
use crate::domain::task::TaskStatus;
use crate::domain::text::counted::counted;
use crate::view::{Group, MemberRow, Spent};

/// Said behind what was used: of a running turn nothing is known yet.
pub const IN_ENDED_TURNS: &str = "in ended turns";

/// The team in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    /// Members whose processes live.
    pub members: usize,
    /// Those of them that wait for a person.
    pub need_you: usize,
    pub working: usize,
    /// Those of the working ones that wait for a message.
    pub waiting: usize,
    /// Those of the working ones that are being stopped.
    pub stopping: usize,
    pub idle: usize,
    /// Agents that have ended in the last minutes, and crashed ones, whether a row shows them or not.
    pub ended: usize,
    /// Unread messages that somebody may still read: of live members, and of absent ones whose name was chosen.
    pub unread: usize,
    /// Tasks that wait or run.
    pub tasks_open: usize,
    /// Tasks that are done, of those that the state still has.
    pub tasks_done: usize,
    /// Tasks that failed, or were cancelled or interrupted, of those that the state still has.
    pub tasks_not_done: usize,
    /// Requests without an answer.
    pub requests_open: usize,
    /// Workflows that have not ended, without interrupted trials, which nobody can resume.
    pub workflows_open: usize,
    /// What the turns of all tasks and members have used that the state still has.
    pub usage: Spent,
}

impl Totals {
    /// Returns how many live members do what, which is all of them: each is counted once, by the group and the state of its row.
    pub fn by_doing(&self) -> [(usize, &'static str); 5] {
        let at_work = self.working.saturating_sub(self.waiting + self.stopping);
        [
            (self.need_you, "held up"),
            (at_work, "working"),
            (self.waiting, "waiting"),
            (self.stopping, "stopping"),
            (self.idle, "idle"),
        ]
    }

    /// Says how many members there are, and how many of them do what.
    pub fn members_in_words(&self) -> String {
        let members = self.members_counted();
        let doing = self.by_doing().into_iter().filter(|(count, _)| *count > 0);
        let doing: Vec<_> = doing.map(|(count, word)| format!("{count} {word}")).collect();
        if doing.is_empty() { members } else { format!("{members} ({})", doing.join(", ")) }
    }

    /// Says how many members there are.
    pub fn members_counted(&self) -> String {
        match self.members {
            0 => "nobody is here".to_owned(),
            some => counted(some, "member"),
        }
    }

    /// Says only how many work, and how many wait.
    pub fn working_in_words(&self) -> Option<String> {
        let [_, working, waiting, ..] = self.by_doing();
        let some = [working, waiting].into_iter().filter(|(count, _)| *count > 0);
        let some: Vec<_> = some.map(|(count, word)| format!("{count} {word}")).collect();
        (!some.is_empty()).then(|| some.join(", "))
    }

    /// Says what was used, and that a running turn counts when it ends.
    pub fn used_in_words(&self) -> Option<String> {
        let used = self.usage.in_words();
        (!used.is_empty()).then(|| format!("{used} {IN_ENDED_TURNS}"))
    }

    /// Counts. `not_shown` members have ended and have no row.
    pub(super) fn of(state: &State, members: &[MemberRow], not_shown: usize) -> Self {
        let count = |group| members.iter().filter(|member| member.group == group).count();
        let working_as = |state| {
            let rows = members.iter().filter(|member| member.group == Group::Working);
            rows.filter(|member| member.state == state).count()
        };
        let mut totals = Self {
            members: members.iter().filter(|member| member.group != Group::Ended).count(),
            need_you: count(Group::NeedsYou),
            working: count(Group::Working),
            waiting: working_as("waiting"),
            stopping: working_as("stopping"),
            idle: count(Group::Idle),
            ended: count(Group::Ended) + not_shown,
            unread: state.unread_in_all(),
            requests_open: state.unanswered_requests().count(),
            workflows_open: state
                .workflows()
                .into_iter()
                .filter(|workflow| !workflow.status.is_final() && !workflow.is_interrupted_trial())
                .count(),
            ..Self::default()
        };
        for task in state.tasks() {
            match task.status {
                TaskStatus::Queued | TaskStatus::Running => totals.tasks_open += 1,
                TaskStatus::Done => totals.tasks_done += 1,
                TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Interrupted => {
                    totals.tasks_not_done += 1;
                }
            }
            let has_run = task.status.is_final() && task.started_ms.is_some();
            if has_run || task.usage.is_some() {
                totals.usage.add_of(task.agent.as_str(), task.usage.as_ref());
            }
        }
        let live = state.live_sessions().into_iter();
        let live = live.map(|live| (&live.name, live.used_beside_tasks.as_ref()));
        let ended = state.departed().map(|ended| (&ended.name, ended.used_beside_tasks.as_ref()));
        for (name, usage) in live.chain(ended).filter(|(_, usage)| usage.is_some()) {
            totals.usage.add_of(name.as_str(), usage);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::tests::row;

    #[test]
    fn each_live_member_is_counted_once() {
        let states = ["running", "waiting", "waiting", "stopping", "idle", "hung", "gone"];
        let mut members = states.map(|state| row(state, state));
        members[6].group = Group::Ended;
        let totals = Totals::of(&State::default(), &members, 0);
        let counts: usize = totals.by_doing().iter().map(|(count, _)| count).sum();
        assert_eq!((totals.members, counts), (6, 6));
        let words = "6 members (1 held up, 1 working, 2 waiting, 1 stopping, 1 idle)";
        assert_eq!(totals.members_in_words(), words);
        assert_eq!(totals.working_in_words().as_deref(), Some("1 working, 2 waiting"));
    }
}
