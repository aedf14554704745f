//! `bus prune`: removes now what retention would remove with a later snapshot.

use std::io::{IsTerminal as _, stdin};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::prune_age;
use crate::bus::storage::file::upkeep::{self, PruneOptions, Pruned, Pruning};
use crate::cli::commands::look::{Place, foreign, no_team, print_json, unusable};
use crate::cli::{Failure, below_agent, output, with_hint};
use crate::domain::text::counted::counted;
use crate::sys::terminal;

/// What to prune.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
What a member may still have to read stays at any age, as do the newest file of the log and
what the older snapshot needs. The team may be at work.

Examples:
  cli-team-bridge bus prune --dry-run          what the team's own limit would remove
  cli-team-bridge bus prune --older-than 7d    remove what is older than a week")]
pub(super) struct PruneArguments {
    #[command(flatten)]
    place: Place,
    /// The age of what is removed, such as 30d or 12h [default: the team's own limit].
    #[arg(long, value_name = "AGE", value_parser = prune_age::parse)]
    older_than: Option<Duration>,
    /// Only say what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

/// What was removed, for programs.
#[derive(Serialize)]
struct PrunedJson {
    version: u32,
    removed: bool,
    segments: u64,
    segments_kept: u64,
    texts: u64,
    transcripts: u64,
    bytes: u64,
    older_than_seconds: i64,
}

pub(super) fn run(arguments: &PruneArguments) -> Result<(), Failure> {
    if !arguments.dry_run {
        below_agent::refuse_to("remove history of its team")?;
    }
    let (project, proof) = arguments.place.project_and_proof()?;
    let directory = project.bus_directory();
    let prune = |removes: bool| -> Result<Option<Pruned>, Failure> {
        let options = PruneOptions { older_than: arguments.older_than, removes };
        match upkeep::prune(&directory, &proof, &options).map_err(unusable)? {
            Pruning::Done(pruned) => Ok(Some(pruned)),
            Pruning::Absent => Ok(None),
            Pruning::Foreign => Err(foreign(&directory)),
        }
    };
    let Some(found) = prune(false)? else {
        output::tell(&no_team(&project.root));
        return Ok(());
    };
    let is_nothing = found.segments + found.texts + found.transcripts == 0;
    if arguments.dry_run || is_nothing {
        print(arguments, &found, false);
        return Ok(());
    }
    if !arguments.yes {
        if !stdin().is_terminal() {
            let hint = "run this in a terminal, or add --yes to remove it";
            output::tell(&words(&found, "would be removed"));
            return Err(with_hint("there is no terminal to ask at, so nothing was removed", hint));
        }
        output::tell(&words(&found, "can be removed"));
        if !agrees()? {
            output::tell("Nothing was removed.");
            return Ok(());
        }
    }
    if let Some(pruned) = prune(true)? {
        print(arguments, &pruned, true);
    }
    Ok(())
}

/// Asks at the terminal. Anything but a clear yes is no. Input typed before the question is dropped.
fn agrees() -> Result<bool, Failure> {
    terminal::drop_typed(stdin());
    output::tell("Remove it? It cannot be restored. [y/N]");
    let mut typed = String::new();
    stdin().read_line(&mut typed)?;
    Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn print(arguments: &PruneArguments, pruned: &Pruned, removed: bool) {
    if arguments.place.json {
        print_json(&PrunedJson {
            version: 1,
            removed,
            segments: pruned.segments,
            segments_kept: pruned.segments_kept,
            texts: pruned.texts,
            transcripts: pruned.transcripts,
            bytes: pruned.bytes,
            older_than_seconds: pruned.kept_ms / 1000,
        });
        return;
    }
    output::say(&words(pruned, if removed { "removed" } else { "would be removed" }));
    if pruned.segments == 0 && pruned.lacks_snapshots && pruned.segments_kept > 1 {
        output::say("No file of the log can go until the bridge has written two snapshots.");
    }
}

/// Says what goes.
fn words(pruned: &Pruned, what: &str) -> String {
    let age = prune_age::in_words(pruned.kept_ms);
    let kept = counted(pruned.segments_kept, "file");
    if pruned.segments + pruned.texts + pruned.transcripts == 0 {
        return format!(
            "There is nothing to remove that is older than {age} (the log has {kept})."
        );
    }
    format!(
        "Older than {age}, {what}: {} of the log, {}, {}: {}.{} MB. The log keeps {kept}.",
        counted(pruned.segments, "file"),
        counted(pruned.texts, "long text"),
        counted(pruned.transcripts, "transcript"),
        pruned.bytes / 1_000_000,
        pruned.bytes % 1_000_000 / 100_000,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_count_what_goes_and_what_stays() {
        let mut pruned = Pruned { segments_kept: 1, kept_ms: 86_400_000, ..Pruned::default() };
        assert_eq!(
            words(&pruned, "removed"),
            "There is nothing to remove that is older than 1 day (the log has 1 file)."
        );
        pruned.segments = 2;
        pruned.bytes = 8_400_000;
        assert_eq!(
            words(&pruned, "removed"),
            "Older than 1 day, removed: 2 files of the log, 0 long texts, 0 transcripts: 8.4 MB. \
             The log keeps 1 file."
        );
    }
}
