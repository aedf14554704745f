//! Sends the prompt of a turn, unless it is recalled first.
//!
//! A `session/cancel` ends only a turn that the agent knows. A prompt that is sent after it starts a turn that nothing cancels.

use tokio_util::sync::CancellationToken;

use crate::acp::{AcpError, PromptOutcome};

/// Waits until the prompt is no longer held back, then sends it. A recall before it is sent counts, also in the same moment.
///
/// The first poll of `prompt` puts it into the connection's queue. No cancel comes between that and the last look at the recall,
/// because the actor, which cancels, runs on the same thread.
pub(super) async fn send_unless_recalled(
    held: impl Future<Output = ()>,
    recall: &CancellationToken,
    prompt: impl Future<Output = Result<PromptOutcome, AcpError>>,
) -> Result<PromptOutcome, AcpError> {
    // If both come at once, the hold's end counts there.
    if recall.run_until_cancelled(held).await.is_none() || recall.is_cancelled() {
        return Ok(PromptOutcome::unsent());
    }
    prompt.await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;

    use super::*;
    use crate::acp::StopReason;

    /// Returns the end of a prompt whose agent would answer at once, with a refusal.
    fn sent(held: impl Future<Output = ()>, recall: &CancellationToken) -> Option<StopReason> {
        let answer = PromptOutcome {
            stop_reason: StopReason::Refusal,
            usage: None,
            meta: None,
            was_sent: true,
        };
        let prompt = async { Ok(answer) };
        let ended = send_unless_recalled(held, recall, prompt).now_or_never()?;
        Some(ended.unwrap().stop_reason)
    }

    #[test]
    fn a_prompt_is_sent_when_nothing_holds_it_back() {
        let recall = CancellationToken::new();
        assert_eq!(sent(ready(()), &recall), Some(StopReason::Refusal));
        assert_eq!(sent(pending(), &recall), None);
    }

    #[test]
    fn a_prompt_that_was_recalled_before_its_first_step_is_not_sent() {
        let recall = CancellationToken::new();
        recall.cancel();
        assert_eq!(sent(ready(()), &recall), Some(StopReason::Cancelled));
        assert_eq!(sent(pending(), &recall), Some(StopReason::Cancelled));
    }

    #[test]
    fn a_prompt_that_is_recalled_when_its_hold_ends_is_not_sent() {
        let recall = CancellationToken::new();
        let held = async { recall.cancel() };
        assert_eq!(sent(held, &recall), Some(StopReason::Cancelled));
    }
}
