//! One turn of an agent: what it was given, what it has said so far, and what its end means.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::acp::{AcpError, PromptOutcome, StopReason, TokenUsage, ToolCalls, Update};
use crate::delivery::methods::wake_idle::Tried;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::task::{TaskError, TaskStatus, error_class};
use crate::domain::text::redact::Secrets;
use crate::team::results::collect::Gathered;
use crate::team::results::error_advice::Advice;

/// The longest output that is kept for a task's result; the transcript has everything.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// How much of an agent's words goes into an error: enough for a reason; the output has all of it.
const SHOWN_REASON_CHARS: usize = 1000;

/// The end of a turn, when it comes. It runs by itself, so that the prompt is on its way as soon as git has looked, and ends with its
/// turn.
pub(crate) type Prompting = AbortOnDropHandle<Result<PromptOutcome, AcpError>>;

/// A running turn.
pub(crate) struct Turn {
    /// The task that it plays; none for a wake.
    pub(crate) task: Option<TaskId>,
    /// The name of its transcript.
    pub(crate) transcript: TaskId,
    /// The call under which messages went into its prompt.
    pub(crate) injected: Option<CallId>,
    /// What it tries as a wake.
    pub(crate) tries: Tried,
    /// The end, when it comes.
    pub(crate) prompting: Prompting,
    /// Keeps a prompt back that has not been sent yet.
    pub(crate) recall: CancellationToken,
    /// When it was cancelled.
    pub(crate) cancelled: Option<Instant>,
    /// When it was cancelled for a message.
    pub(crate) interrupted: Option<Instant>,
    /// Whether its task has been given up already.
    pub(crate) given_up: bool,
    /// When the agent last showed a sign of life, and how many lines and bytes of stderr there were then.
    pub(crate) heard: Instant,
    pub(crate) heard_so_far: (u64, u64),
    /// When that was last written on the bus.
    pub(crate) stirred: Instant,
    /// What the agent has said.
    pub(crate) output: String,
    /// Whether the output is longer than what is kept.
    overlong: bool,
    /// Since when the agent cannot go on, as it has told.
    pub(crate) failing: Option<Instant>,
    /// Whether the model has shown a sign of its own.
    pub(crate) alive: bool,
    /// The tool calls of the turn.
    pub(crate) calls: ToolCalls,
    /// The calls of our tools that held messages when a tool call of the turn ended well.
    pub(crate) answered: BTreeSet<CallId>,
    /// What comes of it besides its words.
    pub(crate) gathered: Gathered,
}

/// What the end of a turn means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: TaskStatus,
    pub(crate) stop_reason: Option<String>,
    pub(crate) error: Option<TaskError>,
    /// The tokens that the turn used.
    pub(crate) usage: Option<TokenUsage>,
    /// Whether the agent's connection is over.
    pub(crate) gone: bool,
}

impl Turn {
    pub(crate) fn new(task: Option<TaskId>, transcript: TaskId, prompting: Prompting) -> Self {
        Self {
            task,
            transcript,
            injected: None,
            tries: Tried::default(),
            prompting,
            recall: CancellationToken::new(),
            cancelled: None,
            interrupted: None,
            given_up: false,
            heard: Instant::now(),
            heard_so_far: (0, 0),
            stirred: Instant::now(),
            output: String::new(),
            overlong: false,
            failing: None,
            alive: false,
            calls: ToolCalls::default(),
            answered: BTreeSet::new(),
            gathered: Gathered::default(),
        }
    }

    /// Says whether a turn that has ended so was ended for a message, so that what it was about goes on.
    pub(crate) fn is_cut(&self, outcome: &Outcome) -> bool {
        self.interrupted.is_some()
            && self.cancelled.is_none()
            && !self.given_up
            && outcome.status == TaskStatus::Cancelled
    }

    /// Says whether the agent can have had the answer of a call of our tools: it came before a tool call ended well. Where an agent
    /// does not tell of its calls, or not how they end, nothing speaks against it.
    pub(crate) fn can_have_had(&self, call: CallId) -> bool {
        let tells_of_calls = !self.calls.all().is_empty() && self.calls.running().next().is_none();
        self.answered.contains(&call) || !tells_of_calls
    }

