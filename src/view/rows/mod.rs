//! The rows of a board: one type for each kind of thing that stands on a bus.

pub(in crate::view) mod commitments;
pub(super) mod conflict_row;
pub(super) mod ended_together;
mod failed_wake;
pub(super) mod member_row;
pub(super) mod permission_row;
pub(super) mod request_row;
pub(super) mod status_counts;
mod step_note;
pub(super) mod task_row;
pub(super) mod tree_places;
pub(super) mod unanswered;
pub(super) mod workflow_tree;
