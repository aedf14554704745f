//! The conversation: the last messages of a team with their receipts, folded from the entries of the log.

use std::collections::{BTreeMap, BTreeSet};

use super::in_flight::{Carried, InFlight};
use super::letter::{Letter, ThreadEnd, UserQuestion};
use super::letter_receipt::{Receipt, ReceiptStatus, shown_note};
use crate::bus::event::{Addressees, Body, Entry, Event, MessageSent, RequestOpened};
use crate::bus::state::State;
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Author, ConflictEnd, MessageKind, Priority};
use crate::view::shown::{WithdrawnMessage, why_withdrawn};
use crate::view::text_source::NextTry;
use crate::view::{Moment, Texts};

/// The last messages of a team.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The most messages to keep.
    most: usize,
    /// The most characters of a text.
    chars: usize,
    letters: BTreeMap<u64, (MessageId, Letter)>,
    seqs: BTreeMap<MessageId, u64>,
    in_flight: InFlight,
    /// Messages of which nobody knows any more whom they reached.
    vague: BTreeSet<u64>,
    /// Questions to the user without an answer.
    questions: BTreeSet<u64>,
    /// Texts that could not be read, by the seq of their message.
    unread: BTreeMap<u64, (Body, NextTry)>,
}

impl Conversation {
    /// Begins without messages.
    pub fn new(most: usize, chars: usize) -> Self {
        Self {
            most: most.max(1),
            chars,
            letters: BTreeMap::new(),
            seqs: BTreeMap::new(),
            in_flight: InFlight::default(),
            vague: BTreeSet::new(),
            questions: BTreeSet::new(),
            unread: BTreeMap::new(),
        }
    }

    /// Reads texts again that could not be read, each ever more seldom. Says whether one was found.
    pub fn read_again(&mut self, texts: &mut dyn Texts) -> bool {
        let mut is_found = false;
        self.unread.retain(|seq, (body, next)| {
            if !next.is_due() {
                return true;
            }
            let Some((_, letter)) = self.letters.get_mut(seq) else { return false };
            let has_text = letter.reads(body, self.chars, texts);
            is_found |= has_text;
            !has_text
        });
        is_found
    }

    /// Returns the messages, oldest first.
    pub fn letters(&self) -> impl DoubleEndedIterator<Item = &Letter> {
        self.letters.values().map(|(_, letter)| letter)
    }

    /// Takes an entry. `state` is that of the same moment, or a later one.
    pub fn take(&mut self, entry: &Entry, state: &State, texts: &mut dyn Texts) {
        self.take_some(entry, state, texts, &|_| true);
    }

