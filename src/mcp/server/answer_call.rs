//! One call of a tool, from its membership to its answer, guarded against panics, endless waits and cancellation by the client.
//!
//! However a call ends, the messages that it received are accounted for: they are answered, or requeued. An answer that is being sent
//! when the client cancels the call counts as never given.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use rmcp::model::JsonObject;
use rmcp::service::{RequestContext, RoleServer};

use super::client_pipes::Arrival;
use super::server_handle::{Offered, Server};
use crate::bus::rules::Pick;
use crate::bus::{Answer, Membership};
use crate::domain::ids::CallId;
use crate::domain::limits;
use crate::domain::messaging::DeliveryMethod;
use crate::domain::wait_times;
use crate::mcp::caller::{Caller, Interruptions, Progress};
use crate::mcp::error::ToolError;
use crate::mcp::shapes::message_shape::views;
use crate::mcp::tool::json_schema::{INBOX, UNREAD};
use crate::mcp::tool::{AnyTool, CallTimeout, InboxMode, Prepared};

/// The least room of an answer for messages to ride along on it: enough for one of a sentence.
const LEAST_ROOM: usize = 2 * limits::HEADER_BYTES;

impl Server {
    /// Answers a call, whose wait may be interrupted.
    pub(super) async fn answer(
        &self,
        offered: &Offered,
        (arguments, interruptions): (JsonObject, Interruptions),
        context: &RequestContext<RoleServer>,
    ) -> Result<JsonObject, ToolError> {
        let name = offered.tool.name();
        let too_slow = ToolError::TooSlow { tool: name, seconds: wait_times::JOIN.as_secs() };
        let membership = tokio::select! {
            membership = tokio::time::timeout(wait_times::JOIN, self.shared.membership.membership()) => {
                membership.map_err(|_| too_slow)??
            }
            () = context.ct.cancelled() => return Err(ToolError::Cancelled { tool: name }),
        };
        if let Err(error) = membership.check_live().map_err(ToolError::from) {
            self.shared.membership.call_failed(&error);
            self.shared.membership.tell_if_found_dead()?;
            return Err(error);
        }
        self.shared.membership.tell_if_found_dead()?;
        self.prove_tools(&membership);
        // This call proves that the client received the answers before it, whatever becomes of this one.
        let arrival = context.extensions.get::<Arrival>();
        let mut caller = Caller {
            call: membership.call_at(arrival.map_or(0, |arrival| arrival.at)),
            files: self.shared.about.files.clone(),
            progress: Progress::of(context),
            interruptions,
        };
        let prepared = offered.tool.prepare(&offered.definition.input_schema, arguments);
        let (answer, was_read) = match prepared {
            // It has received no messages.
            Err(error) => (Err(error), true),
            Ok(prepared) => {
                let tool = offered.tool.as_ref();
                let answer = self.perform(tool, prepared, &mut caller, context).await;
                let was_read = answer.is_ok();
                (answer, was_read)
            }
        };
        self.settle(caller, &membership, was_read, context).await;
        if let Err(error) = &answer {
            self.shared.membership.call_failed(error);
        }
        answer
    }

