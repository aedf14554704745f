//! `bus export`: writes the whole history as JSON lines.

use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::bus::storage::file::Proof;
use crate::bus::storage::file::upkeep::{self, Export, ExportOptions, Exported};
use crate::cli::commands::look::{foreign, no_team, unusable, whose};
use crate::cli::find_project;
use crate::cli::{Failure, output, with_hint};
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::temporary_file::{TemporaryFile, sweep};

/// How much is printed at once: a pipe holds as much.
const PRINTED_AT_ONCE: usize = 64 * 1024;

/// What to export, and where to.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge bus export history.jsonl
  cli-team-bridge bus export | jq -r '.event | keys[0]?'

docs/view.md describes the lines. A damaged bus is exported as far as it can be read; the
last line, and stderr, say what is missing.")]
pub(super) struct ExportArguments {
    /// The file to write, which must not exist; `-` for stdout.
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Also export the transcripts of all tasks.
    #[arg(long)]
    transcripts: bool,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(super) fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    let project = find_project::find(arguments.project.as_deref())?;
    let options = ExportOptions { with_transcripts: arguments.transcripts };
    let bus = OneBus { directory: project.bus_directory(), proof: whose(), options };
    let done = if arguments.file == Path::new("-") {
        to_stdout(&bus)?
    } else {
        to_file(&bus, &arguments.file)?
    };
    match done {
        // The number is of events read; the error of what could not be written says more.
        Export::Done(_) if output::why_unwritten().is_some() => {}
        Export::Done(done) => report(&done),
        Export::Foreign => return Err(foreign(&bus.directory)),
        Export::Absent => output::tell(&no_team(&project.root)),
    }
    Ok(())
}

/// The bus to export.
struct OneBus {
    directory: PathBuf,
    proof: Proof,
    options: ExportOptions,
}

impl OneBus {
    fn export(&self, take: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Export, Failure> {
        upkeep::export(&self.directory, &self.proof, self.options, take).map_err(unusable)
    }
}

fn to_stdout(bus: &OneBus) -> Result<Export, Failure> {
    let mut waiting = String::new();
    let done = bus.export(&mut |line| {
        waiting.push_str(line);
        if waiting.len() < PRINTED_AT_ONCE {
            waiting.push('\n');
            return ControlFlow::Continue(());
        }
        output::say(&waiting);
        waiting.clear();
        let goes_on = output::has_reader() && output::why_unwritten().is_none();
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if !waiting.is_empty() {
        output::say(waiting.trim_end_matches('\n'));
    }
    Ok(done)
}

/// Writes a file as a whole: nobody finds a part of it.
fn to_file(bus: &OneBus, path: &Path) -> Result<Export, Failure> {
    let cannot = |error: io::Error| -> Failure {
        format!("cannot write `{}`: {error}", path.shown()).into()
    };
    if path.symlink_metadata().is_ok() {
        let what = format!("`{}` is already there", path.shown());
        return Err(with_hint(what, "name a new file, or remove that one first"));
    }
    // A bare name has an empty parent.
    let target = std::path::absolute(path).map_err(cannot)?;
    sweep(&target);
    let new = TemporaryFile::beside(&target).map_err(cannot)?;
    let mut out = BufWriter::new(new.file());
    let mut failed = None;
    let done = bus.export(&mut |line| match writeln!(out, "{line}") {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    let flushed = out.flush();
    drop(out);
    if let Some(error) = failed {
        return Err(cannot(error));
    }
    flushed.map_err(cannot)?;
    if matches!(done, Export::Done(_)) {
        // Another program may have made it meanwhile.
        new.become_target().map_err(cannot)?;
    }
    Ok(done)
}

/// Says what was exported, and what is missing.
fn report(done: &Exported) {
    let transcripts = match done.transcript_lines {
        0 => String::new(),
        lines => format!(" and {} of transcripts", counted(lines, "line")),
    };
    output::tell(&format!("exported {}{transcripts}", counted(done.events, "event")));
    let missing = [
        counted_as(done.damaged_lines, "damaged part of the log", "damaged parts of the log"),
        counted_as(done.missing_events, "missing event", "missing events"),
        counted_as(done.missing_texts, "missing text", "missing texts"),
        counted_as(done.missing_transcripts, "missing transcript", "missing transcripts"),
    ];
    if !done.is_whole() {
        let missing: Vec<_> =
            missing.into_iter().filter(|words| !words.starts_with("0 ")).collect();
        output::tell(&format!(
            "warning: the history is not whole: {}; `cli-team-bridge bus verify` says more",
            missing.join(", ")
        ));
    }
}
