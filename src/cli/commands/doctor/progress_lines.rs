//! The progress of an examination, as lines at the end of a terminal until the report replaces them.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::report_lines::{mark, tint};
use crate::cli::output;
use crate::cli::output::letter_columns::cut_to;
use crate::doctor::{Level, Step, Subject};
use crate::sys::mutex::lock;

/// How often the lines are painted: often enough to look alive.
const BEAT: Duration = Duration::from_millis(100);

/// The frames of the mark for a running examination.
const SPINNER: [&str; 4] = ["⠋", "⠙", "⠸", "⠴"];

/// The subjects under examination, in the order in which their examinations began.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    subject: Subject,
    began: Instant,
    /// How many examinations of the subject are running.
    running: usize,
    /// The worst level that the finished ones found, and the time until the last of them ended.
    ended: Option<(Level, Duration)>,
}

impl Rows {
    /// Records a step.
    pub(super) fn note(&mut self, subject: &Subject, step: Step) {
        if !self.rows.iter().any(|row| row.subject == *subject) {
            let began = Instant::now();
            self.rows.push(Row { subject: subject.clone(), began, running: 0, ended: None });
        }
        let row = self.rows.iter_mut().find(|row| row.subject == *subject);
        let row = row.expect("the row exists");
        match step {
            Step::Begins => row.running += 1,
            Step::Ends(level) => {
                row.running = row.running.saturating_sub(1);
                let worst = row.ended.map_or(level, |(before, _)| before.max(level));
                row.ended = Some((worst, row.began.elapsed()));
            }
        }
    }

    /// Returns a line of at most so many columns for each row.
    fn lines(&self, beat: usize, colours: bool, columns: usize) -> Vec<String> {
        let line = |row: &Row| {
            let (mark, level, after) = match row.ended {
                Some((level, after)) if row.running == 0 => (mark(level), level, after),
                _ => (SPINNER[beat % SPINNER.len()], Level::Note, row.began.elapsed()),
            };
            let mark = tint(mark, level, colours);
            let rest = format!(" {:<14} {:>5.1} s", row.subject.to_string(), after.as_secs_f64());
            mark + &cut_to(&rest, columns.saturating_sub(1))
        };
        self.rows.iter().map(line).collect()
    }

    /// Shows the rows while some work runs, and removes them when it is done.
    pub(super) async fn shown_while<T>(rows: &Mutex<Self>, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        let mut beats = tokio::time::interval(BEAT);
        let mut painting: Option<JoinHandle<()>> = None;
        let mut beat = 0;
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = beats.tick() => {}
            }
            // A stopped terminal blocks a painting, but not this loop.
            if painting.as_ref().is_none_or(JoinHandle::is_finished) {
                beat += 1;
                let (most, columns) = output::size();
                // Text in the last column moves some terminals to the next row, and a line that is broken is painted again and again.
                let columns = columns.saturating_sub(1);
                let mut lines = lock(rows).lines(beat, output::wants_colours(), columns);
                lines.truncate(most.saturating_sub(1).max(1));
                let next = output::Painting { lines, ..output::Painting::default() };
                painting = Some(tokio::task::spawn_blocking(move || output::paint(next)));
            }
        };
        if let Some(painting) = painting {
            // A failed painting changes nothing.
            let _ = painting.await;
        }
        output::leave(output::Painting::default());
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_the_worst_level_once_all_its_examinations_have_ended() {
        let mut rows = Rows::default();
        let first = |rows: &Rows| rows.lines(0, false, 80)[0].chars().next().unwrap();
        rows.note(&Subject::Bridge, Step::Begins);
        rows.note(&Subject::Bridge, Step::Begins);
        rows.note(&Subject::Bridge, Step::Ends(Level::Problem));
        assert_eq!(first(&rows), '⠋');
        rows.note(&Subject::Bridge, Step::Ends(Level::Ok));
        assert_eq!(first(&rows), '✗');
        assert_eq!(rows.lines(0, false, 80).len(), 1);
    }

    #[test]
    fn a_row_is_cut_where_the_terminal_is_narrower() {
        let mut rows = Rows::default();
        rows.note(&Subject::Agent("claude-code".to_owned()), Step::Begins);
        let whole = rows.lines(0, false, 80).remove(0);
        for columns in [1, 2, 19, whole.chars().count()] {
            let line = rows.lines(0, false, columns).remove(0);
            assert_eq!(line.chars().count(), columns, "{line}");
        }
        assert!(whole.ends_with(" s"), "{whole}");
    }
}
