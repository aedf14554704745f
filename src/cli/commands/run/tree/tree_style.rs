//! How the tree looks: its size, and the mark and the colour of each state.

use console::Style;

use crate::domain::workflow::StepStatus;

/// The marks of a running step, one after the other.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// How the tree is to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeStyle {
    /// The columns that a line may take.
    pub(crate) width: usize,
    /// The lines that there may be; all that there are, where it is not said.
    pub(crate) rows: Option<usize>,
    pub(crate) colours: bool,
    /// Which mark running steps have now; one that stands still, where it is not said.
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
