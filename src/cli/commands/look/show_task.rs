//! `task`: one task with its prompt, its result, the files that it changed and what it used; with `-f` also its words as they come.

use clap::Args;

use super::bell::Bell;
use super::lines::task_lines;
use super::open_to_look::{Place, needs_team, print_json};
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::cli::{Failure, output, with_hint};
use crate::domain::ids::TaskId;
use crate::domain::text::visible_letters::seen;
use crate::domain::wait_times;
use crate::reader::{no_such_task, unlisted_turn, whole_task};
use crate::team::{JoinedWords, read_output};
use crate::view::{Moment, NoTexts, TaskRow};

/// Which task to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge tasks         list the ids
  cli-team-bridge task ID       show one
  cli-team-bridge task ID -f    show its words until it ends")]
pub(crate) struct TaskArguments {
    #[command(flatten)]
    place: Place,
    /// The task.
    #[arg(value_name = "ID", value_parser = TaskId::parse)]
    id: TaskId,
    /// Print the agent's words as they come, until the task ends.
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
}

pub(crate) fn run(arguments: &TaskArguments) -> Result<(), Failure> {
    let (bell, ring) = Bell::new();
    let opened = arguments.place.open(arguments.follow.then_some(ring))?;
    let Some(mut bus) = opened.bus else {
        return Err(needs_team(&opened.root));
    };
    if arguments.follow {
        return follow(&mut bus, &arguments.id, &bell);
    }
    let now = Moment(bus.now().wall_ms);
    let lines = if let Some(task) = whole_task(&mut bus, &arguments.id) {
        if arguments.place.json {
            print_json(&task);
            return Ok(());
        }
        task_lines::of(&task, now)
    } else {
        let turn = unlisted_turn(&mut bus, &arguments.id)?;
        let turn = turn.ok_or_else(|| unknown(&arguments.id))?;
        if arguments.place.json {
            print_json(&turn);
            return Ok(());
        }
        task_lines::of_turn(&turn, now)
    };
    for line in lines {
        output::say_fitted(&line);
    }
    Ok(())
}

/// Says that a task is not known.
fn unknown(id: &TaskId) -> Failure {
    let hint = format!(
        "`cli-team-bridge tasks` lists the tasks; `cli-team-bridge log --thread {id}` finds an older one"
    );
    with_hint(no_such_task(id), hint)
}

/// Prints the words of a task as they come, until it ends.
fn follow(bus: &mut Follower, id: &TaskId, bell: &Bell) -> Result<(), Failure> {
    let mut words = LiveWords::default();
    loop {
        bus.look()?;
        let gone = gone(bus, id);
        let (state, mut texts) = bus.state_and_texts();
        // Before the words: once the task is over, no more come.
        let task = state.task(id).ok_or_else(|| unknown(id))?;
        let status = task.status;
        let why = task.error.as_ref().map(|error| format!(": {}", seen(&error.message)));
        while words.read(|from| texts.transcript_after(id, from))? {
            output::say_part(&words.whole_words());
            if !output::has_reader() {
                return Ok(());
            }
        }
        if status.is_final() {
            output::say_part(&words.rest());
            output::tell(&format!("{id} {}{}", status.phrase(), why.unwrap_or_default()));
            return Ok(());
        }
        if let Some(gone) = gone {
            output::say_part(&words.rest());
            output::tell(&format!("{id} goes on no more: {gone}"));
            return Ok(());
        }
        if !output::has_reader() {
            return Ok(());
        }
        // A word of the agent changes its transcript, not the log.
        bell.wait(wait_times::LONGEST_POLL);
    }
}

/// Says that the agent of a task without an end is gone, if it is: then no more words come.
fn gone(bus: &Follower, id: &TaskId) -> Option<&'static str> {
    let task = bus.state().task(id)?;
    let is_held = |session| bus.is_held(session);
    TaskRow::of(bus.state(), task, (&is_held, bus.now()), &mut NoTexts).gone_in_words()
}

