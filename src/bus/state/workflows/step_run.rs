//! A step and its progress: how often it was begun, by whom, and what the next attempt has to know.

use serde::{Deserialize, Serialize};

use crate::bus::state::BodyRef;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::workflow::{Step, StepStatus};

/// A step and its progress. The items of an expanded step follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRun {
    /// As it was planned.
    pub plan: Step,
    /// The item that it is for, when it is not of the plan itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// The list that it is expanded for, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    pub status: StepStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// How many attempts failed that count.
    pub failures: u32,
    /// How many attempts were interrupted.
    pub interruptions: u32,
    /// How many agents could not do it: the place of the next one in `agent` and `fallback`.
    pub passed: u32,
    /// Whether the last attempt was interrupted, so that the same agent may go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// How often its gate did not hold and it was done again for that.
    #[serde(default)]
    pub rounds: u32,
    /// What the next attempt has to know of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Whether somebody has approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// The last attempt's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Who has or had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The session that began the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<SessionId>,
    /// When the last attempt was assigned, in wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl StepRun {
    pub(super) fn planned(plan: Step) -> Self {
        Self {
            plan,
            item: None,
            items: None,
            status: StepStatus::Waiting,
            attempts: 0,
            failures: 0,
            interruptions: 0,
            passed: 0,
            interrupted: false,
            rounds: 0,
            feedback: None,
            approved: false,
            task: None,
            agent: None,
            begun_by: None,
            started_ms: None,
            ended_ms: None,
            why: None,
        }
    }

    /// Returns the profile or the live agent that is to do it.
    pub fn wanted(&self) -> &str {
        let all = std::iter::once(&self.plan.agent).chain(&self.plan.fallback);
        let passed = usize::try_from(self.passed).unwrap_or(usize::MAX);
        all.take(passed.saturating_add(1)).last().map_or("", String::as_str)
    }

    /// Says whether it still needs an approval.
    pub fn needs_approval(&self) -> bool {
        self.plan.approve.is_some() && !self.approved
    }

    /// Says whether a fallback is left that has not been tried.
    pub fn has_fallback(&self) -> bool {
        usize::try_from(self.passed).is_ok_and(|passed| passed < self.plan.fallback.len())
    }
}

/// The list that a step is expanded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// How many items it has.
    pub count: u32,
    /// Where the items are.
    pub list: BodyRef,
}

/// Which item of a list a step is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The step that is expanded.
    pub of: Name,
    /// Its place in the list, counted from 1.
    pub number: u32,
}
