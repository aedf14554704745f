//! The events of an agent, and the queue in which they wait for the connection's owner.
//!
//! The protocol's dispatch is serial: a handler that waits blocks every later message, answers included. So the queue accepts every event
//! at once, and is bounded from the other side: it tracks its weight, and the reader of the agent's stdout stops while that is over the
//! limit. Then the pipe fills and the agent itself has to wait. Answers behind the unread lines wait too, each until its deadline: so a
//! caller that awaits a request has to keep receiving events.

use super::drain_request::DrainQuestion;
use super::file_request::FileQuestion;
use super::permission_request::PermissionQuestion;
use crate::acp::data::session_settings::AcpSessionId;
use crate::acp::data::session_update::Update;
use crate::domain::time::Tick;
use crate::sys::mutex::lock;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Notify;

/// A message that the agent sent by itself.
#[derive(Debug)]
pub enum AgentEvent {
    /// A `session/update`. Chunks of text that follow each other directly may arrive as one.
    Update {
        session: AcpSessionId,
        update: Update,
        /// When it was read: the agent had sent it by then, and an end that it reports had happened.
        read: Tick,
    },
    /// The agent asks for permission, and waits for the answer.
    PermissionAsked(PermissionQuestion),
    /// The agent asks to read or write a file through us, and waits for the answer.
    FileAsked(FileQuestion),
    /// The agent asks for new messages during its turn, and waits briefly for the answer.
    DrainAsked(DrainQuestion),
    /// A notification outside the protocol, which had no effect.
    UnknownNotification {
        /// The method of the message.
        method: String,
    },
    /// A request outside the protocol, already answered "method not found".
    UnknownRequest {
        /// The method of the message.
        method: String,
    },
}

/// The receiving end of an agent's events. Dropping it discards waiting and later events, and answers questions with `cancelled`; the
/// connection continues.
#[derive(Debug)]
pub struct AgentEvents {
    queue: Arc<Queue>,
}

impl AgentEvents {
    /// Returns the next event, or `None` when the connection has ended and all events were received. Cancel-safe.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        loop {
            let arrived = self.queue.arrived.notified();
            {
                let mut waiting = self.queue.waiting();
                if let Some(event) = self.queue.take(&mut waiting) {
                    return Some(event);
                }
                if waiting.ended {
                    return None;
                }
            }
            arrived.await;
        }
    }

    /// Returns the next event if one waits.
    pub fn try_recv(&mut self) -> Option<AgentEvent> {
        let mut waiting = self.queue.waiting();
        self.queue.take(&mut waiting)
    }
}

impl Drop for AgentEvents {
    fn drop(&mut self) {
        let discarded = {
            let mut waiting = self.queue.waiting();
            waiting.receiver_gone = true;
            waiting.weight = 0;
            std::mem::take(&mut waiting.events)
        };
        self.queue.room.notify_one();
        drop(discarded);
    }
}

/// The queue between the protocol's dispatch and [`AgentEvents`].
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    limit: usize,
    arrived: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<(AgentEvent, usize)>,
    weight: usize,
    /// No further event will come.
    ended: bool,
    /// The receiver was dropped.
    receiver_gone: bool,
}

/// Makes a queue whose weight, in bytes, should stay near a limit.
pub(crate) fn queue(limit: usize) -> (Arc<Queue>, AgentEvents) {
    let queue = Arc::new(Queue {
        waiting: Mutex::default(),
        limit: limit.max(1),
        arrived: Notify::new(),
        room: Notify::new(),
    });
    (Arc::clone(&queue), AgentEvents { queue })
}

impl Queue {
    /// The weight of an event besides its texts: the size of the enum and its place in the queue, rounded up.
    const EVENT: usize = 256;

