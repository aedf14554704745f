//! One turn of an agent: what it was given, and what it has said so far.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::outcome::Outcome;
use crate::acp::{AcpError, PromptOutcome, ToolCalls, Update};
use crate::delivery::methods::wake_idle::Tried;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::task::TaskStatus;
use crate::team::results::collect::Collected;

/// The longest output that is kept for a task's result; the transcript has everything.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// The end of a turn, when it comes. It runs by itself, so that the prompt is on its way as soon as git has looked, and ends with its
/// turn.
pub(crate) type Prompting = AbortOnDropHandle<Result<PromptOutcome, AcpError>>;

/// A running turn.
pub(crate) struct Turn {
    /// Its task; none for a wake.
    pub(crate) task: Option<TaskId>,
    /// The name of its transcript.
    pub(crate) transcript: TaskId,
    /// The call under which messages were delivered in its prompt.
    pub(crate) prompt_call: Option<CallId>,
    /// What a wake was begun for.
    pub(crate) wake: Tried,
    pub(crate) prompting: Prompting,
    /// Keeps a prompt back that has not been sent yet.
    pub(crate) recall: CancellationToken,
    /// When it was cancelled.
    pub(crate) cancelled: Option<Instant>,
    /// When it was cancelled for a message.
    pub(crate) interrupted: Option<Instant>,
    /// Whether its task has been abandoned already.
    pub(crate) abandoned: bool,
    /// When the agent last showed a sign of life, and how many lines and bytes of stderr there were then.
    pub(crate) heard: Instant,
    pub(crate) heard_so_far: (u64, u64),
    /// When that was last written on the bus.
    pub(crate) stirred: Instant,
    /// What the agent has said.
    pub(crate) output: String,
    /// Whether the output is longer than what is kept.
    overlong: bool,
    /// Since when the agent cannot continue, as it has reported.
    pub(crate) failing: Option<Instant>,
    /// Whether the model has shown a sign of its own.
    pub(crate) alive: bool,
    /// The tool calls of the turn.
    pub(crate) calls: ToolCalls,
    /// The calls of our tools that held messages when a tool call of the turn ended well.
    pub(crate) answered: BTreeSet<CallId>,
    /// What it brings besides its words.
    pub(crate) collected: Collected,
}

impl Turn {
    pub(crate) fn new(task: Option<TaskId>, transcript: TaskId, prompting: Prompting) -> Self {
        Self {
            task,
            transcript,
            prompt_call: None,
            wake: Tried::default(),
            prompting,
            recall: CancellationToken::new(),
            cancelled: None,
            interrupted: None,
            abandoned: false,
            heard: Instant::now(),
            heard_so_far: (0, 0),
            stirred: Instant::now(),
            output: String::new(),
            overlong: false,
            failing: None,
            alive: false,
            calls: ToolCalls::default(),
            answered: BTreeSet::new(),
            collected: Collected::default(),
        }
    }

    /// Says whether a turn that has ended so was ended for a message, so that its task continues.
    pub(crate) fn was_interrupted(&self, outcome: &Outcome) -> bool {
        self.interrupted.is_some()
            && self.cancelled.is_none()
            && !self.abandoned
            && outcome.status == TaskStatus::Cancelled
    }

    /// Says whether the agent can have had the answer of a call of our tools: it came before a tool call ended well. Where an agent
    /// does not tell of its calls, or not how they end, nothing speaks against it.
    pub(crate) fn can_have_had(&self, call: CallId) -> bool {
        let tells_of_calls = !self.calls.all().is_empty() && self.calls.running().next().is_none();
        self.answered.contains(&call) || !tells_of_calls
    }

    /// Takes over what was said in the turn before, whose task this one continues.
    pub(crate) fn continue_from(&mut self, earlier: Turn) {
        self.output = earlier.output;
        self.overlong = earlier.overlong;
        self.collected = earlier.collected;
        self.calls = earlier.calls;
    }

    /// Takes in what the agent says.
    pub(crate) fn hear(&mut self, update: &Update) {
        self.collected.hear(update, self.output.len());
        match update {
            Update::MessageText(text) => {
                self.alive = true;
                if self.output.len() + text.len() <= MAX_OUTPUT_BYTES {
                    self.output.push_str(text);
                } else if !self.overlong {
                    self.overlong = true;
                    self.output.push_str("\n[longer than 8 MiB: the transcript has the rest]");
                }
            }
            Update::ToolCall(call) => {
                self.alive = true;
                self.calls.see((**call).clone());
            }
            Update::ThoughtText(_) | Update::Plan(_) | Update::Tokens(_) => self.alive = true,
            Update::Failing(failing) => self.failing = failing.then(Instant::now),
            _ => {}
        }
    }
}
