//! The messages of an exchange with their receipts, folded from the entries of the log.

use std::collections::{BTreeMap, BTreeSet};

use super::recipient_fold::{Carrier, Recipients};
use super::step_fold::StepFold;
use super::trace_message::TraceMessage;
use super::trace_scope::{TraceId, TraceScope};
use super::traced_exchange::{EdgeKind, TRACE_VERSION, Trace, TraceEdge};
use crate::bus::event::{Addressees, Entry, Event, MessageRelayed};
use crate::bus::state::State;
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::Author;
use crate::view::shown::why_withdrawn;
use crate::view::{Moment, Texts};

/// An exchange so far.
#[derive(Clone, Debug)]
pub struct TraceFold<'a> {
    scope: &'a TraceScope,
    messages: BTreeMap<u64, Traced>,
    seqs: BTreeMap<MessageId, u64>,
    /// What each call has carried.
    calls: BTreeMap<Carrier, BTreeSet<u64>>,
    steps: StepFold,
    left_out: usize,
}

#[derive(Clone, Debug)]
struct Traced {
    message: TraceMessage,
    recipients: Recipients,
}

impl<'a> TraceFold<'a> {
    /// Begins an exchange whose scope is known.
    pub fn of(scope: &'a TraceScope) -> Self {
        Self {
            scope,
            messages: BTreeMap::new(),
            seqs: BTreeMap::new(),
            calls: BTreeMap::new(),
            steps: StepFold::default(),
            left_out: 0,
        }
    }

