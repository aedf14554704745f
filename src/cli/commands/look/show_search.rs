//! `search`: finds words in everything that the team has said and done, newest first.

use std::cell::Cell;
use std::time::{Duration, Instant};

use clap::Args;

use super::log_filter;
use super::open_to_look::{Place, foreign, no_team, print_json, unusable};
use crate::bus::storage::file::upkeep::{History, HistoryReader};
use crate::cli::{Failure, output, with_hint};
use crate::domain::time::iso8601;
use crate::search::{Found, IndexPlace, Progress, Query, Search, SearchError, SearchHit, search};

/// How long bringing the index up to date may take before its progress is shown.
const SILENT: Duration = Duration::from_millis(300);

/// How often the progress is painted.
const BEAT: Duration = Duration::from_millis(100);

/// What to search for.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge search parser            the word, in any case
  cli-team-bridge search \"path check\"      these words together
  cli-team-bridge search \"pars*\" --member codex  words that begin so, from or to codex

Messages, requests, prompts, results and transcripts are searched, as far back as the bus
keeps them. The first search of a bus makes an index in your cache directory.")]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    place: Place,
    /// Words that a text must all have; `word*` for any ending.
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Only texts from or to this member.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Only texts since then: 30m, 1h or 2d ago, or a day or a time in UTC, such as 2026-01-31 or 2026-01-31T08:00Z.
    #[arg(long, value_name = "TIME", value_parser = log_filter::since)]
    since: Option<i64>,
    /// The most hits to show.
    #[arg(long, value_name = "COUNT", value_parser = log_filter::count, default_value_t = 20)]
    limit: usize,
}

pub(crate) fn run(arguments: &SearchArguments) -> Result<(), Failure> {
    let query = Query::parse(arguments.words.iter().map(String::as_str))?;
    let query = query.of_member(arguments.member.as_deref());
    let asked = Search { query, since_ms: arguments.since, limit: arguments.limit };
    let (project, proof) = arguments.place.project_and_proof()?;
    let directory = project.bus_directory();
    let found = match HistoryReader::open(&directory, &proof).map_err(unusable)? {
        History::Readable(mut history) => Some(find(&mut history, &asked)?),
        History::Foreign => return Err(foreign(&directory)),
        History::Absent => {
            output::tell(&no_team(&project.root));
            None
        }
    };
    let is_there = found.is_some();
    let found = found.unwrap_or_default();
    if arguments.place.json {
        print_json(&found);
        return Ok(());
    }
    for hit in &found.hits {
        for line in lines(hit) {
            output::say_fitted(&line);
        }
    }
    if found.hits.is_empty() && is_there {
        output::tell("Nothing was found.");
    }
    if found.has_more {
        output::tell("There is more: --limit shows more, --since and --member less.");
    }
    Ok(())
}

/// Searches, and paints the progress of an index that takes long.
fn find(history: &mut HistoryReader, asked: &Search) -> Result<Found, Failure> {
    let can_paint = output::can_paint();
    let (begun, painted) = (Instant::now(), Cell::new(None::<Instant>));
    let paint = |line: String| {
        painted.set(Some(Instant::now()));
        output::paint(output::Painting { lines: vec![line], ..output::Painting::default() });
    };
    let on_wait = &mut || {
        if can_paint {
            paint("waiting for another search of this bus".to_owned());
        }
    };
    let on_progress = &mut |progress: Progress| {
        let is_due = painted.get().is_none_or(|last| last.elapsed() >= BEAT);
        if can_paint && is_due && begun.elapsed() >= SILENT {
            paint(progress_line(progress));
        }
    };
    let found = search(history, &IndexPlace::of_process(), asked, on_wait, on_progress);
    if painted.get().is_some() {
        output::leave(output::Painting::default());
    }
    found.map_err(|error| match error {
        SearchError::Log(error) => unusable(error),
        error @ SearchError::Index(_) => {
            let hint = "the index is a cache: remove the directory `search` in your cache \
                        directory (~/.cache/cli-team-bridge), and search again";
            with_hint(error.to_string(), hint)
        }
        error => error.into(),
    })
}

fn progress_line(progress: Progress) -> String {
    let percent = progress.done.saturating_mul(100) / progress.total.max(1);
    let megabytes = progress.total / 1_000_000;
    format!("reading {megabytes} MB of history for the index: {} %", percent.min(100))
}

/// Returns a hit as lines: what was said, and what shows it whole.
fn lines(hit: &SearchHit) -> [String; 2] {
    let time: String = iso8601(hit.at.0).chars().take(19).collect();
    let who = match (&hit.from, &hit.to) {
        (Some(from), Some(to)) => format!("{from} → {to}: "),
        (Some(from), None) => format!("{from}: "),
        _ => String::new(),
    };
    let text = serde_json::Value::from(&*hit.text);
    [format!("{time}Z  {:<10}  {who}{text}", hit.kind.as_str()), format!("    {}", hit.open)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::HitKind;
    use crate::view::Moment;

    #[test]
    fn a_hit_has_its_words_and_what_to_open_next() {
        let hit = SearchHit {
            at: Moment(1_770_000_000_123),
            kind: HitKind::Prompt,
            seq: Some(1),
            from: Some("orchestrator".to_owned()),
            to: Some("codex".to_owned()),
            id: "task-1".to_owned(),
            text: "say \"hi\"".to_owned(),
            open: "cli-team-bridge task task-1".to_owned(),
        };
        assert_eq!(
            lines(&hit),
            [
                "2026-02-02T02:40:00Z  prompt      orchestrator → codex: \"say \\\"hi\\\"\"",
                "    cli-team-bridge task task-1"
            ]
        );
        assert_eq!(
            progress_line(Progress { done: 1_000_000, total: 4_000_000 }),
            "reading 4 MB of history for the index: 25 %"
        );
    }
}