    /// Takes an entry, but adds only messages that are wanted: others take no room from them.
    pub fn take_some(
        &mut self,
        entry: &Entry,
        state: &State,
        texts: &mut dyn Texts,
        is_wanted: &dyn Fn(&Letter) -> bool,
    ) {
        let at = Moment(entry.ts);
        for (seq, event) in (entry.seq..).zip(&entry.events) {
            self.in_flight.end(event);
            match event {
                Event::MessageSent(sent) => {
                    let mut letter = of_message(sent, (seq, at));
                    if letter.asks_you.is_some() && !state.waits_for_user(&sent.id) {
                        letter.asks_you = Some(UserQuestion::Over);
                    }
                    self.settle_question(sent);
                    if letter.asks_you.is_some() {
                        self.questions.insert(seq);
                    }
                    self.add_wanted(&sent.id, letter, &sent.body, texts, is_wanted);
                    if let Some(first) = sent.reopens().and_then(|thread| self.letter(thread)) {
                        first.resolved = None;
                    }
                    self.address(&sent.id, &sent.to, state);
                    if sent.is_queued() && !state.is_queued(&sent.id) {
                        self.vague.extend(self.seqs.get(&sent.id));
                    }
                }
                Event::RequestOpened(opened) => {
                    let letter = of_request(opened, (seq, at));
                    let text = &opened.description;
                    self.add_wanted(&opened.message, letter, text, texts, is_wanted);
                    self.address(&opened.message, &opened.to, state);
                }
                Event::MessageRelayed(relayed) => {
                    let chars = self.chars;
                    let letter = self.letter(&relayed.id).into_iter();
                    letter.for_each(|letter| letter.crosses(&relayed.receipts, chars, at));
                }
                Event::MessageUnclaimed { id } => {
                    if let Some(letter) = self.letter(id) {
                        letter.is_given_up(at);
                        let seq = letter.seq;
                        self.vague.remove(&seq);
                    }
                }
                Event::MessageAddressed { id, to } => self.address(id, to, state),
                Event::MessageHanded { ids, member, session, call, method } => {
                    self.in_flight.hand((*session, *call), (member, *method), ids);
                    for id in ids {
                        self.change(id, member.as_str(), |receipt| receipt.delivered(*method, at));
                    }
                }
                Event::MessageSeen { session, call } => {
                    if let Some(carried) = self.in_flight.prove(*session, *call) {
                        for id in &carried.ids {
                            self.change(id, carried.member.as_str(), |receipt| {
                                receipt.proven(carried.method, at);
                            });
                        }
                    }
                }
                Event::MessageReturned { session, call } => {
                    if let Some(carried) = self.in_flight.give_back(*session, *call) {
                        self.returns(&carried);
                    }
                }
                Event::MessageAcknowledged(said) => {
                    self.in_flight.acknowledge(&said.member, &said.ids);
                    let note = said.note.as_ref().map(|note| shown_note(note, self.chars));
                    for id in &said.ids {
                        self.change(id, said.member.as_str(), |receipt| {
                            receipt.acknowledged(said.status, note.clone(), at);
                        });
                    }
                }
                Event::ThreadResolved(resolved) => {
                    let summary = shown_note(&resolved.summary, self.chars);
                    let end = ThreadEnd { by: resolved.by.to_string(), at, summary };
                    for first in &resolved.threads {
                        if let Some(letter) = self.letter(first) {
                            letter.is_resolved(end.clone());
                        }
                    }
                }
                Event::MessageSuperseded { id, members } => self.withdraw(entry, id, members),
                Event::MessageExpired { id, member } => {
                    self.change(id, member.as_str(), |receipt| {
                        receipt.ends(ReceiptStatus::Expired, at);
                    });
                }
                Event::MemberLeft { session, .. } => {
                    for carried in self.in_flight.left(*session) {
                        self.returns(&carried);
                    }
                }
                _ => self.note_decision(event),
            }
        }
        if entry.events.iter().any(Event::changes_roster) {
            self.look_who_asks(state);
        }
    }

    /// Says whether no later entry changes a message that is held: each of its receipts has ended, or is as far as the state has it.
    pub fn is_settled(&self, state: &State) -> bool {
        self.vague.is_empty()
            && self.letters.values().all(|(id, letter)| match state.message(id) {
                Some(known) if known.resolved != letter.resolved.is_some() => false,
                Some(_) if !letter.is_as_crossed(state.crossed(id)) => false,
                _ if letter.is_open_otherwise(state.waits_for_user(id)) => false,
                Some(known) => known.deliveries.iter().all(|(name, delivery)| {
                    let of_name = |receipt: &&Receipt| receipt.member == name.as_str();
                    let receipt = letter.receipts.iter().find(of_name);
                    receipt.is_some_and(|receipt| receipt.is_as(*delivery))
                }),
                None => letter.receipts.iter().all(Receipt::is_final),
            })
    }

    /// Says whether somebody may have said something else since of a message that is held: a recipient that has acknowledged it, or resolved
    /// its thread, may do so again in other words, and the state has no words.
    pub fn may_have_other_words(&self) -> bool {
        let has_words = |receipt: &Receipt| receipt.acknowledged_at.is_some();
        self.letters
            .values()
            .any(|(_, letter)| letter.resolved.is_some() || letter.receipts.iter().any(has_words))
    }

    /// Gives up on receipts of messages of which nobody knows any more whom they reached.
    pub fn give_up_vague(&mut self) {
        self.vague.clear();
    }

