//! The terminal of a person who watches a run: the tree, repainted as it changes, and the open question.
//!
//! Nothing here waits for the terminal on the thread that runs the workflow: its user may have paused it with a key.

use std::io::{IsTerminal as _, Read as _, stderr, stdin};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

use super::terminal_question::{self, TerminalQuestion};
use super::tree::{self, Times, TreeStyle};
use crate::bus::state::{State, Workflow};
use crate::cli::{Failure, output};
use crate::sys::signal_streams::Continuations;
use crate::sys::{clock, terminal};
use crate::view::{Moment, WorkflowTree};

/// The shortest pause between two repaints: fast enough to look alive.
const BEAT: Duration = Duration::from_millis(100);

/// The longest line of terminal input in bytes, as the system limits it.
const LONGEST_LINE: usize = 8192;

/// The display, and the input that a person types.
pub(crate) struct Screen {
    tree: WorkflowTree,
    began: Instant,
    beats: Interval,
    /// How many times the tree was repainted.
    beat: usize,
    continued: Continuations,
    /// Whether a person can type.
    has_keys: bool,
    asking: Option<ShownQuestion>,
    /// What to paint next besides the tree.
    next: output::Painting,
    /// The last painting.
    last: (Vec<String>, Option<String>),
    /// Returns what could not be painted.
    painting: Option<JoinHandle<Option<output::Painting>>>,
}

/// A question that is on the screen.
struct ShownQuestion {
    question: TerminalQuestion,
    /// Receives the typed answer.
    answer: oneshot::Sender<String>,
}

impl Screen {
    /// Starts listening, and paints nothing yet. Needs a tokio runtime.
    pub(crate) fn of(tree: WorkflowTree, began: Instant) -> Result<Self, Failure> {
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            tree,
            began,
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

    /// Updates the display to the state of the workflow.
    pub(crate) fn update(&mut self, workflow: &Workflow, state: &State) {
        self.tree = WorkflowTree::of(workflow, state);
        let is_open = |asking: &ShownQuestion| {
            terminal_question::is_open(&asking.question.subject, workflow, state)
        };
        // The question was answered elsewhere, or needs no answer any more.
        self.asking = self.asking.take().filter(is_open);
    }

    /// Asks the person. If the question is answered elsewhere, the receiver gets no answer.
    pub(crate) fn ask(&mut self, question: &TerminalQuestion) -> oneshot::Receiver<String> {
        let (answer, answered) = oneshot::channel();
        if terminal::is_foreground(stdin()) {
            // Input typed before the question does not answer it.
            terminal::drop_typed(stdin());
        }
        self.next.above.extend(question.about.clone());
        self.asking = Some(ShownQuestion { question: question.clone(), answer });
        answered
    }

    /// Waits for the next beat, then reads input and repaints. Cancel safe.
    pub(crate) async fn beat(&mut self) {
        tokio::select! {
            biased;
            () = self.continued.recv() => self.next.anew = true,
            _ = self.beats.tick() => {}
        }
        if !terminal::is_foreground(stderr()) {
            // The shell has the terminal now and may have painted on it.
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
                // The workflow may just have ended.
                let _ = asking.answer.send(line.clone());
            }
            if line.ends_with('\n') {
                self.next.typed.push(line);
            } else {
                // The end of the input, which leaves the cursor in place, and there is no more to read now.
                return;
            }
        }
    }

    fn has_line(&self) -> bool {
        self.has_keys && terminal::is_foreground(stdin()) && terminal::has_line(stdin())
    }

    /// Paints the changes, on a thread of its own.
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
            // A line typed at this moment has moved the cursor: it must be read first.
            if has_keys && terminal::has_line(stdin()) {
                return Some(painting);
            }
            output::paint(painting);
            None
        }));
    }

    /// Restores what was not painted.
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

    fn lines(&self, columns: usize, rows: Option<usize>, is_running: bool) -> Vec<String> {
        let times = Times { elapsed: self.began.elapsed(), now: Moment(clock::now().wall_ms) };
        let look = TreeStyle {
            // Text in the last column moves some terminals to the next row.
            width: columns.saturating_sub(1).max(1),
            rows,
            colours: output::wants_colours(),
            beat: is_running.then_some(self.beat),
        };
        tree::draw(&self.tree, times, &look)
    }

    /// Leaves the tree in its current state: whole if the workflow is over. It waits for a paused terminal.
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
