//! `log`: what has happened in a team, and with `-f` what happens from now on.

use std::collections::VecDeque;

use clap::Args;

use super::bell::Bell;
use super::log_filter::{self, LogFilter};
use super::open_to_look::{OpenedBus, Place, no_team};
use crate::bus::event::{Entry, LogPosition};
use crate::bus::state::State;
use crate::bus::storage::LogError;
use crate::bus::storage::file::{Follower, Listening};
use crate::cli::{Failure, output};
use crate::domain::time::iso8601;
use crate::domain::wait_times;
use crate::reader::{fold_back, walk};
use crate::sys::backoff::Backoff;
use crate::view::{Happening, Happenings, Texts};

/// The pauses between looks without notifications while nothing happens.
const LOOKS: Backoff = Backoff::new(wait_times::POLL, wait_times::LONGEST_POLL);

/// What to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge log                    the last 100 happenings
  cli-team-bridge log -f                 and those to come
  cli-team-bridge log --after SEQ        what came after the `seq` of `status --json`
  cli-team-bridge log --kind message     what the members wrote to each other
  cli-team-bridge log --thread ID        one thread, request, task or workflow")]
pub(crate) struct LogArguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    filter: LogFilter,
    /// Go on with what happens from now on.
    #[arg(long, short)]
    follow: bool,
    /// The most past happenings to show; with --since or --after, all are shown.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = log_filter::count, default_value_t = 100)]
    last: usize,
}

pub(crate) fn run(arguments: &LogArguments) -> Result<(), Failure> {
    let (bell, ring) = Bell::new();
    let OpenedBus { root, bus, .. } = arguments.place.open(arguments.follow.then_some(ring))?;
    let Some(mut bus) = bus else {
        output::tell(&no_team(&root));
        return Ok(());
    };
    let (Past { mut happenings, found, .. }, next) = past(&mut bus, arguments)?;
    for happening in &found {
        print(arguments, happening);
    }
    if found.is_empty()
        && let Some(asked) = arguments.filter.asked()
    {
        let far = if arguments.follow { " so far" } else { "" };
        output::tell(&format!("Nothing in the log fits {asked}{far}."));
    }
    if arguments.follow {
        follow(&mut bus, arguments, &mut happenings, next, &bell)
    } else {
        Ok(())
    }
}

fn print(arguments: &LogArguments, happening: &Happening) {
    if arguments.place.json {
        output::say(&serde_json::to_string(happening).expect("the read model is plain data"));
    } else {
        output::say_fitted(&line(happening));
    }
}

/// Returns a happening as a line.
fn line(happening: &Happening) -> String {
    let time: String = iso8601(happening.at.0).chars().take(19).collect();
    format!("{time}Z  {:<10}  {}", happening.topic.as_str(), happening.words)
}

/// The past happenings that fit, of the last parts of the log.
#[derive(Default)]
struct Past {
    happenings: Happenings,
    /// Oldest first.
    found: VecDeque<Happening>,
    /// The seq and the time of the first entry.
    begins: Option<(u64, i64)>,
}

/// Returns the past happenings to show, and where the log continues.
fn past(bus: &mut Follower, arguments: &LogArguments) -> Result<(Past, LogPosition), Failure> {
    let is_limited = arguments.filter.since.is_none() && arguments.filter.after.is_none();
    let most = if is_limited { arguments.last } else { usize::MAX };
    let take = |past: &mut Past, entry: &Entry, state: &State, texts: &mut dyn Texts| {
        past.begins.get_or_insert((entry.seq, entry.ts));
        let fitting = past.happenings.of(entry, state, texts).into_iter();
        past.found.extend(fitting.filter(|happening| arguments.filter.fits(happening)));
        while past.found.len() > most {
            past.found.pop_front();
        }
    };
    let has_enough = |past: &Past| {
        let ends = past.begins.and_then(|(seq, at)| arguments.filter.ends_before(seq, at));
        if is_limited { past.found.len() >= most } else { ends == Some(true) }
    };
    Ok(fold_back(bus, Past::default, take, has_enough)?)
}

/// Prints what happens from a position on, until the output has no reader or the bus is gone.
fn follow(
    bus: &mut Follower,
    arguments: &LogArguments,
    happenings: &mut Happenings,
    mut position: LogPosition,
    bell: &Bell,
) -> Result<(), Failure> {
    let mut looks = LOOKS;
    loop {
        let pause = match bus.listening() {
            Listening::Notified => wait_times::LOOK_AROUND,
            Listening::Polled => looks.next_pause(),
        };
        bell.wait(pause);
        match bus.look() {
            Err(LogError::Removed) => {
                output::tell("The bus was removed.");
                return Ok(());
            }
            looked => looked?,
        }
        let before = position;
        position = walk(bus, position, &mut |entry, state, texts| {
            for happening in happenings.of(entry, state, texts) {
                if arguments.filter.fits(&happening) {
                    print(arguments, &happening);
                }
            }
        })?;
        if position != before {
            looks.reset();
        }
        if !output::has_reader() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Moment, Topic};

    #[test]
    fn a_line_has_the_time_in_utc_the_kind_and_the_words() {
        let happening = Happening {
            seq: 1,
            at: Moment(1_770_000_000_123),
            topic: Topic::Task,
            members: Vec::new(),
            ids: Vec::new(),
            words: "ann begins task-1".to_owned(),
        };
        assert_eq!(line(&happening), "2026-02-02T02:40:00Z  task        ann begins task-1");
    }
}
