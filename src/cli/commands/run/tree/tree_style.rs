//! The style of the tree: its size, and the mark and colour of each state.

use console::Style;

use crate::domain::workflow::StepStatus;

/// The marks of a running step, in turn.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeStyle {
    /// The maximum width of a line.
    pub(crate) width: usize,
    /// The maximum number of lines; no limit if `None`.
    pub(crate) rows: Option<usize>,
    pub(crate) colours: bool,
    /// The number of the current spinner mark; a static mark if `None`.
    pub(crate) beat: Option<usize>,
}

pub(super) fn mark(status: StepStatus, beat: Option<usize>) -> &'static str {
    match status {
        StepStatus::Running => beat.map_or("▸", |beat| SPINNER[beat % SPINNER.len()]),
        StepStatus::Done => "✓",
        StepStatus::Failed => "✗",
        StepStatus::Asking => "?",
        StepStatus::Waiting => "·",
        _ => "-",
    }
}

pub(super) fn tint(status: StepStatus) -> fn(Style) -> Style {
    match status {
        StepStatus::Running => Style::cyan,
        StepStatus::Done => Style::green,
        StepStatus::Failed => Style::red,
        StepStatus::Asking => Style::yellow,
        _ => Style::dim,
    }
}

pub(super) fn paint(text: &str, look: &TreeStyle, tint: fn(Style) -> Style) -> String {
    if !look.colours || text.is_empty() {
        return text.to_owned();
    }
    let tinted = tint(Style::new().for_stderr().force_styling(true));
    tinted.apply_to(text).to_string()
}
