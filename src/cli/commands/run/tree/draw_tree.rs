//! Draws the tree: the head, then a line for each step that fits.

use std::time::Duration;

use console::{Style, truncate_str};

use super::fold::{self, Row};
use super::guides::{guides, guides_before};
use super::tree_line::{Columns, Line};
use super::tree_style::{TreeStyle, paint};
use crate::view::{
    Moment, StepNode, TreePlace, WorkflowTree, going_on, status_counts, tree_places,
};

/// The times that the tree shows besides those of its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// How long this process has led the workflow.
    pub(crate) elapsed: Duration,
    pub(crate) now: Moment,
}

/// Returns the lines of the tree, the head first. Running steps are the last to be left out.
pub(crate) fn draw(tree: &WorkflowTree, times: Times, look: &TreeStyle) -> Vec<String> {
    let steps = &tree.steps;
    let places = tree_places(steps);
    let statuses: Vec<_> = places.iter().map(|at| steps[at.step].status).collect();
    let rows = match look.rows {
        Some(rows) => fold::fold(&statuses, rows.saturating_sub(1)),
        None => (0..places.len()).map(Row::Step).collect(),
    };
    let lines: Vec<_> = rows.iter().map(|row| line(row, &places, steps)).collect();
    let columns = Columns::of(&lines, look.width);
    let rest = lines.into_iter().map(|line| line.paint(&columns, times.now, look));
    std::iter::once(header(tree, times, look))
        .chain(rest)
        .map(|line| truncate_str(&line, look.width, "…").into_owned())
        .collect()
}

fn line<'s>(row: &Row, places: &[TreePlace<'s>], steps: &'s [StepNode]) -> Line<'s> {
    match row {
        Row::Step(at) => {
            let place = &places[*at];
            let step = &steps[place.step];
            let others = place.others.iter().map(|other| format!(" + {other}"));
            let name = std::iter::once(step.name.clone()).chain(others).collect();
            Line::Step { guides: guides(place), step, name }
        }
        Row::Folded(hidden) => {
            let shallowest = hidden.iter().map(|at| &places[*at]);
            let shallowest = shallowest.min_by_key(|place| place.depth());
            let statuses = hidden.iter().map(|at| steps[places[*at].step].status);
            Line::Folded {
                guides: shallowest.map_or_else(String::new, guides_before),
                summary: format!("⋮ {}", status_counts(statuses)),
            }
        }
    }
}

fn header(tree: &WorkflowTree, times: Times, look: &TreeStyle) -> String {
    let name = paint(&tree.name, look, Style::bold);
    let elapsed = going_on(times.elapsed);
    format!("{name} ({})  {elapsed}  {}", tree.workflow_id, tree.progress())
}
