//! The steps of a workflow as a graph: each stands right of all that it waits for. Its mark and its word say how it is.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::svg_parts::{at, cut, drawing};
use crate::view::{Moment, StepNode, WorkflowTree};
use crate::web::pages::View;
use crate::web::pages::parts::tone;

/// The most steps that are drawn: a plan has no more, and the items of its lists are in the table.
const STEPS: usize = 200;

const BOX: (i64, i64) = (190, 58);
const GAP: (i64, i64) = (56, 20);

/// Draws a workflow.
pub(in crate::web::pages) fn workflow_drawing(tree: &WorkflowTree, now: Moment) -> Markup {
    let steps: Vec<_> =
        tree.steps.iter().filter(|step| step.item_of.is_none()).take(STEPS).collect();
    let places = places(&steps);
    let columns = places.iter().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let corner = |index: usize| {
        let (column, row) = places[index];
        (10 + at(column) * (BOX.0 + GAP.0), 10 + at(row) * (BOX.1 + GAP.1))
    };
    let names: BTreeMap<_, _> =
        steps.iter().enumerate().map(|(index, step)| (step.name.as_str(), index)).collect();
    let size =
        (20 + at(columns) * (BOX.0 + GAP.0) - GAP.0, 20 + at(rows) * (BOX.1 + GAP.1) - GAP.1);
    let content = html! {
        @for (index, step) in steps.iter().enumerate() {
            @for before in step.depends_on.iter().filter_map(|name| names.get(name.as_str())) { (arrow(corner(*before), corner(index))) }
        }
        @for (index, step) in steps.iter().enumerate() { (step_box(step, corner(index), now)) }
    };
    drawing(&format!("The workflow: {}", tree.progress()), size, &content)
}

/// Returns the column and the row of each step: its column is right of all that it waits for.
fn places(steps: &[&StepNode]) -> Vec<(usize, usize)> {
    let names: BTreeMap<_, _> =
        steps.iter().enumerate().map(|(index, step)| (step.name.as_str(), index)).collect();
    let mut columns = vec![0_usize; steps.len()];
    // A plan has no circle; if one did, this ends all the same.
    for _ in 0..steps.len() {
        let mut has_changed = false;
        for (index, step) in steps.iter().enumerate() {
            let before = step.depends_on.iter().filter_map(|name| names.get(name.as_str()));
            let column =
                before.map(|before| columns[*before] + 1).max().unwrap_or(0).min(steps.len());
            has_changed |= std::mem::replace(&mut columns[index], column) != column;
        }
        if !has_changed {
            break;
        }
    }
    let mut used = BTreeMap::<usize, usize>::new();
    let place = |column: usize| {
        let row = used.entry(column).or_default();
        *row += 1;
        (column, *row - 1)
    };
    columns.into_iter().map(place).collect()
}

fn arrow((from_x, from_y): (i64, i64), (to_x, to_y): (i64, i64)) -> Markup {
    let (x1, y1, x2, y2) = (from_x + BOX.0, from_y + BOX.1 / 2, to_x, to_y + BOX.1 / 2);
    let middle = i64::midpoint(x1, x2);
    html! {
        path."l-flow" d={ "M" (x1) " " (y1) " C" (middle) " " (y1) " " (middle) " " (y2) " " (x2 - 8) " " (y2) } {}
        polygon."f-flow" points={ (x2) "," (y2) " " (x2 - 9) "," (y2 - 4) " " (x2 - 9) "," (y2 + 4) } {}
    }
}

fn step_box(step: &StepNode, (x, y): (i64, i64), now: Moment) -> Markup {
    let look = step.look();
    let time = step.time(now);
    let status =
        if time.is_empty() { step.state().to_owned() } else { format!("{}, {time}", step.state()) };
    let drawn = html! {
        title { (step.name) ": " (status) " (" (step.agent) ")" @if let Some(note) = &step.note { ", " (note) } }
        rect class={ "box " (tone(look.tone)) } x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="7" {}
        text."t-bold" x=(x + 10) y=(y + 19) { (cut(&step.name, 24)) }
        text class={ "t-" (tone(look.tone)) } x=(x + 10) y=(y + 35) { (look.mark) " " (status) }
        text."t-soft" x=(x + 10) y=(y + 50) { (cut(&step.agent, 26)) }
    };
    html! {
        @match &step.task_id {
            Some(id) => a href=(View::Task(id.clone()).path()) { (drawn) },
            None => g { (drawn) },
        }
    }
}