    /// Runs a call's work, guarded against panics, endless waits, and a client that has cancelled it.
    async fn perform(
        &self,
        tool: &dyn AnyTool,
        prepared: Box<dyn Prepared + '_>,
        caller: &mut Caller,
        context: &RequestContext<RoleServer>,
    ) -> Result<JsonObject, ToolError> {
        let name = tool.name();
        let patience = prepared.patience();
        let limit = match patience {
            CallTimeout::Short => Duration::ZERO,
            CallTimeout::Waits(long) => long,
        };
        // Two acts of a call may each wait for a server, and the error that names it says more than this one.
        let is_shared = caller.call.membership().bus().host().is_some();
        let limit = limit + if is_shared { 3 * self.shared.limit } else { self.shared.limit };
        let work = AssertUnwindSafe(with_mail(tool.mail(), prepared, caller)).catch_unwind();
        let waits = matches!(patience, CallTimeout::Waits(_));
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ToolError::Cancelled { tool: name }),
            () = self.shared.ending.cancelled(), if waits => {
                Err(ToolError::Cancelled { tool: name })
            }
            done = tokio::time::timeout(limit, work) => match done {
                Ok(Ok(done)) => done,
                Ok(Err(panic)) => {
                    tracing::error!("`{name}` panicked: {}", panic_message(panic.as_ref()));
                    Err(ToolError::Panicked { tool: name })
                }
                Err(_) => Err(ToolError::TooSlow { tool: name, seconds: limit.as_secs() }),
            },
        }
    }

    /// Accounts for the messages that a call has received.
    async fn settle(
        &self,
        caller: Caller,
        membership: &Membership,
        was_read: bool,
        context: &RequestContext<RoleServer>,
    ) {
        let id = caller.call.id();
        let settling = async {
            if !was_read {
                return caller.call.requeue().await;
            }
            let arrival = context.extensions.get::<Arrival>();
            let answer = arrival.map(|arrival| arrival.answer.clone());
            let answer = answer.unwrap_or_default();
            if caller.call.answered_by(answer.clone()).await {
                self.follow(membership.clone(), id, answer);
            }
            self.remember(context.id.clone(), id);
            // Cancelled just now: the answer will not be sent.
            if context.ct.is_cancelled() {
                membership.unanswered(id).await?;
            }
            Ok(())
        };
        match tokio::time::timeout(wait_times::TOOL, settling).await {
            Ok(Ok(())) => {}
            // The deadline of the delivery requeues them in the end.
            Ok(Err(error)) => tracing::debug!(
                "failed to record whether a call was answered: \
                {error}"
            ),
            Err(_) => tracing::warn!("timed out while recording whether a call was answered"),
        }
    }

    /// Reports to the bus what becomes of an answer on which messages depend.
    fn follow(&self, membership: Membership, call: CallId, answer: Answer) {
        let ending = self.ending().clone();
        self.tasks().spawn(async move {
            let was_given = tokio::select! {
                biased;
                was_given = answer.was_given() => was_given,
                // The end of the session requeues the remaining messages.
                () = ending.cancelled() => return,
            };
            let noted = if was_given {
                membership.written(call).await
            } else {
                membership.unanswered(call).await
            };
            if let Err(error) = noted {
                // The end of the turn requeues messages whose answer is not recorded as written.
                tracing::debug!("failed to record whether an answer was written: {error}");
            }
        });
    }
}

/// Runs a call and lets unread messages ride along on its result.
async fn with_mail(
    mail: InboxMode,
    prepared: Box<dyn Prepared + '_>,
    caller: &mut Caller,
) -> Result<JsonObject, ToolError> {
    let mut object = prepared.run(caller).await?;
    if mail == InboxMode::RidesAlong {
        let pick =
            Pick::any(limits::PIGGYBACK_MESSAGES, limits::PIGGYBACK_BYTES, limits::PIGGYBACK_BYTES);
        // The result itself comes first; messages that do not fit come with the next call.
        let answer = serde_json::to_string_pretty(&object).map_or(usize::MAX, |text| text.len());
        let room = caller.membership().answer_room().saturating_sub(answer);
        if room < LEAST_ROOM {
            return Ok(object);
        }
        let most = limits::PIGGYBACK_BYTES + limits::PIGGYBACK_MESSAGES * limits::HEADER_BYTES;
        match caller.call.receive_into(room.min(most), DeliveryMethod::Piggyback, pick).await {
            Ok(messages) if messages.is_empty() => {}
            Ok(messages) => {
                let name = caller.membership().name();
                let inbox = serde_json::to_value(views(messages, name));
                object.insert(INBOX.to_owned(), inbox.expect("messages are plain data"));
                let left = caller.bus().look(|state| state.unread(name).count());
                if left > 0 {
                    object.insert(UNREAD.to_owned(), left.into());
                }
            }
            // The call has done its work; the messages stay in the inbox.
            Err(error) => tracing::warn!("failed to attach unread messages to a result: {error}"),
        }
    }
    Ok(object)
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}
