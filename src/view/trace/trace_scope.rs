//! What belongs to an exchange: its thread, the requests in it, and the messages about these.

use std::collections::BTreeSet;
use std::fmt;

use crate::bus::event::{Entry, Event, MessageSent};
use crate::domain::ids::{MessageId, PermissionId, RequestId, TaskId, WorkflowId};
use crate::domain::messaging::SignalClass;

/// The id of what to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceId {
    /// Any message of a thread; the first one names the thread.
    Message(MessageId),
    Request(RequestId),
}

/// Why a text is no such id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceIdError {
    #[error(
        "{0:?} is no id of a message or of a request: one looks like `msg-k3j7x2abq5wt` or `req-k3j7x2abq5wt`, and `cli-team-bridge messages` shows them"
    )]
    NoId(String),
    #[error("{0} is a task: `cli-team-bridge task {0}` shows it")]
    Task(TaskId),
    #[error("{0} is a workflow: `cli-team-bridge log --thread {0}` shows what happened in it")]
    Workflow(WorkflowId),
    #[error("{0} is a question for permission: `cli-team-bridge log --thread {0}` shows it")]
    Permission(PermissionId),
}

impl TraceId {
    /// Parses the id of a message or of a request.
    pub fn parse(text: &str) -> Result<Self, TraceIdError> {
        let text = text.trim();
        if let Ok(id) = MessageId::parse(text) {
            return Ok(Self::Message(id));
        }
        if let Ok(id) = RequestId::parse(text) {
            return Ok(Self::Request(id));
        }
        Err(TaskId::parse(text)
            .map(TraceIdError::Task)
            .or_else(|_| WorkflowId::parse(text).map(TraceIdError::Workflow))
            .or_else(|_| PermissionId::parse(text).map(TraceIdError::Permission))
            .unwrap_or_else(|_| TraceIdError::NoId(text.chars().take(64).collect())))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(id) => id.fmt(f),
            Self::Request(id) => id.fmt(f),
        }
    }
}

/// The ids of an exchange, as far as the entries that it was shown name them. It is shown the same entries again until it has no more to
/// learn from them.
#[derive(Clone, Debug)]
pub struct TraceScope {
    asked: TraceId,
    thread: Option<MessageId>,
    requests: BTreeSet<RequestId>,
    messages: BTreeSet<MessageId>,
    /// Whether any event names what was asked for.
    is_named: bool,
}

impl TraceScope {
    pub fn of(asked: TraceId) -> Self {
        let mut requests = BTreeSet::new();
        if let TraceId::Request(id) = &asked {
            requests.insert(id.clone());
        }
        Self { asked, thread: None, requests, messages: BTreeSet::new(), is_named: false }
    }

    pub fn asked(&self) -> &TraceId {
        &self.asked
    }

    /// Returns the first message of the thread, if that is known.
    pub fn thread(&self) -> Option<&MessageId> {
        self.thread.as_ref()
    }

    pub fn requests(&self) -> &BTreeSet<RequestId> {
        &self.requests
    }

    /// Says whether it has any message or request of the log.
    pub fn is_found(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Says whether some event names what was asked for, though nothing of it may be left.
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// Returns what was asked for, the thread and the requests: ids that may stand anywhere in the log.
    pub fn anchors(&self) -> BTreeSet<String> {
        let requests = self.requests.iter().map(ToString::to_string);
        let thread = self.thread.as_ref().map(ToString::to_string);
        requests.chain(thread).chain([self.asked.to_string()]).collect()
    }

    /// Returns the messages of the exchange. Nothing names one before it was sent.
    pub fn messages(&self) -> BTreeSet<String> {
        self.messages.iter().map(ToString::to_string).collect()
    }

    /// Says whether a message belongs to the exchange.
    pub fn has(&self, id: &MessageId) -> bool {
        self.messages.contains(id)
    }

    /// Learns what an entry says of the exchange. Says whether that was news.
    pub fn learn(&mut self, entry: &Entry) -> bool {
        let before = (self.messages.len(), self.requests.len(), self.thread.is_some());
        if let Some((sent, request)) = hand_over(entry) {
            // What is said with a hand-over belongs to both the thread and the request.
            if self.requests.contains(request) {
                self.messages.insert(sent.id.clone());
            } else if self.messages.contains(&sent.id) {
                self.requests.insert(request.clone());
            }
        }
        for event in &entry.events {
            match event {
                Event::MessageSent(sent) => {
                    let thread = sent.thread.as_ref().unwrap_or(&sent.id);
                    if self.is_asked(&sent.id) {
                        self.thread.get_or_insert_with(|| thread.clone());
                        self.requests.extend(sent.request.clone());
                    }
                    if self.is_asked(thread) {
                        self.thread.get_or_insert_with(|| thread.clone());
                    }
                    self.is_named |= sent.reply_to.as_ref().is_some_and(|id| self.is_asked(id));
                    let is_about =
                        sent.request.as_ref().is_some_and(|id| self.requests.contains(id));
                    if self.thread.as_ref() == Some(thread) {
                        self.requests.extend(sent.request.clone());
                        self.messages.insert(sent.id.clone());
                    } else if is_about {
                        self.messages.insert(sent.id.clone());
                    }
                }
                Event::RequestOpened(opened) => {
                    let is_asked =
                        self.is_asked(&opened.message) || self.requests.contains(&opened.id);
                    if is_asked || self.thread.as_ref() == Some(&opened.message) {
                        self.thread.get_or_insert_with(|| opened.message.clone());
                        self.requests.insert(opened.id.clone());
                        self.messages.insert(opened.message.clone());
                    }
                }
                event => self.is_named |= self.names(event),
            }
        }
        before != (self.messages.len(), self.requests.len(), self.thread.is_some())
    }

    fn is_asked(&self, id: &MessageId) -> bool {
        matches!(&self.asked, TraceId::Message(asked) if asked == id)
    }

    /// Says whether an event of what became of messages and requests names what was asked for.
    fn names(&self, event: &Event) -> bool {
        match (&self.asked, event) {
            (TraceId::Message(id), Event::MessageHanded { ids, .. }) => ids.contains(id),
            (TraceId::Message(id), Event::MessageAcknowledged(said)) => said.ids.contains(id),
            (
                TraceId::Message(asked),
                Event::MessageAddressed { id, .. }
                | Event::MessageSuperseded { id, .. }
                | Event::MessageExpired { id, .. }
                | Event::MessageUnclaimed { id }
                | Event::MessageReminded { id }
                | Event::MessageUnanswered { id },
            ) => asked == id,
            (
                TraceId::Request(asked),
                Event::RequestClaimed { id, .. }
                | Event::RequestReopened { id, .. }
                | Event::RequestRenewed { id, .. }
                | Event::RequestReminded { id }
                | Event::RequestHandedOver { id, .. }
                | Event::RequestFailed { id }
                | Event::RequestExpired { id }
                | Event::RequestCompleted { id, .. },
            ) => asked == id,
            _ => false,
        }
    }
}

/// Returns the message that hands a request over in this append, if one does.
fn hand_over(entry: &Entry) -> Option<(&MessageSent, &RequestId)> {
    let (request, by) = entry.events.iter().find_map(|event| match event {
        Event::RequestHandedOver { id, by, .. } => Some((id, by)),
        _ => None,
    })?;
    let sent = entry.events.iter().find_map(|event| match event {
        Event::MessageSent(sent) => {
            let does = sent.class() == SignalClass::HandOver && sent.from.member() == Some(by);
            does.then_some(sent)
        }
        _ => None,
    })?;
    Some((sent, request))
}
