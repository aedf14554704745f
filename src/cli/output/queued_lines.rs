//! Lines for a reader that may be slow, or have stopped reading: they wait beside the command, and what is too much is left out and counted.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use super::print_lines::say;
use crate::domain::text::counted::counted_as;

/// More than a person reads at once, and little memory.
const LINES: usize = 256;

pub(crate) struct QueuedLines {
    queue: SyncSender<String>,
    printed: Receiver<()>,
    left_out: Cell<u64>,
}

impl QueuedLines {
    pub(crate) fn to_stdout() -> io::Result<Self> {
        Self::to(|line| say(&line))
    }

    fn to(print: impl Fn(String) + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = mpsc::sync_channel(LINES);
        let (end, printed) = mpsc::sync_channel(0);
        let printing = move || {
            lines.into_iter().for_each(print);
            drop(end);
        };
        std::thread::Builder::new().name("output".into()).spawn(printing)?;
        Ok(Self { queue, printed, left_out: Cell::new(0) })
    }

    /// Prints a line of output to stdout once its reader takes it, or leaves it out. Never waits.
    pub(crate) fn say(&self, line: String) {
        let left_out = self.left_out.get();
        let is_room = left_out == 0 || self.queue.try_send(note(left_out)).is_ok();
        if is_room {
            self.left_out.set(0);
        }
        if !is_room || self.queue.try_send(line).is_err() {
            self.left_out.set(self.left_out.get() + 1);
        }
    }

    /// Waits until all is printed, but no longer than the reader may take.
    pub(crate) fn end(self, at_most: Duration) {
        drop(self.queue);
        // The end of the thread closes the channel; a reader that takes nothing loses the rest.
        let _ = self.printed.recv_timeout(at_most);
    }
}

fn note(left_out: u64) -> String {
    let lines = counted_as(left_out, "line is", "lines are");
    format!("{lines} left out here, because this output was not read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_stopped_holds_nobody_and_is_told_how_much_is_left_out() {
        let (to_reader, read) = mpsc::sync_channel::<String>(0);
        let lines = QueuedLines::to(move |line| drop(to_reader.send(line))).unwrap();
        let many = LINES + 50;
        for number in 0..many {
            lines.say(number.to_string());
        }
        let mut seen: Vec<_> = (0..2).map(|_| read.recv().unwrap()).collect();
        // Now there is room again.
        let left_out = lines.left_out.get();
        assert!((49..=50).contains(&left_out), "{left_out}");
        lines.say("later".to_owned());
        let reading = std::thread::spawn(move || {
            seen.extend(read.iter());
            seen
        });
        lines.end(Duration::from_mins(1));
        let seen = reading.join().unwrap();
        assert_eq!(seen.iter().filter(|line| **line == note(left_out)).count(), 1, "{seen:?}");
        assert_eq!(seen.last().map(String::as_str), Some("later"));
        assert_eq!(seen[0], "0");
        assert!(note(1).starts_with("1 line is left out"));
    }
}
