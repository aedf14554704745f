//! `usage`: what the tasks of the whole log have used, by agent, profile or day.

use clap::{Args, ValueEnum};

use super::lines::table::aligned;
use super::open_to_look::{Place, print_json};
use crate::cli::{Failure, output};
use crate::domain::text::counted::counted;
use crate::reader::walk_all;
use crate::view::{NOT_COUNTED, SpentBy, UsageFold, UsageRow};

/// What to sum up.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge usage            by agent
  cli-team-bridge usage --by day   by the day (UTC) on which the tasks ended

Tokens and costs are those that the agents report; not all do.")]
pub(crate) struct UsageArguments {
    #[command(flatten)]
    place: Place,
    /// By what to sum up.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "agent")]
    by: By,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Agent,
    Profile,
    Day,
}

pub(crate) fn run(arguments: &UsageArguments) -> Result<(), Failure> {
    let by = match arguments.by {
        By::Agent => SpentBy::Agent,
        By::Profile => SpentBy::Profile,
        By::Day => SpentBy::Day,
    };
    let bus = arguments.place.open_once()?;
    let is_there = bus.is_some();
    let mut fold = UsageFold::new(by);
    if let Some(mut bus) = bus {
        walk_all(&mut bus, &mut |entry, state, _| fold.take(entry, state))?;
    }
    let rows = fold.rows();
    if arguments.place.json {
        print_json(&rows);
        return Ok(());
    }
    if rows.is_empty() && is_there {
        output::tell("No task has ended yet.");
    }
    let mut lines: Vec<_> = rows.iter().map(cells).collect();
    if rows.len() > 1 {
        lines.push(cells(&UsageRow::sum(&rows)));
    }
    for line in aligned(&lines, 0) {
        output::say_fitted(&line);
    }
    if !rows.is_empty() {
        output::tell(NOT_COUNTED);
    }
    Ok(())
}

fn cells(row: &UsageRow) -> Vec<String> {
    let used = row.spent.in_words();
    let used = [Some(used).filter(|used| !used.is_empty()), row.beside_tasks_in_words()];
    let used = used.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let used = match (used.is_empty(), row.unreported) {
        (true, _) => "no usage reported".to_owned(),
        (false, 0) => used,
        (false, some) => format!("{used}; of {} nothing was reported", counted(some, "task")),
    };
    vec![row.name.clone(), counted(row.tasks, "task"), format!("{} done", row.done), used]
}
