//! Drawings made on the server as SVG: who wrote to whom, who worked when, and the steps of a workflow. Each has a title, and the same
//! in words below it.

mod bar_labels;
mod sequence_drawing;
mod svg_parts;
mod timeline_drawing;
mod workflow_drawing;

pub(super) use self::sequence_drawing::sequence_drawing;
pub(super) use self::timeline_drawing::timeline_drawing;
pub(super) use self::workflow_drawing::workflow_drawing;
