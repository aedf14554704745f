//! One line of the tree: its parts, and their alignment with those of other lines.

use console::{Style, measure_text_width};

use super::tree_style::{TreeStyle, mark, paint, tint};
use crate::view::{Moment, StepNode};

/// The width of a state's name: the longest is `cancelled`.
const WORD: usize = 9;

/// The width of a time: the longest below a hundred hours is `12h 05m`.
const TIME: usize = 7;

pub(super) enum Line<'s> {
    Step {
        guides: String,
        step: &'s StepNode,
        /// The name, with the step's other dependencies.
        name: String,
    },
    Folded {
        guides: String,
        summary: String,
    },
}

/// The widths of the aligned parts.
pub(super) struct Columns {
    left: usize,
    agent: usize,
}

impl Columns {
    /// Limits the widths so that one wide line does not push all others aside: a name gets half of the width, an agent a fifth.
    pub(super) fn of(lines: &[Line], width: usize) -> Self {
        let (mut left, mut agent) = (0, 0);
        for line in lines {
            if let Line::Step { guides, step, name } = line {
                // The mark and a space.
                let own = measure_text_width(guides) + 2 + measure_text_width(name);
                left = left.max(own.min(width / 2));
                let words = step.agent_in_words();
                agent = agent.max(measure_text_width(&words).min(width / 5));
            }
        }
        Self { left, agent }
    }
}

impl Line<'_> {
    pub(super) fn paint(&self, columns: &Columns, now: Moment, look: &TreeStyle) -> String {
        match self {
            Self::Folded { guides, summary } => {
                paint(&format!("{guides}{summary}"), look, Style::dim)
            }
            Self::Step { guides, step, name } => {
                let tint = tint(step.look().tone);
                let mark = paint(mark(step, look.beat), look, tint);
                let left = measure_text_width(guides) + 2 + measure_text_width(name);
                let gap = " ".repeat(columns.left.saturating_sub(left));
                let word = format!("{:WORD$}", step.status.as_str());
                let time = step.time(now);
                let agent = step.agent_in_words();
                let agent_gap =
                    " ".repeat(columns.agent.saturating_sub(measure_text_width(&agent)));
                let painted = format!(
                    "{}{mark} {name}{gap}  {} {time:>TIME$}  {}{agent_gap}  {}",
                    paint(guides, look, Style::dim),
                    paint(&word, look, tint),
                    agent,
                    step.remarks(),
                );
                painted.trim_end().to_owned()
            }
        }
    }
}