    /// Adds a message if it is wanted. Only then is its text read.
    fn add_wanted(
        &mut self,
        id: &MessageId,
        mut letter: Letter,
        body: &Body,
        texts: &mut dyn Texts,
        is_wanted: &dyn Fn(&Letter) -> bool,
    ) {
        if is_wanted(&letter) {
            if !letter.reads(body, self.chars, texts) {
                self.unread.insert(letter.seq, (body.clone(), NextTry::soon()));
            }
            self.add(id, letter);
        }
    }

    /// Adds a message, and forgets the oldest one above the limit.
    fn add(&mut self, id: &MessageId, letter: Letter) {
        self.seqs.insert(id.clone(), letter.seq);
        self.letters.insert(letter.seq, (id.clone(), letter));
        while self.letters.len() > self.most {
            let Some((seq, (oldest, _))) = self.letters.pop_first() else { return };
            self.seqs.remove(&oldest);
            self.vague.remove(&seq);
            self.questions.remove(&seq);
            self.unread.remove(&seq);
        }
    }

    /// Ends the question to the user that a message answers, or whose place it takes.
    fn settle_question(&mut self, sent: &MessageSent) {
        if let Some(asked) = sent.reply_to.as_ref().and_then(|id| self.letter(id)) {
            asked.is_answered_by(sent);
        }
        let replaced = sent.more.as_ref().and_then(|more| more.supersedes.as_ref());
        if let Some(before) = replaced.and_then(|id| self.letter(id))
            && before.asks_you == Some(UserQuestion::Open)
            && before.from == sent.from.to_string()
        {
            before.asks_you = Some(UserQuestion::Over);
        }
    }

    /// Opens the questions of members that are here, and no others: nobody else gets an answer. A member may come back.
    fn look_who_asks(&mut self, state: &State) {
        let Self { questions, letters, .. } = self;
        questions.retain(|seq| {
            let Some((id, letter)) = letters.get_mut(seq) else { return false };
            if letter.asks_you == Some(UserQuestion::Answered) {
                return false;
            }
            let is_open = state.waits_for_user(id);
            letter.asks_you = Some(if is_open { UserQuestion::Open } else { UserQuestion::Over });
            true
        });
    }

    /// Notes of a message that it has decided a disagreement.
    fn note_decision(&mut self, event: &Event) {
        let decision = match event {
            Event::ConflictResolved(end) if end.how == ConflictEnd::Decided => end.message.as_ref(),
            Event::ConflictOverruled(end) => Some(&end.message),
            _ => None,
        };
        if let Some(letter) = decision.and_then(|id| self.letter(id)) {
            letter.decides = true;
        }
    }

    fn letter(&mut self, id: &MessageId) -> Option<&mut Letter> {
        self.letters.get_mut(self.seqs.get(id)?).map(|(_, letter)| letter)
    }

    fn change(&mut self, id: &MessageId, member: &str, change: impl FnOnce(&mut Receipt)) {
        if let Some(letter) = self.letter(id) {
            change(letter.receipt(member));
            letter.note_fate();
        }
    }

    /// Notes that the messages of a call are unread again.
    fn returns(&mut self, carried: &Carried) {
        for id in &carried.ids {
            self.change(id, carried.member.as_str(), Receipt::returned);
        }
    }

    /// Puts a message into inboxes. An event may name "all but some": then the state knows whom it reached.
    fn address(&mut self, id: &MessageId, to: &Addressees, state: &State) {
        let Some(letter) = self.letter(id) else { return };
        let seq = letter.seq;
        match to {
            Addressees::Named(names) => {
                for name in names {
                    letter.receipt(name.as_str()).begins();
                }
                letter.note_fate();
                if !names.is_empty() {
                    self.vague.remove(&seq);
                }
            }
            // Only those come anew from whom it was withdrawn.
            Addressees::AllBut(_) => {
                let Some(known) = state.message(id) else {
                    self.vague.insert(seq);
                    return;
                };
                for (name, _) in known.deliveries.iter() {
                    letter.receipt(name.as_str()).begins_unless_read();
                }
                letter.note_fate();
            }
        }
    }

