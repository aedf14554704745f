//! The shapes of the tools' results.

pub(crate) mod attachment_shape;
pub(crate) mod conflict_shape;
pub(crate) mod entry_size;
pub(crate) mod message_shape;
pub(crate) mod priority_word;
pub(crate) mod task_details_shape;
pub(crate) mod task_head_shape;
pub(crate) mod task_shape;
pub(crate) mod workflow_shape;