    /// Takes an entry. `state` is that of the end of the log. Only texts of the exchange are read.
    pub fn take(&mut self, entry: &Entry, state: &State, texts: &mut dyn Texts) {
        self.steps.take(entry, self.scope);
        let at = Moment(entry.ts);
        for (seq, event) in (entry.seq..).zip(&entry.events) {
            match event {
                Event::MessageSent(sent) if self.has_room_for(&sent.id) => {
                    let message = TraceMessage::sent(sent, (seq, at), state, texts);
                    self.add(&sent.id, message);
                    self.address(&sent.id, &sent.to, state, at);
                }
                Event::RequestOpened(opened) if self.has_room_for(&opened.message) => {
                    let message = TraceMessage::opened(opened, (seq, at), state, texts);
                    self.add(&opened.message, message);
                    self.address(&opened.message, &opened.to, state, at);
                }
                Event::MessageAddressed { id, to } => self.address(id, to, state, at),
                Event::MessageRelayed(relayed) => {
                    if let Some(traced) = self.traced(&relayed.id) {
                        traced.crosses(relayed, at);
                    }
                }
                Event::MessageUnclaimed { id } => {
                    if let Some(traced) = self.traced(id) {
                        traced.is_given_up();
                    }
                }
                Event::MessageHanded { ids, member, session, call, method } => {
                    let carrier = (*session, *call);
                    for id in ids {
                        let Some(seq) = self.seqs.get(id).copied() else { continue };
                        self.calls.entry(carrier).or_default().insert(seq);
                        if let Some(traced) = self.messages.get_mut(&seq) {
                            traced.recipients.handed(member.as_str(), (carrier, *method), at);
                        }
                    }
                }
                Event::MessageSeen { session, call } => {
                    let carrier = (*session, *call);
                    self.each_of(carrier, |recipients| recipients.seen_with(carrier, at));
                }
                Event::MessageReturned { session, call } => {
                    let carrier = (*session, *call);
                    self.each_of(carrier, |recipients| recipients.returned_by(carrier, at));
                }
                Event::MemberLeft { session, .. } => {
                    for traced in self.messages.values_mut() {
                        traced.recipients.left(*session, at);
                    }
                }
                Event::MessageAcknowledged(said) => {
                    for id in &said.ids {
                        let words = (said.status, said.note.as_deref());
                        if let Some(traced) = self.traced(id) {
                            traced.recipients.acknowledged(said.member.as_str(), words, at);
                        }
                    }
                }
                Event::ThreadResolved(resolved) => {
                    for first in &resolved.threads {
                        if let Some(traced) = self.traced(first) {
                            let (by, summary) = (resolved.by.as_str(), &*resolved.summary);
                            traced.recipients.resolved(by, summary, at);
                        }
                    }
                }
                Event::MessageSuperseded { id, members } => {
                    if let Some(traced) = self.traced(id) {
                        let why = why_withdrawn(entry, &traced.message.as_withdrawn());
                        traced.recipients.withdrawn(members, why.as_ref(), at);
                    }
                }
                Event::MessageExpired { id, member } => {
                    if let Some(traced) = self.traced(id) {
                        let why = why_expired(entry, &traced.message);
                        traced.recipients.expired(member.as_str(), why, at);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns what may tell of the calls whose fate is not known yet.
    pub fn open_ids(&self) -> BTreeSet<String> {
        let carriers = self.messages.values().flat_map(|traced| traced.recipients.open_carriers());
        let ids = carriers.flat_map(|(call, session)| {
            [Some(call.0.to_string()), session.map(|session| session.to_string())]
        });
        ids.flatten().collect()
    }

    /// Returns the trace.
    pub fn traced_exchange(self) -> Trace {
        let missing = self.missing();
        let requests = self.scope.requests().iter().map(ToString::to_string).collect();
        let mut nodes = Vec::new();
        for Traced { mut message, recipients } in self.messages.into_values() {
            message.receipts = recipients.receipts();
            nodes.push(message);
        }
        Trace {
            version: TRACE_VERSION,
            id: self.scope.asked().to_string(),
            thread_id: self.scope.thread().map(ToString::to_string),
            requests,
            edges: edges(&nodes),
            nodes,
            steps: self.steps.steps(),
            missing,
            left_out: self.left_out,
        }
    }

    /// Returns the ids that it names and has not found: of its thread, its requests, and answered messages.
    fn missing(&self) -> Vec<String> {
        let is_node = |id: &str| self.messages.values().any(|traced| traced.message.id == id);
        let thread = self.scope.thread().map(ToString::to_string);
        let in_thread = |traced: &&Traced| thread.as_deref() == Some(&*traced.message.thread_id);
        let answered = self.messages.values().filter(in_thread);
        let answered = answered.filter_map(|traced| traced.message.reply_to.clone());
        let asked = match self.scope.asked() {
            TraceId::Message(id) => Some(id.to_string()),
            TraceId::Request(_) => None,
        };
        let messages = thread.clone().into_iter().chain(answered).chain(asked);
        let is_opened = |id: &&_| !self.steps.has_opened(id);
        let requests = self.scope.requests().iter().filter(is_opened).map(ToString::to_string);
        // Messages that are left out are not missing.
        let messages = messages.filter(|id| self.left_out == 0 && !is_node(id));
        messages.chain(requests).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn has_room_for(&mut self, id: &MessageId) -> bool {
        if !self.scope.has(id) {
            return false;
        }
        let has_room = self.messages.len() < limits::TRACED_MESSAGES;
        self.left_out += usize::from(!has_room);
        has_room
    }

    fn add(&mut self, id: &MessageId, message: TraceMessage) {
        self.seqs.insert(id.clone(), message.seq);
        let recipients = Recipients::default();
        self.messages.insert(message.seq, Traced { message, recipients });
    }

    fn traced(&mut self, id: &MessageId) -> Option<&mut Traced> {
        self.messages.get_mut(self.seqs.get(id)?)
    }

    fn each_of(&mut self, carrier: Carrier, change: impl Fn(&mut Recipients)) {
        for seq in self.calls.get(&carrier).into_iter().flatten() {
            if let Some(traced) = self.messages.get_mut(seq) {
                change(&mut traced.recipients);
            }
        }
    }

    /// Puts a message into inboxes. An event may name "all but some": then the state knows whom it reached.
    fn address(&mut self, id: &MessageId, to: &Addressees, state: &State, at: Moment) {
        let Some(traced) = self.traced(id) else { return };
        traced.message.waits &= matches!(to, Addressees::Named(names) if names.is_empty());
        match to {
            Addressees::Named(names) => {
                for name in names {
                    traced.recipients.begins(name.as_str(), at);
                }
            }
            Addressees::AllBut(_) => match state.message(id) {
                Some(known) => {
                    for (name, _) in known.deliveries.iter() {
                        traced.recipients.stored(name.as_str(), at);
                    }
                }
                None => traced.message.more_recipients = true,
            },
        }
    }
}

impl Traced {
    /// Notes that it waits no longer. What is for the user is in their windows.
    fn is_given_up(&mut self) {
        let is_for_user = self.message.to == Author::HUMAN;
        self.message.undelivered = self.message.waits && !is_for_user;
        self.message.waits = false;
    }

    /// Takes over how far the message has come in another project.
    fn crosses(&mut self, relayed: &MessageRelayed, at: Moment) {
        self.message.waits = false;
        self.message.there = Some(relayed.there.to_string());
        let tag = self.message.to.split(':').next().unwrap_or_default().to_owned();
        for receipt in &relayed.receipts {
            let come = (receipt.state, receipt.note.as_deref());
            self.recipients.has_come(&format!("{tag}:{}", receipt.name), come, at);
        }
    }
}

/// Returns what joins messages, in their order.
fn edges(nodes: &[TraceMessage]) -> Vec<TraceEdge> {
    let known: BTreeSet<_> = nodes.iter().map(|node| &*node.id).collect();
    let mut edges = Vec::new();
    for node in nodes {
        let answered = node.reply_to.as_ref().map(|id| (id, EdgeKind::Response));
        let thread = Some((&node.thread_id, EdgeKind::Thread)).filter(|(id, _)| **id != node.id);
        for (from, kind) in answered.into_iter().chain(thread) {
            if known.contains(&**from) {
                edges.push(TraceEdge { from: from.clone(), to: node.id.clone(), kind });
            }
        }
    }
    edges
}

/// Says why a message will not reach a recipient, as far as its append shows that.
fn why_expired(entry: &Entry, message: &TraceMessage) -> Option<String> {
    let is_gone = entry
        .events
        .iter()
        .any(|event| matches!(event, Event::MemberLeft { .. } | Event::MemberForgotten { .. }));
    match message.ttl_seconds {
        _ if is_gone => Some("the recipient is gone".to_owned()),
        Some(seconds) => Some(format!("unseen within {seconds} s")),
        None => None,
    }
}