    /// Takes an event at once. Its weight is that of its JSON.
    pub(crate) fn push(&self, event: AgentEvent, weight: usize) {
        let mut waiting = self.waiting();
        if waiting.receiver_gone || waiting.ended {
            // Dropped after the lock: a question answers itself when it is dropped.
            drop(waiting);
            drop(event);
            return;
        }
        let (event, weight) = match waiting.events.back_mut() {
            Some((last, last_weight)) => {
                let left = coalesce(last, event);
                if left.is_none() {
                    *last_weight += weight;
                }
                (left, weight)
            }
            None => (Some(event), weight),
        };
        let weight = match event {
            None => weight,
            Some(event) => {
                let weight = weight + Self::EVENT;
                waiting.events.push_back((event, weight));
                weight
            }
        };
        waiting.weight += weight;
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Waits until there is room for more, or the receiver is gone.
    pub(crate) async fn room(&self) {
        loop {
            let room = self.room.notified();
            {
                let waiting = self.waiting();
                if waiting.weight < self.limit || waiting.receiver_gone || waiting.ended {
                    return;
                }
            }
            room.await;
        }
    }

    /// Marks the end of the events.
    pub(crate) fn end(&self) {
        self.waiting().ended = true;
        self.arrived.notify_one();
        self.room.notify_one();
    }

    fn take(&self, waiting: &mut Waiting) -> Option<AgentEvent> {
        let (event, weight) = waiting.events.pop_front()?;
        waiting.weight -= weight;
        if waiting.weight < self.limit {
            self.room.notify_one();
        }
        Some(event)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No code under this lock panics between two changes, so a poisoned queue is whole.
        lock(&self.waiting)
    }
}

/// Appends a chunk of text to the last waiting event if that is a chunk of the same kind and session; else returns the event.
fn coalesce(last: &mut AgentEvent, event: AgentEvent) -> Option<AgentEvent> {
    use Update::{MessageText, ThoughtText, UserText};
    let (
        AgentEvent::Update { session: before, update: last, .. },
        AgentEvent::Update { session, update, .. },
    ) = (last, &event)
    else {
        return Some(event);
    };
    match (last, update) {
        (MessageText(text), MessageText(more))
        | (ThoughtText(text), ThoughtText(more))
        | (UserText(text), UserText(more))
            if before == session =>
        {
            text.push_str(more);
            None
        }
        _ => Some(event),
    }
}

/// Returns about how many bytes a JSON value takes in memory.
pub(crate) fn weight(value: &Value) -> usize {
    // The size of serde_json's `Value` itself.
    const NODE: usize = 32;
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| NODE + key.len() + weight(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;
    use futures::FutureExt;

    fn text(session: &str, text: &str) -> AgentEvent {
        AgentEvent::Update {
            session: session.into(),
            update: Update::MessageText(text.into()),
            read: clock::now().tick,
        }
    }

    fn unknown(method: &str) -> AgentEvent {
        AgentEvent::UnknownNotification { method: method.into() }
    }

    #[test]
    fn neighbouring_text_of_one_session_is_one_event() {
        let (queue, mut events) = queue(1000);
        for event in [
            text("a", "one "),
            text("a", "two"),
            text("b", "three"),
            unknown("x"),
            text("b", "four"),
        ] {
            queue.push(event, 10);
        }
        let mut seen = Vec::new();
        while let Some(event) = events.try_recv() {
            seen.push(match event {
                AgentEvent::Update { session, update: Update::MessageText(text), .. } => {
                    format!("{} {text}", session.as_str())
                }
                other => format!("{other:?}"),
            });
        }
        assert_eq!(
            seen,
            ["a one two", "b three", "UnknownNotification { method: \"x\" }", "b four"]
        );
    }

    #[test]
    fn there_is_room_again_when_events_are_taken_or_the_receiver_is_gone() {
        let (queue, mut events) = queue(1000);
        assert!(queue.room().now_or_never().is_some());
        queue.push(unknown("x"), 600);
        queue.push(unknown("y"), 600);
        assert!(queue.room().now_or_never().is_none());
        events.try_recv().expect("two wait");
        assert!(queue.room().now_or_never().is_some());
        queue.push(unknown("z"), 600);
        assert!(queue.room().now_or_never().is_none());
        drop(events);
        assert!(queue.room().now_or_never().is_some());
    }

    #[tokio::test]
    async fn waiting_events_are_received_before_the_end() {
        let (queue, mut events) = queue(1000);
        queue.push(unknown("x"), 1);
        queue.end();
        assert!(events.recv().await.is_some());
        assert!(events.recv().await.is_none());
        assert!(events.recv().await.is_none());
    }
}