    /// Takes over what was said in the turn before, whose task this one goes on with.
    pub(crate) fn goes_on_from(&mut self, earlier: Turn) {
        self.output = earlier.output;
        self.overlong = earlier.overlong;
        self.gathered = earlier.gathered;
        self.calls = earlier.calls;
    }

    /// Takes in what the agent says.
    pub(crate) fn hear(&mut self, update: &Update) {
        self.gathered.hear(update, self.output.len());
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

impl Outcome {
    /// Says what the end of a prompt means. `asked` tells whether somebody asked for the end.
    pub(crate) fn of(
        ended: &Result<PromptOutcome, AcpError>,
        asked: bool,
        advice: Advice<'_>,
    ) -> Self {
        match ended {
            Ok(outcome) => Self { usage: outcome.usage, ..Self::of_stop(&outcome.stop_reason) },
            Err(AcpError::Closed { .. }) => Self {
                gone: true,
                ..Self::error(
                    TaskStatus::Interrupted,
                    "crashed",
                    "the agent exited during its \
                    turn",
                )
            },
            // Some agents answer a cancelled prompt with an error.
            Err(_) if asked => Self::plain(TaskStatus::Cancelled),
            Err(error) => Self::failed(advice.on(error)),
        }
    }

    /// Says what the end means of a turn in which the agent told that it could not go on: it ends well, and its words are
    /// the reason.
    pub(crate) fn of_failing(self, output: &str, advice: Advice<'_>, secrets: &Secrets) -> Self {
        if self.status != TaskStatus::Done {
            return self;
        }
        let words = secrets.hidden(output.trim());
        let (reason, _) = words.head(SHOWN_REASON_CHARS);
        let message = format!("the agent could not continue: {reason}");
        Self {
            stop_reason: self.stop_reason,
            usage: self.usage,
            ..Self::failed(advice.on_words(reason, message))
        }
    }

    /// Says what the end means of a turn that the agent ended itself, as cancelled, after a no: these are the titles of what was
    /// not allowed in it.
    pub(crate) fn of_refused(self, titles: &[&str]) -> Self {
        let (TaskStatus::Cancelled, Some(last)) = (self.status, titles.last()) else {
            return self;
        };
        let message = format!("the agent ended its turn when this was rejected: {last:?}");
        Self {
            stop_reason: self.stop_reason,
            usage: self.usage,
            ..Self::error(TaskStatus::Failed, error_class::REFUSED, &message)
        }
    }

    /// An end about which there is nothing to say.
    pub(crate) fn plain(status: TaskStatus) -> Self {
        Self { status, stop_reason: None, error: None, usage: None, gone: false }
    }

    fn of_stop(reason: &StopReason) -> Self {
        let mut outcome = match reason {
            StopReason::EndTurn | StopReason::Other(_) => Self::plain(TaskStatus::Done),
            StopReason::Cancelled => Self::plain(TaskStatus::Cancelled),
            StopReason::Refusal => Self::error(
                TaskStatus::Failed,
                error_class::REFUSED,
                "the agent refused to \
                    continue",
            ),
            StopReason::MaxTokens => {
                Self::error(TaskStatus::Failed, error_class::LIMIT, "the token limit was reached")
            }
            StopReason::MaxTurnRequests => Self::error(
                TaskStatus::Failed,
                error_class::LIMIT,
                "the limit of model requests per turn was reached",
            ),
        };
        outcome.stop_reason = Some(reason.as_str().to_owned());
        outcome
    }

    pub(crate) fn error(status: TaskStatus, class: &str, message: &str) -> Self {
        Self { error: Some(TaskError::new(class, message)), ..Self::plain(status) }
    }

    pub(crate) fn failed(error: TaskError) -> Self {
        Self { error: Some(error), ..Self::plain(TaskStatus::Failed) }
    }

    /// Says whether the model has taken what its prompt carried, given that it showed a sign of its own.
    pub(crate) fn proves_taking(&self) -> bool {
        // A prompt that is too long is refused with an error, and then there is no reason of a turn.
        let by_limit =
            |error: &TaskError| error.class == error_class::LIMIT && self.stop_reason.is_some();
        // What was not allowed the model had wanted to do.
        let by_refused = |error: &TaskError| {
            error.class == error_class::REFUSED && self.stop_reason.as_deref() == Some("cancelled")
        };
        self.error.as_ref().is_none_or(|error| by_limit(error) || by_refused(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(reason: StopReason) -> Outcome {
        Outcome::of(
            &Ok(PromptOutcome { stop_reason: reason, usage: None, meta: None }),
            false,
            Advice::default(),
        )
    }

    #[test]
    fn every_stop_reason_has_its_meaning() {
        assert_eq!(stop(StopReason::EndTurn).status, TaskStatus::Done);
        assert_eq!(stop(StopReason::Cancelled).status, TaskStatus::Cancelled);
        assert_eq!(stop(StopReason::Refusal).error.unwrap().class, "refused");
        assert_eq!(stop(StopReason::MaxTokens).error.unwrap().class, "limit");
        assert_eq!(stop(StopReason::Refusal).stop_reason.as_deref(), Some("refusal"));
    }

    #[test]
    fn a_good_end_of_a_turn_that_could_not_go_on_is_a_failure() {
        let failed = stop(StopReason::EndTurn).of_failing(
            "no model\n",
            Advice::default(),
            &Secrets::default(),
        );
        assert_eq!(failed.status, TaskStatus::Failed);
        assert!(!failed.proves_taking());
        assert_eq!(failed.error.unwrap().message, "the agent could not continue: no model");
        let cancelled = stop(StopReason::Cancelled).of_failing(
            "no model",
            Advice::default(),
            &Secrets::default(),
        );
        assert_eq!(cancelled.status, TaskStatus::Cancelled);
    }

    #[test]
    fn the_words_of_a_turn_that_could_not_go_on_tell_the_class() {
        let words = "exceeded retry limit, last status: 429 Too Many Requests";
        let failed =
            stop(StopReason::EndTurn).of_failing(words, Advice::default(), &Secrets::default());
        assert_eq!(failed.error.unwrap().class, error_class::QUOTA);
    }

    #[test]
    fn a_turn_that_an_agent_ends_after_a_no_is_refused_and_not_cancelled() {
        let refused = stop(StopReason::Cancelled).of_refused(&["read x", "run \"y\""]);
        assert_eq!(refused.status, TaskStatus::Failed);
        assert!(refused.proves_taking());
        let error = refused.error.unwrap();
        assert_eq!(error.class, error_class::REFUSED);
        assert_eq!(
            error.message,
            "the agent ended its turn when this was rejected: \"run \\\"y\\\"\""
        );
        let cancelled = stop(StopReason::Cancelled).of_refused(&[]);
        assert_eq!(cancelled, stop(StopReason::Cancelled));
        let done = stop(StopReason::EndTurn).of_refused(&["read x"]);
        assert_eq!(done, stop(StopReason::EndTurn));
        assert!(!stop(StopReason::Refusal).proves_taking());
    }

    #[test]
    fn only_a_limit_that_ended_a_turn_proves_that_its_prompt_was_taken() {
        assert!(stop(StopReason::MaxTokens).proves_taking());
        let too_long = TaskError::new(error_class::LIMIT, "the prompt is too long");
        assert!(!Outcome::failed(too_long).proves_taking());
    }

    #[test]
    fn an_error_after_a_cancel_is_a_cancel() {
        let refused = || {
            Err(AcpError::Refused {
                method: "session/prompt".into(),
                code: -32603,
                message: "x".into(),
                data: None,
            })
        };
        let of = |asked| Outcome::of(&refused(), asked, Advice::default());
        assert_eq!(of(true).status, TaskStatus::Cancelled);
        assert_eq!(of(false).error.unwrap().class, "agent");
    }
}
