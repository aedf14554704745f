//! What has changed between two boards, so that a window repaints, and a page sends, only that.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Board, MemberRow, Moment, Need, PermissionRow, Problem, RequestRow, TaskRow, Totals,
    WorkflowTree,
};

/// The changes of one list of rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowChanges<T> {
    /// Rows that are new, or have changed.
    pub changed: Vec<T>,
    /// The keys of rows that are gone.
    pub gone: Vec<String>,
}

/// The changes from one board to a later one. A list or value that has not changed is left out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BoardChanges {
    /// The seq of the board to change.
    pub from_seq: u64,
    /// The seq of the board afterwards.
    pub seq: u64,
    /// When the later board was made.
    pub at: Moment,
    /// All that waits for a person now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_you: Option<Vec<Need>>,
    /// By name and, for members that have left, the time of their last activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<RowChanges<MemberRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<RowChanges<TaskRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RowChanges<RequestRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<RowChanges<PermissionRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflows: Option<RowChanges<WorkflowTree>>,
    /// All that is wrong now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<Problem>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
}

impl Board {
    /// Returns what has changed since an earlier board.
    pub fn changes_since(&self, before: &Self) -> BoardChanges {
        BoardChanges {
            from_seq: before.seq,
            seq: self.seq,
            at: self.at,
            needs_you: changed(&before.needs_you, &self.needs_you),
            members: rows(&before.members, &self.members, member_key),
            tasks: rows(&before.tasks, &self.tasks, |row| row.task_id.clone()),
            requests: rows(&before.requests, &self.requests, |row| row.request_id.clone()),
            permissions: rows(&before.permissions, &self.permissions, |row| {
                row.permission_id.clone()
            }),
            workflows: rows(&before.workflows, &self.workflows, |row| row.workflow_id.clone()),
            problems: changed(&before.problems, &self.problems),
            totals: changed(&before.totals, &self.totals),
        }
    }
}

/// A name may have a live session and several that left.
fn member_key(row: &MemberRow) -> String {
    if row.state == "left" {
        format!("{} {}", row.name, row.last_active.0)
    } else {
        row.name.clone()
    }
}

fn changed<T: Clone + PartialEq>(before: &T, now: &T) -> Option<T> {
    (before != now).then(|| now.clone())
}

fn rows<T: Clone + PartialEq>(
    before: &[T],
    now: &[T],
    key: impl Fn(&T) -> String,
) -> Option<RowChanges<T>> {
    let mut known: BTreeMap<String, &T> = before.iter().map(|row| (key(row), row)).collect();
    let mut changed = Vec::new();
    for row in now {
        if known.remove(&key(row)) != Some(row) {
            changed.push(row.clone());
        }
    }
    let gone: Vec<String> = known.into_keys().collect();
    (!changed.is_empty() || !gone.is_empty()).then_some(RowChanges { changed, gone })
}
