//! One turn of an agent: its input, and its output so far.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::conversation::Conversation;
use super::joined_words::JoinedWords;
use super::outcome::Outcome;
use crate::acp::{AcpError, PromptOutcome, ToolCalls, Update};
use crate::delivery::methods::wake_idle::Tried;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::task::TaskStatus;
use crate::team::results::collect::Collected;

/// The longest output that a task's result keeps; the transcript has everything.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// The future end of a turn. It runs by itself, so that the prompt is sent as soon as git has looked, and it ends with its turn.
pub(crate) type Prompting = AbortOnDropHandle<Result<PromptOutcome, AcpError>>;

/// A running turn.
pub(crate) struct Turn {
    /// Its task; `None` for a wake.
    pub(crate) task: Option<TaskId>,
    /// The name of its transcript.
    pub(crate) transcript: TaskId,
    /// The call under which messages were delivered in its prompt.
    pub(crate) prompt_call: Option<CallId>,
    /// The messages for which a wake was begun.
    pub(crate) wake: Tried,
    pub(crate) prompting: Prompting,
    /// What the session had before, in case the prompt is never sent.
    pub(crate) before: Option<Conversation>,
    /// Holds back a prompt that has not been sent yet.
    pub(crate) recall: CancellationToken,
    /// When it was cancelled.
    pub(crate) cancelled: Option<Instant>,
    /// When it was cancelled for a message.
    pub(crate) interrupted: Option<Instant>,
    /// Whether its task has been abandoned already.
    pub(crate) abandoned: bool,
    /// When the agent last showed a sign of life, and the number of its messages by then.
    pub(crate) heard: Instant,
    pub(crate) heard_so_far: u64,
    /// When one of its calls was last seen to wait for a message, which explains its silence.
    pub(crate) waited: Option<Instant>,
    /// When a sign of life was last recorded on the bus.
    pub(crate) stirred: Instant,
    pub(crate) output: JoinedWords,
    /// Whether the output is longer than the part that is kept.
    overlong: bool,
    /// When the agent reported that it cannot continue.
    pub(crate) failing: Option<Instant>,
    /// Whether the model has shown a sign of its own.
    pub(crate) alive: bool,
    pub(crate) calls: ToolCalls,
    /// The calls of our tools that held messages when a tool call of the turn ended well.
    pub(crate) answered: BTreeSet<CallId>,
    /// The results of the turn besides its output.
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
            before: None,
            recall: CancellationToken::new(),
            cancelled: None,
            interrupted: None,
            abandoned: false,
            heard: Instant::now(),
            heard_so_far: 0,
            waited: None,
            stirred: Instant::now(),
            output: JoinedWords::default(),
            overlong: false,
            failing: None,
            alive: false,
            calls: ToolCalls::default(),
            answered: BTreeSet::new(),
            collected: Collected::default(),
        }
    }

    /// Returns whether a turn with this outcome was interrupted for a message, so that its task continues.
    pub(crate) fn was_interrupted(&self, outcome: &Outcome) -> bool {
        self.interrupted.is_some()
            && self.cancelled.is_none()
            && !self.abandoned
            && outcome.status == TaskStatus::Cancelled
    }

    /// Returns whether the agent can have received the answer of a call of our tools: it came before a tool call ended well. If an
    /// agent does not report its calls, or not how they end, nothing speaks against it.
    pub(crate) fn can_have_had(&self, call: CallId) -> bool {
        let reports_calls = !self.calls.all().is_empty() && self.calls.running().next().is_none();
        self.answered.contains(&call) || !reports_calls
    }

    /// Takes over the output of the previous turn, whose task this one continues.
    pub(crate) fn continue_from(&mut self, earlier: Turn) {
        self.output = earlier.output;
        self.output.pause();
        self.overlong = earlier.overlong;
        self.collected = earlier.collected;
        self.calls = earlier.calls;
    }

    /// Notes that the agent has asked for permission, which some do without announcing a call: what it says next is a paragraph of its own.
    pub(crate) fn part_words(&mut self) {
        self.output.pause();
        self.collected.last_words_follow(self.output.text.len());
    }

    /// Handles an update.
    pub(crate) fn hear(&mut self, update: &Update) {
        self.collected.hear(update, self.output.text.len());
        match update {
            Update::MessageText(text) => {
                self.alive = true;
                let added = self.output.gap_before(text).len() + text.len();
                if self.output.text.len() + added <= MAX_OUTPUT_BYTES {
                    self.output.add(text);
                } else if !self.overlong {
                    self.overlong = true;
                    self.output.text.push_str("\n[longer than 8 MiB: the transcript has the rest]");
                }
            }
            Update::ToolCall(call) => {
                self.alive = true;
                if call.begins {
                    self.output.pause();
                }
                self.calls.see((**call).clone());
            }
            Update::ThoughtText(_) | Update::Plan(_) | Update::Tokens(_) => self.alive = true,
            Update::Failing(failing) => self.failing = failing.then(Instant::now),
            _ => {}
        }
    }
}
