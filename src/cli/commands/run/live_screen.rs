//! The terminal of a person who watches a run: the tree, repainted while it changes, and the question that waits for an answer.
//!
//! Nothing here waits for the terminal on the thread that leads the workflow: its user may have stopped it with a key.

use std::io::{IsTerminal as _, Read as _, stderr, stdin};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

use super::terminal_question::{self, TerminalQuestion};
use super::tree::{self, Head, Shown, TreeStyle};
use crate::bus::state::{State, Workflow};
use crate::cli::{Failure, output};
use crate::sys::signal_streams::Continuations;
use crate::sys::{clock, terminal};

/// How often the tree is repainted at the most: what looks alive to the eye.
const BEAT: Duration = Duration::from_millis(100);

/// A line of a terminal is not longer than this, in bytes: what the system keeps of one.
const LONGEST_LINE: usize = 8192;

/// What a person sees and types.
pub(crate) struct Screen {
    head: Head,
    began: Instant,
    steps: Vec<Shown>,
    beats: Interval,
    /// How often the tree was repainted.
    beat: usize,
    continued: Continuations,
    /// Whether there is a person to type.
    has_keys: bool,
    asking: Option<ShownQuestion>,
    /// What is to be painted besides the tree.
    next: output::Painting,
    /// What was painted last.
    last: (Vec<String>, Option<String>),
    /// Gives back what could not be painted.
    painting: Option<JoinHandle<Option<output::Painting>>>,
}

/// A question that is on the screen.
struct ShownQuestion {
    question: TerminalQuestion,
    /// Hears what was typed.
    answer: oneshot::Sender<String>,
}

impl Screen {
    /// Begins to listen, and paints nothing yet. Needs a tokio runtime.
    pub(crate) fn of(workflow: &Workflow, began: Instant) -> Result<Self, Failure> {
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            head: Head {
                name: tree::one_line(&workflow.name),
                id: workflow.id.to_string(),
                elapsed: Duration::ZERO,
                now_ms: 0,
            },
            began,
            steps: Vec::new(),
            beats,
            beat: 0,
            continued: Continuations::listen()?,
            has_keys: stdin().is_terminal(),
            asking: None,
            next: output::Painting::default(),
            last: (Vec::new(), None),
            painting: None,
        })
    }

    /// Takes in where the workflow stands.
    pub(crate) fn update(&mut self, workflow: &Workflow, state: &State) {
        self.steps = tree::shown(workflow, state);
        let is_open = |asking: &ShownQuestion| {
            terminal_question::is_open(&asking.question.subject, workflow, state)
        };
        // It was answered elsewhere, or needs no answer any more.
        self.asking = self.asking.take().filter(is_open);
    }

    /// Asks the person. The answer never comes when it is given elsewhere.
    pub(crate) fn ask(&mut self, question: &TerminalQuestion) -> oneshot::Receiver<String> {
        let (answer, answered) = oneshot::channel();
        if terminal::is_foreground(stdin()) {
            // What was typed before the question is no answer to it.
            terminal::drop_typed(stdin());
        }
        self.next.above.extend(question.about.clone());
        self.asking = Some(ShownQuestion { question: question.clone(), answer });
        answered
    }

    /// Waits for the next beat, and does what there is to do in it. Cancel safe.
    pub(crate) async fn beat(&mut self) {
        tokio::select! {
            biased;
            () = self.continued.recv() => self.next.anew = true,
            _ = self.beats.tick() => {}
        }
        if !terminal::is_foreground(stderr()) {
            // The shell has the terminal now, and what is painted on it.
            self.next.anew = true;
            return;
        }
        self.read_lines();
        self.paint().await;
    }

    fn read_lines(&mut self) {
        while self.has_line() {
            let mut line = vec![0; LONGEST_LINE];
            let Ok(read) = stdin().lock().read(&mut line) else {
                self.has_keys = false;
                return;
            };
            let line = String::from_utf8_lossy(&line[..read]).into_owned();
            if let Some(asking) = self.asking.take() {
                // The workflow may just have come to its end.
                let _ = asking.answer.send(line.clone());
            }
            if line.ends_with('\n') {
                self.next.typed.push(line);
            } else {
                // The end of the input: it stays where it is, and there is no more to read now.
                return;
            }
        }
    }

    fn has_line(&self) -> bool {
        self.has_keys && terminal::is_foreground(stdin()) && terminal::has_line(stdin())
    }

    /// Paints what is new, on a thread of its own.
    async fn paint(&mut self) {
        match &mut self.painting {
            Some(painting) if !painting.is_finished() => return,
            Some(painting) => {
                let left = painting.await.ok().flatten();
                self.painting = None;
                self.put_back(left);
            }
            None => {}
        }
        let painting = self.painting_now();
        let (lines, question) = &self.last;
        let is_new = painting.anew
            || !painting.typed.is_empty()
            || !painting.above.is_empty()
            || *lines != painting.lines
            || *question != painting.question;
        if !is_new {
            return;
        }
        self.beat += 1;
        self.last = (painting.lines.clone(), painting.question.clone());
        let has_keys = self.has_keys;
        self.painting = Some(tokio::task::spawn_blocking(move || {
            // A line that was typed this moment has moved the cursor: it has to be read first.
            if has_keys && terminal::has_line(stdin()) {
                return Some(painting);
            }
            output::paint(painting);
            None
        }));
    }

    /// Takes back what was not painted.
    fn put_back(&mut self, left: Option<output::Painting>) {
        if let Some(left) = left {
            self.next.anew |= left.anew;
            self.next.above.splice(0..0, left.above);
            self.next.typed.splice(0..0, left.typed);
            self.last = (Vec::new(), None);
        }
    }

    fn painting_now(&mut self) -> output::Painting {
        let (rows, columns) = output::size();
        let mut painting = std::mem::take(&mut self.next);
        // The last row is for the cursor and the question.
        painting.lines = self.lines(columns, Some(rows.saturating_sub(1).max(1)), true);
        let asking = self.asking.as_ref();
        painting.question = asking.map(|asking| format!("{} ", asking.question.text));
        painting
    }

    fn lines(&mut self, columns: usize, rows: Option<usize>, goes_on: bool) -> Vec<String> {
        self.head.elapsed = self.began.elapsed();
        self.head.now_ms = clock::now().wall_ms;
        let look = TreeStyle {
            // What is written into the last column moves some terminals to the next row.
            width: columns.saturating_sub(1).max(1),
            rows,
            colours: output::wants_colours(),
            beat: goes_on.then_some(self.beat),
        };
        tree::draw(&self.head, &self.steps, &look)
    }

    /// Leaves the tree as it stands now: whole when the workflow is over. It waits for a terminal that is stopped.
    pub(crate) async fn leave(mut self, is_over: bool) {
        if let Some(painting) = self.painting.take() {
            self.put_back(painting.await.ok().flatten());
        }
        if !terminal::is_foreground(stderr()) {
            self.next.anew = true;
        }
        self.read_lines();
        let (rows, columns) = output::size();
        let mut last = std::mem::take(&mut self.next);
        let rows = (!is_over).then_some(rows.saturating_sub(1).max(1));
        last.lines = self.lines(columns, rows, false);
        if let Err(error) = tokio::task::spawn_blocking(move || output::leave(last)).await {
            tracing::debug!("failed to restore the terminal after the tree: {error}");
        }
    }
}
