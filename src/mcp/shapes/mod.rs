//! What the tools' results look like.

pub(crate) mod message_shape;
pub(crate) mod task_details_shape;
pub(crate) mod task_shape;
pub(crate) mod workflow_shape;