    fn withdraw(&mut self, entry: &Entry, id: &MessageId, members: &Addressees) {
        let Some(letter) = self.letter(id) else { return };
        let why = why_withdrawn(
            entry,
            &WithdrawnMessage {
                id: &letter.message_id,
                from: &letter.from,
                thread: &letter.thread_id,
                request: letter.request_id.as_deref(),
            },
        );
        for receipt in &mut letter.receipts {
            let is_meant = match members {
                Addressees::Named(names) => {
                    names.iter().any(|name| name.as_str() == receipt.member)
                }
                Addressees::AllBut(names) => {
                    receipt.status == ReceiptStatus::Unread
                        && !names.iter().any(|name| name.as_str() == receipt.member)
                }
            };
            if is_meant {
                receipt.withdrawn(why.as_ref(), Moment(entry.ts));
            }
        }
        letter.note_fate();
    }
}

/// Returns a priority where it is not as usual.
fn priority_word(priority: Priority) -> Option<String> {
    (!priority.is_normal()).then(|| priority.as_str().to_owned())
}

/// Returns a message without its text.
fn of_message(sent: &MessageSent, (seq, at): (u64, Moment)) -> Letter {
    let more = sent.more.as_deref();
    let payload = more.and_then(|more| Some((more.payload.as_ref()?, more.payload_bytes())));
    let (payload, payload_bytes) = match payload {
        Some((_, bytes)) if bytes > limits::SHOWN_PAYLOAD_BYTES as u64 => (None, Some(bytes)),
        Some((payload, _)) => (Some(payload.clone()), None),
        None => (None, None),
    };
    let wants_answer =
        sent.audience.is_human() && more.is_some_and(|more| more.response_seconds.is_some());
    // The bridge writes a reminder in the name of the one who asked.
    let asker = sent.from.member().filter(|_| sent.kind == MessageKind::Nudge);
    Letter {
        message_id: sent.id.to_string(),
        seq,
        at,
        from: asker.map_or_else(|| sent.from.to_string(), |_| Author::Bridge.to_string()),
        for_member: asker.map(ToString::to_string),
        to: sent.audience.to_string(),
        kind: sent.kind.as_str().to_owned(),
        text: None,
        lost: None,
        bytes: sent.body.bytes(),
        thread_id: sent.thread.as_ref().unwrap_or(&sent.id).to_string(),
        reply_to: sent.reply_to.as_ref().map(ToString::to_string),
        asks_you: wants_answer.then_some(UserQuestion::Open),
        answered_in: None,
        request_id: sent.request.as_ref().map(ToString::to_string),
        task_id: sent.task.as_ref().map(ToString::to_string),
        signal: more.and_then(|more| more.signal.as_ref()).map(ToString::to_string),
        decides: false,
        priority: priority_word(sent.priority),
        reference: more.and_then(|more| more.reference.clone()),
        payload,
        payload_bytes,
        attachments: more.into_iter().flat_map(|more| &more.attachments).map(Into::into).collect(),
        urgent: sent.priority == Priority::Urgent,
        resolved: None,
        taken_back: false,
        receipts: Receipt::on_the_way(&sent.audience),
    }
}

/// Returns the message of a request without its text.
fn of_request(opened: &RequestOpened, (seq, at): (u64, Moment)) -> Letter {
    let context = opened.context.as_ref().map_or(0, Body::bytes);
    Letter {
        message_id: opened.message.to_string(),
        seq,
        at,
        from: opened.from.to_string(),
        for_member: None,
        to: opened.audience().to_string(),
        kind: MessageKind::Request.as_str().to_owned(),
        text: None,
        lost: None,
        bytes: opened.description.bytes().saturating_add(context),
        thread_id: opened.message.to_string(),
        reply_to: None,
        asks_you: None,
        answered_in: None,
        request_id: Some(opened.id.to_string()),
        task_id: None,
        signal: None,
        decides: false,
        priority: priority_word(opened.priority()),
        reference: None,
        payload: None,
        payload_bytes: None,
        attachments: Vec::new(),
        urgent: opened.priority() == Priority::Urgent,
        resolved: None,
        taken_back: false,
        receipts: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