/// The most bytes that wait for the end of their word: then it is no word.
const LONGEST_WORD: usize = 1024;

/// The words of a running task: how far its transcript was read, and what was not printed yet.
#[derive(Default)]
struct LiveWords {
    read: u64,
    unprinted: JoinedWords,
    /// Whether the last printed line has no end yet.
    is_line_open: bool,
}

impl LiveWords {
    /// Reads the next part of the transcript, and says whether there was one.
    fn read(
        &mut self,
        lines_after: impl FnOnce(u64) -> Result<(String, u64), LogError>,
    ) -> Result<bool, LogError> {
        let (lines, read) = match lines_after(self.read) {
            // The task has not begun, or its transcript is too old.
            Err(LogError::Gone) => return Ok(false),
            outcome => outcome?,
        };
        self.read = read;
        read_output(&mut self.unprinted, &lines);
        Ok(!lines.is_empty())
    }

    /// Takes what ends with a whole word: the rest of a word, or of an escape sequence, may still come.
    fn whole_words(&mut self) -> String {
        let is_end =
            |(at, letter): (usize, char)| letter.is_whitespace().then_some(at + letter.len_utf8());
        let unprinted = &mut self.unprinted.text;
        let end = unprinted.char_indices().rev().find_map(is_end).unwrap_or_default();
        let is_no_word = unprinted.len() - end > LONGEST_WORD;
        let words: String =
            unprinted.drain(..if is_no_word { unprinted.len() } else { end }).collect();
        if let Some(last) = words.chars().next_back() {
            self.is_line_open = last != '\n';
        }
        words
    }

    /// Takes everything, and ends the last line.
    fn rest(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.unprinted.text);
        let is_open = if rest.is_empty() { self.is_line_open } else { !rest.ends_with('\n') };
        if is_open {
            rest.push('\n');
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(words: &str) -> String {
        format!("{}\n", serde_json::json!({"kind": "text", "text": words}))
    }

    #[test]
    fn each_part_of_a_transcript_is_read_once_and_printed_by_whole_words() {
        let (first, second) = (part("one tw"), part("o\nthree"));
        let mut asked = Vec::new();
        let mut words = LiveWords::default();
        let mut transcript = first.clone();
        let mut read = |words: &mut LiveWords, transcript: &str| {
            words.read(|from| {
                asked.push(from);
                let new = &transcript[usize::try_from(from).unwrap()..];
                Ok((new.to_owned(), transcript.len() as u64))
            })
        };
        assert!(read(&mut words, &transcript).unwrap());
        assert_eq!(words.whole_words(), "one ");
        assert!(!read(&mut words, &transcript).unwrap());
        assert_eq!(words.whole_words(), "");
        transcript.push_str(&second);
        assert!(read(&mut words, &transcript).unwrap());
        assert_eq!((words.whole_words(), words.rest()), ("two\n".to_owned(), "three\n".to_owned()));
        let one = first.len() as u64;
        assert_eq!(asked, [0, one, one]);
        assert!(!words.read(|_| Err(LogError::Gone)).unwrap());
    }

    #[test]
    fn the_last_line_is_ended_once_and_what_is_no_word_does_not_wait() {
        let mut words = LiveWords::default();
        let said = |words: &mut LiveWords, text: &str| {
            words.read(|_| Ok((part(text), 1))).unwrap();
            words.whole_words()
        };
        assert_eq!(words.rest(), "");
        assert_eq!(said(&mut words, "one two "), "one two ");
        assert_eq!(
            (words.rest(), said(&mut words, "end\n")),
            ("\n".to_owned(), "end\n".to_owned())
        );
        assert_eq!(words.rest(), "");
        let long = "x".repeat(LONGEST_WORD + 1);
        assert_eq!(said(&mut words, &long), long);
    }
}
