//! A workflow as a tree of lines: every step under the one that it comes after, with its state, its time and what there is to say.
//!
//! All of it is pure. [`Shown`] is all that a step is known by here, [`draw`] makes lines of it that fit a width and a number of rows.

mod fold;
mod layout;
mod step_row;

use std::collections::BTreeMap;
use std::time::Duration;

use console::{Style, measure_text_width, truncate_str};

use self::fold::Row;
use self::layout::TreePosition;
pub(crate) use self::step_row::{Shown, one_line, plain, shown};
use self::step_row::{Time, between};
use crate::domain::workflow::StepStatus;

/// The marks of a running step, one after the other.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Columns of the word for a state: the longest is `cancelled`.
const WORD: usize = 9;

/// Columns of a time: the longest below a hundred hours is `12h 05m`.
const TIME: usize = 7;

/// What the line above the tree tells.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) elapsed: Duration,
    /// The wall time.
    pub(crate) now_ms: i64,
}

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

/// Returns the lines of the tree, the head first. What runs is the last to be left out.
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

/// A line of the tree in its parts.
enum Line<'s> {
    Step {
        guides: String,
        step: &'s Shown,
        /// The name with whatever else the step comes after.
        name: String,
    },
    Folded {
        guides: String,
        told: String,
    },
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
                told: format!("⋮ {}", counted(statuses)),
            }
        }
    }
}

/// Says how many there are of each state, in the order in which steps come to it.
fn counted(statuses: impl Iterator<Item = StepStatus>) -> String {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for status in statuses {
        let key = (order(status), status.as_str());
        *counts.entry(key).or_default() += 1;
    }
    let counts = counts.iter();
    let counts = counts.map(|((_, word), count)| format!("{count} {word}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn order(status: StepStatus) -> usize {
    match status {
        StepStatus::Done => 0,
        StepStatus::Failed => 1,
        StepStatus::Running => 3,
        StepStatus::Asking => 4,
        StepStatus::Waiting => 5,
        _ => 2,
    }
}

fn header(head: &Head, steps: &[Shown], look: &TreeStyle) -> String {
    // What is done for the items of a list is a part of one step.
    let planned = || steps.iter().filter(|step| step.part_of.is_none());
    let statuses = || planned().map(|step| step.status);
    let done = statuses().filter(|status| *status == StepStatus::Done);
    let ended = statuses().filter(|status| status.is_final() && *status != StepStatus::Done);
    let told = [format!("{} of {} steps done", done.count(), planned().count()), counted(ended)];
    let told: Vec<_> = told.into_iter().filter(|it| !it.is_empty()).collect();
    let name = paint(&head.name, look, Style::bold);
    let elapsed = going_on(head.elapsed);
    format!("{name} ({})  {elapsed}  {}", head.id, told.join(", "))
}

/// How wide the parts are that stand under each other.
struct Columns {
    left: usize,
    agent: usize,
}

impl Columns {
    /// What is wider than most is not worth moving all others aside for: a name gets half of the width, an agent a fifth.
    fn of(lines: &[Line], width: usize) -> Self {
        let (mut left, mut agent) = (0, 0);
        for line in lines {
            if let Line::Step { guides, step, name } = line {
                // The mark and a space.
                let own = measure_text_width(guides) + 2 + measure_text_width(name);
                left = left.max(own.min(width / 2));
                agent = agent.max(measure_text_width(&step.agent).min(width / 5));
            }
        }
        Self { left, agent }
    }
}

impl Line<'_> {
    fn paint(&self, columns: &Columns, now_ms: i64, look: &TreeStyle) -> String {
        match self {
            Self::Folded { guides, told } => paint(&format!("{guides}{told}"), look, Style::dim),
            Self::Step { guides, step, name } => {
                let tint = tint(step.status);
                let mark = paint(mark(step.status, look.beat), look, tint);
                let left = measure_text_width(guides) + 2 + measure_text_width(name);
                let gap = " ".repeat(columns.left.saturating_sub(left));
                let word = format!("{:WORD$}", step.status.as_str());
                let time = match step.time {
                    Time::None => String::new(),
                    Time::Since(from) => going_on(between(from, now_ms)),
                    Time::Took(time) => took(time),
                };
                let agent = measure_text_width(&step.agent);
                let agent_gap = " ".repeat(columns.agent.saturating_sub(agent));
                let painted = format!(
                    "{}{mark} {name}{gap}  {} {time:>TIME$}  {}{agent_gap}  {}",
                    paint(guides, look, Style::dim),
                    paint(&word, look, tint),
                    step.agent,
                    step.remarks(),
                );
                painted.trim_end().to_owned()
            }
        }
    }
}

fn paint(text: &str, look: &TreeStyle, tint: fn(Style) -> Style) -> String {
    if !look.colours || text.is_empty() {
        return text.to_owned();
    }
    let tinted = tint(Style::new().for_stderr().force_styling(true));
    tinted.apply_to(text).to_string()
}

fn mark(status: StepStatus, beat: Option<usize>) -> &'static str {
    match status {
        StepStatus::Running => beat.map_or("▸", |beat| SPINNER[beat % SPINNER.len()]),
        StepStatus::Done => "✓",
        StepStatus::Failed => "✗",
        StepStatus::Asking => "?",
        StepStatus::Waiting => "·",
        _ => "-",
    }
}

fn tint(status: StepStatus) -> fn(Style) -> Style {
    match status {
        StepStatus::Running => Style::cyan,
        StepStatus::Done => Style::green,
        StepStatus::Failed => Style::red,
        StepStatus::Asking => Style::yellow,
        _ => Style::dim,
    }
}

/// Writes how long something took: tenths only where they say something.
fn took(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        _ => going_on(time),
    }
}

/// Writes how long something has taken so far: nothing in it changes faster than can be read.
fn going_on(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {:02}s", seconds % 60),
        (hours, minutes) => format!("{hours}h {:02}m", minutes % 60),
    }
}

#[cfg(test)]
mod tests;
