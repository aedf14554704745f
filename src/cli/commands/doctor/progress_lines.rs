//! What is being looked at, as lines that stay at the end of a terminal until the report takes their place.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::report_lines::{mark, tint};
use crate::cli::output;
use crate::doctor::{Level, Step, Subject};
use crate::sys::mutex::lock;

/// How often the lines are painted: what looks alive to the eye.
const BEAT: Duration = Duration::from_millis(100);

/// The marks of a look that goes on, one after the other.
const SPINNER: [&str; 4] = ["⠋", "⠙", "⠸", "⠴"];

/// What is being looked at, in the order in which that began.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    subject: Subject,
    began: Instant,
    /// How many looks of it go on; the worst that those that are over found, and after how long.
    open: usize,
    ended: Option<(Level, Duration)>,
}

impl Rows {
    /// Takes in what happens.
    pub(super) fn note(&mut self, subject: &Subject, step: Step) {
        if !self.rows.iter().any(|row| row.subject == *subject) {
            let began = Instant::now();
            self.rows.push(Row { subject: subject.clone(), began, open: 0, ended: None });
        }
        let row = self.rows.iter_mut().find(|row| row.subject == *subject);
        let row = row.expect("it is there by now");
        match step {
            Step::Begins => row.open += 1,
            Step::Ends(level) => {
                row.open = row.open.saturating_sub(1);
                let worst = row.ended.map_or(level, |(before, _)| before.max(level));
                row.ended = Some((worst, row.began.elapsed()));
            }
        }
    }

    fn lines(&self, beat: usize, colours: bool) -> Vec<String> {
        let line = |row: &Row| {
            let (mark, level, after) = match row.ended {
                Some((level, after)) if row.open == 0 => (mark(level), level, after),
                _ => (SPINNER[beat % SPINNER.len()], Level::Note, row.began.elapsed()),
            };
            let mark = tint(mark, level, colours);
            format!("{mark} {:<14} {:>5.1} s", row.subject.to_string(), after.as_secs_f64())
        };
        self.rows.iter().map(line).collect()
    }

    /// Shows the rows while something goes on, and takes them away when it is over.
    pub(super) async fn shown_while<T>(rows: &Mutex<Self>, going_on: impl Future<Output = T>) -> T {
        tokio::pin!(going_on);
        let mut beats = tokio::time::interval(BEAT);
        let mut painting: Option<JoinHandle<()>> = None;
        let mut beat = 0;
        let done = loop {
            tokio::select! {
                done = &mut going_on => break done,
                _ = beats.tick() => {}
            }
            // A terminal may be stopped; nothing waits for that.
            if painting.as_ref().is_none_or(JoinHandle::is_finished) {
                beat += 1;
                let (most, _) = output::size();
                let mut lines = lock(rows).lines(beat, output::wants_colours());
                lines.truncate(most.saturating_sub(1).max(1));
                let next = output::Painting { lines, ..output::Painting::default() };
                painting = Some(tokio::task::spawn_blocking(move || output::paint(next)));
            }
        };
        if let Some(painting) = painting {
            // It has only painted.
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
    fn a_row_shows_the_worst_of_its_looks_once_all_are_over() {
        let mut rows = Rows::default();
        let first = |rows: &Rows| rows.lines(0, false)[0].chars().next().unwrap();
        rows.note(&Subject::Bridge, Step::Begins);
        rows.note(&Subject::Bridge, Step::Begins);
        rows.note(&Subject::Bridge, Step::Ends(Level::Problem));
        assert_eq!(first(&rows), '⠋');
        rows.note(&Subject::Bridge, Step::Ends(Level::Ok));
        assert_eq!(first(&rows), '✗');
        assert_eq!(rows.lines(0, false).len(), 1);
    }
}
