//! `trace`: finds an exchange by an id of it, and shows it as a whole.

use clap::Args;

use super::{sequence_diagram, trace_lines};
use crate::cli::commands::look::open_to_look::{Place, needs_team, print_json};
use crate::cli::{Failure, output, with_hint};
use crate::domain::text::counted::counted;
use crate::domain::text::listed::listed;
use crate::domain::time::iso8601;
use crate::reader::{TraceOutcome, trace};
use crate::view::{Moment, Trace, TraceId};

/// What to trace.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge messages              list the ids
  cli-team-bridge trace ID              the whole exchange of a message, a thread or a request
  cli-team-bridge trace ID --mermaid    a sequence diagram, to paste where Mermaid is shown")]
pub(crate) struct TraceArguments {
    #[command(flatten)]
    place: Place,
    /// A message, the first message of a thread, or a request.
    #[arg(value_name = "ID", value_parser = TraceId::parse)]
    id: TraceId,
    /// Print a Mermaid sequence diagram.
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
}

pub(crate) fn run(arguments: &TraceArguments) -> Result<(), Failure> {
    let opened = arguments.place.open(None)?;
    let Some(mut bus) = opened.bus else {
        return Err(needs_team(&opened.root));
    };
    let trace = match trace(&mut bus, arguments.id.clone())? {
        TraceOutcome::Found(trace) => trace,
        TraceOutcome::Removed { begins } => return Err(removed(&arguments.id, begins)),
        TraceOutcome::Unknown { begins } => return Err(unknown(&arguments.id, begins)),
    };
    if arguments.place.json {
        print_json(&trace);
    } else if arguments.mermaid {
        for line in sequence_diagram::lines(&trace) {
            output::say(&line);
        }
    } else {
        for line in trace_lines::of(&trace) {
            output::say_fitted(&line);
        }
    }
    for line in remarks(&trace, bus.damaged_lines()) {
        output::tell(&line);
    }
    Ok(())
}

/// Says what is not shown.
fn remarks(trace: &Trace, damaged_lines: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    if !trace.missing.is_empty() {
        let missing = listed(&trace.missing, "and");
        remarks.push(format!("No longer in the log, or damaged there: {missing}."));
    }
    if trace.left_out > 0 {
        remarks.push(format!("Left out: {}.", counted(trace.left_out, "later message")));
    }
    if damaged_lines > 0 {
        let lines = counted(damaged_lines, "damaged line");
        remarks.push(format!(
            "The log has {lines}, so something may be missing here: `cli-team-bridge bus verify` says more."
        ));
    }
    remarks
}

fn removed(id: &TraceId, begins: Option<Moment>) -> Failure {
    let what = match begins {
        Some(begins) => format!(
            "{id} was removed with the history before {}: only its name is left in the log",
            day_and_time(begins)
        ),
        None => format!("{id} cannot be read: its line of the log is damaged or was removed"),
    };
    with_hint(what, exported(begins))
}

fn unknown(id: &TraceId, begins: Option<Moment>) -> Failure {
    let kind = match id {
        TraceId::Message(_) => "message",
        TraceId::Request(_) => "request",
    };
    match begins {
        Some(begins) => with_hint(
            format!(
                "there is no {kind} `{id}` in the log, which begins on {}: older history was removed",
                day_and_time(begins)
            ),
            exported(Some(begins)),
        ),
        None => with_hint(
            format!("there is no {kind} `{id}` in this project"),
            "`cli-team-bridge messages` and `log` show ids; --project names another project",
        ),
    }
}

fn exported(begins: Option<Moment>) -> &'static str {
    if begins.is_some() {
        "a file of `cli-team-bridge bus export` from before then has it; `retention_days` in \
         [limits] says how long history is kept"
    } else {
        "`cli-team-bridge bus verify` says what is damaged"
    }
}

fn day_and_time(moment: Moment) -> String {
    let time: String = iso8601(moment.0).chars().take(19).collect();
    format!("{time}Z")
}
