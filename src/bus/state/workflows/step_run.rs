//! A step and its progress: its attempts, its agent, and the feedback for the next attempt.

use serde::{Deserialize, Serialize};

use crate::bus::state::BodyRef;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::workflow::{Step, StepStatus};

/// A step and its progress. The items of an expanded step follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRun {
    pub plan: Step,
    /// The list item that it is for, if it comes from the expansion of a planned step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// The list that it is expanded for, once the list is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    pub status: StepStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// How many failed attempts count against the limit.
    pub failures: u32,
    /// How many attempts were interrupted.
    pub interruptions: u32,
    /// How many agents could not do it, which is the index of the next one in `agent` and `fallback`.
    pub passed: u32,
    /// Whether the last attempt was interrupted, so that the same agent may continue it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// How often it was repeated because its gate failed.
    #[serde(default)]
    pub rounds: u32,
    /// Feedback of the last attempt for the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// The last attempt's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The last attempt's agent.
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
    /// For how many milliseconds of that time no session led the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ms: Option<u64>,
    /// For how many milliseconds its ended attempts ran in all, without such pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_ms: Option<u64>,
    /// Why the last attempt failed.
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
            paused_ms: None,
            attempts_ms: None,
            why: None,
        }
    }

    /// Notes that the last attempt begins, in wall time.
    pub(super) fn begins(&mut self, now_ms: i64) {
        self.status = StepStatus::Running;
        self.attempts = self.attempts.saturating_add(1);
        self.started_ms = Some(now_ms);
        self.ended_ms = None;
        self.paused_ms = None;
    }

    /// Counts the time of the last attempt, which ends at a wall time, if it runs.
    pub(super) fn attempt_ends(&mut self, now_ms: i64) {
        if self.status == StepStatus::Running
            && let Some(ran_ms) = self.last_ran_ms(now_ms)
        {
            self.attempts_ms = Some(self.attempts_ms.unwrap_or_default().saturating_add(ran_ms));
        }
    }

    /// Returns for how many milliseconds the last attempt had run at a wall time, without the pauses in which no session led the
    /// workflow; zero if the clock was set back meanwhile.
    fn last_ran_ms(&self, until_ms: i64) -> Option<u64> {
        let ms = until_ms.saturating_sub(self.started_ms?).max(0).unsigned_abs();
        Some(ms.saturating_sub(self.paused_ms.unwrap_or_default()))
    }

    /// Returns for how many milliseconds all its attempts ran, if it is over.
    pub fn took_ms(&self) -> Option<u64> {
        let ended_ms = self.ended_ms.filter(|_| self.status.is_final())?;
        // Versions before level 6 of the state did not count the attempts before the last.
        self.attempts_ms.or_else(|| self.last_ran_ms(ended_ms))
    }

    /// Returns since when it would have been running if all its attempts had run one after another, in wall time, if it runs.
    pub fn running_since_ms(&self) -> Option<i64> {
        let started_ms = self.started_ms.filter(|_| self.status == StepStatus::Running)?;
        let earlier = i64::try_from(self.attempts_ms.unwrap_or_default()).unwrap_or(i64::MAX);
        let paused = i64::try_from(self.paused_ms.unwrap_or_default()).unwrap_or(i64::MAX);
        Some(started_ms.saturating_add(paused).saturating_sub(earlier))
    }

    /// Returns the profile or the live agent for the next attempt.
    pub fn planned_agent(&self) -> &str {
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
    pub count: u32,
    pub list: BodyRef,
}

/// The list item that a step is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The expanded step.
    pub of: Name,
    /// Its number in the list, from 1.
    pub number: u32,
}
