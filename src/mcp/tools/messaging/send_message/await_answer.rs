//! Waiting for the answer to a message that was just sent.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::WaitFor;
use crate::domain::ids::MessageId;
use crate::domain::messaging::Address;
use crate::domain::wait_times;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::tool::at_most;
use crate::mcp::tools::messaging::wait_for_message::{outcome, waiting_words};
use crate::mcp::{CallTimeout, Caller, MessageView, ToolError};

/// How a wait for an answer ended.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// The answer, if you waited and it came in time. `wait_for_message` with the `message_id` as `reply_to` waits again.
    reply: Option<MessageView>,
    /// Whether the wait timed out.
    timed_out: bool,
    /// Why it did not wait, or a further note.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Answer {
    /// Returns a note without a wait.
    pub(super) fn only_note(note: String) -> Self {
        Self { reply: None, timed_out: false, note: Some(note) }
    }
}

/// Returns how long a call may take that waits so long for an answer.
pub(super) fn patience(wait_seconds: Option<u64>) -> CallTimeout {
    let waits = |seconds: u64| {
        CallTimeout::Waits(Duration::from_secs(seconds.min(wait_times::MAX_WAIT_SECONDS)))
    };
    wait_seconds.map_or(CallTimeout::Short, waits)
}

/// Refuses to wait for a group, or for no time, before anything is sent.
pub(super) fn check(wait_seconds: Option<u64>, to: &str) -> Result<(), ToolError> {
    let Some(seconds) = wait_seconds else {
        return Ok(());
    };
    if seconds == 0 {
        let problem = "wait_seconds is 0: leave it out to return at once";
        return Err(ToolError::Arguments(problem.to_owned()));
    }
    if Address::parse(to).is_ok_and(|address| address.is_several()) {
        let problem = format!(
            "wait_seconds waits for the answer of one member, and `{}` is a group: leave it out, and \
                wait with wait_for_message, the message_id as reply_to",
            to.trim()
        );
        return Err(ToolError::Arguments(problem));
    }
    Ok(())
}

/// Returns the message of this call, if it was sent before an interruption.
pub(super) fn sent_before(caller: &Caller) -> Option<MessageId> {
    let id = caller.interruptions.done_before().sent?;
    let me = caller.membership().name();
    let is_mine = caller
        .bus()
        .look(|state| state.message(&id).is_some_and(|message| message.from.member() == Some(me)));
    is_mine.then_some(id)
}

/// Waits for the answer to a message. The message is sent, so a wait that fails is no error.
pub(super) async fn answer_to(
    caller: &mut Caller,
    leading: Option<&OrchestratorTeam>,
    (sent, seconds): (&MessageId, u64),
) -> Result<Answer, ToolError> {
    let (seconds, shortened) = at_most("wait_seconds", seconds, wait_times::MAX_WAIT_SECONDS);
    let Caller { call, progress, interruptions, .. } = caller;
    let limit = interruptions.rest_of(Duration::from_secs(seconds));
    let membership = call.membership().clone();
    let what = WaitFor { reply_to: Some(sent.clone()), ..WaitFor::default() };
    let words = || waiting_words("the answer", &membership, leading);
    let waiting = progress.during(limit, words, call.wait(what, limit));
    let waited = interruptions.during(&membership, (limit, sent.clone().into()), waiting).await?;
    let (reply, timed_out, note) = match waited {
        Ok(waited) => outcome(waited, membership.name()),
        Err(error) => (None, false, Some(format!("sent, but not waited: {error}"))),
    };
    let notes: Vec<_> = note.into_iter().chain(shortened).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Answer { reply, timed_out, note })
}
