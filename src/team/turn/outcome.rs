//! The meaning of a turn's end for its task: done, cancelled, failed, and why.

use crate::acp::{AcpError, PromptOutcome, StopReason, TokenUsage};
use crate::domain::task::error_class;
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::text::redact::Secrets;
use crate::team::results::error_advice::Advice;

/// How much of an agent's output goes into an error: enough for a reason. The output has all of it.
const SHOWN_REASON_CHARS: usize = 1000;

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

impl Outcome {
    /// Returns the outcome of a prompt. `asked` says whether the bridge asked for its end.
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

    /// Returns the outcome of a turn in which the agent reported that it could not continue. Such a turn ends well, and its output
    /// is the reason.
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

    /// Returns the outcome of a turn that the agent itself ended as cancelled after a rejection. `titles` name the rejected calls.
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

    /// Returns an outcome without details.
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

    /// Returns whether the model has read its prompt, given that it showed a sign of its own.
    pub(crate) fn proves_taking(&self) -> bool {
        // A prompt that is too long is refused with an error, and then the turn has no stop reason.
        let by_limit =
            |error: &TaskError| error.class == error_class::LIMIT && self.stop_reason.is_some();
        // The model itself asked for the rejected call.
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
            &Ok(PromptOutcome { stop_reason: reason, usage: None, meta: None, was_sent: true }),
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
    fn a_turn_that_could_not_continue_is_a_failure_even_if_it_ends_well() {
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
    fn the_output_of_a_turn_that_could_not_continue_determines_the_class() {
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
