//! The style of the tree: its size, and how the terminal shows the look of a state.

use console::Style;

use crate::domain::workflow::StepStatus;
use crate::view::{StepNode, Tone};

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

/// Returns the mark of a step, which turns while the step runs.
pub(super) fn mark(step: &StepNode, beat: Option<usize>) -> &'static str {
    match beat {
        Some(beat) if step.status == StepStatus::Running => SPINNER[beat % SPINNER.len()],
        _ => step.look().mark,
    }
}

pub(super) fn tint(tone: Tone) -> fn(Style) -> Style {
    match tone {
        Tone::Active => Style::cyan,
        Tone::Good => Style::green,
        Tone::Bad => Style::red,
        Tone::Urgent => Style::yellow,
        Tone::Plain => |style| style,
        Tone::Faint => Style::dim,
    }
}

pub(super) fn paint(text: &str, look: &TreeStyle, tint: fn(Style) -> Style) -> String {
    if !look.colours || text.is_empty() {
        return text.to_owned();
    }
    let tinted = tint(Style::new().for_stderr().force_styling(true));
    tinted.apply_to(text).to_string()
}
