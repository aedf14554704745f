//! Draws the tree: the head, then a line for each step that fits.

use std::time::Duration;

use console::{Style, truncate_str};

use super::fold::{self, Row};
use super::layout::{self, TreePosition};
use super::shown_time::going_on;
use super::status_counts::status_counts;
use super::step_row::Shown;
use super::tree_line::{Columns, Line};
use super::tree_style::{TreeStyle, paint};
use crate::domain::text::counted::counted;
use crate::domain::workflow::StepStatus;

/// The line above the tree.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) elapsed: Duration,
    /// The wall time.
    pub(crate) now_ms: i64,
}

/// Returns the lines of the tree, the head first. Running steps are the last to be left out.
pub(crate) fn draw(head: &Head, steps: &[Shown], look: &TreeStyle) -> Vec<String> {
    let places = layout::places(steps);
    let statuses: Vec<_> = places.iter().map(|at| steps[at.step].status).collect();
    let rows = match look.rows {
        Some(rows) => fold::fold(&statuses, rows.saturating_sub(1)),
        None => (0..places.len()).map(Row::Step).collect(),
    };
    let lines: Vec<_> = rows.iter().map(|row| line(row, &places, steps)).collect();
    let columns = Columns::of(&lines, look.width);
    let rest = lines.into_iter().map(|line| line.paint(&columns, head.now_ms, look));
    std::iter::once(header(head, steps, look))
        .chain(rest)
        .map(|line| truncate_str(&line, look.width, "…").into_owned())
        .collect()
}

fn line<'s>(row: &Row, places: &[TreePosition<'s>], steps: &'s [Shown]) -> Line<'s> {
    match row {
        Row::Step(at) => {
            let place = &places[*at];
            let step = &steps[place.step];
            let others = place.others.iter().map(|other| format!(" + {other}"));
            let name = std::iter::once(step.name.clone()).chain(others).collect();
            Line::Step { guides: place.guides(), step, name }
        }
        Row::Folded(hidden) => {
            let shallowest = hidden.iter().map(|at| &places[*at]);
            let shallowest = shallowest.min_by_key(|place| place.depth());
            let statuses = hidden.iter().map(|at| steps[places[*at].step].status);
            Line::Folded {
                guides: shallowest.map_or_else(String::new, TreePosition::guides_before),
                summary: format!("⋮ {}", status_counts(statuses)),
            }
        }
    }
}

fn header(head: &Head, steps: &[Shown], look: &TreeStyle) -> String {
    // The items of a step count as that step.
    let planned = || steps.iter().filter(|step| step.part_of.is_none());
    let statuses = || planned().map(|step| step.status);
    let done = statuses().filter(|status| *status == StepStatus::Done);
    let ended = statuses().filter(|status| status.is_final() && *status != StepStatus::Done);
    let all = counted(planned().count(), "step");
    let totals = [format!("{} of {all} done", done.count()), status_counts(ended)];
    let totals: Vec<_> = totals.into_iter().filter(|it| !it.is_empty()).collect();
    let name = paint(&head.name, look, Style::bold);
    let elapsed = going_on(head.elapsed);
    format!("{name} ({})  {elapsed}  {}", head.id, totals.join(", "))
}
