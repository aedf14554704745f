//! The conversation: the last messages of a team with their receipts, folded from the entries of the log.

use std::collections::{BTreeMap, BTreeSet};

use super::in_flight::InFlight;
use super::letter::{Letter, ThreadEnd};
use super::letter_receipt::{Receipt, ReceiptStatus};
use crate::bus::event::{Addressees, Body, Entry, Event, MessageSent, RequestOpened};
use crate::bus::state::State;
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Author, MessageKind, Priority};
use crate::domain::text::visible_letters::beginning;
use crate::view::shown::{WithdrawnMessage, why_withdrawn};
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
        }
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
            match event {
                Event::MessageSent(sent) => {
                    let letter = of_message(sent, (seq, at));
                    self.add_wanted(&sent.id, letter, &sent.body, texts, is_wanted);
                    if let Some(first) = sent.reopens().and_then(|thread| self.letter(thread)) {
                        first.resolved = None;
                    }
                    self.address(&sent.id, &sent.to, state);
                }
                Event::RequestOpened(opened) => {
                    let letter = of_request(opened, (seq, at));
                    let text = &opened.description;
                    self.add_wanted(&opened.message, letter, text, texts, is_wanted);
                    self.address(&opened.message, &opened.to, state);
                }
                Event::MessageRelayed(relayed) => {
                    let letter = self.letter(&relayed.id).into_iter();
                    letter.for_each(|letter| letter.crosses(&relayed.receipts, at));
                }
                Event::MessageUnclaimed { id } => {
                    self.letter(id).into_iter().for_each(|letter| letter.is_given_up(at));
                }
                Event::MessageAddressed { id, to } => self.address(id, to, state),
                Event::MessageHanded { ids, member, session, call, method } => {
                    self.in_flight.hand((*session, *call), member, ids);
                    for id in ids {
                        self.change(id, member.as_str(), |receipt| receipt.delivered(*method, at));
                    }
                }
                Event::MessageSeen { session, call } => {
                    if let Some(carried) = self.in_flight.settle(*session, *call) {
                        for id in &carried.ids {
                            self.change(id, carried.member.as_str(), |receipt| receipt.seen(at));
                        }
                    }
                }
                Event::MessageReturned { session, call } => {
                    if let Some(carried) = self.in_flight.settle(*session, *call) {
                        for id in &carried.ids {
                            self.change(id, carried.member.as_str(), Receipt::returned);
                        }
                    }
                }
                Event::MessageAcknowledged(said) => {
                    self.in_flight.acknowledge(&said.member, &said.ids);
                    let note = said.note.as_ref().map(|note| beginning(note, self.chars));
                    for id in &said.ids {
                        self.change(id, said.member.as_str(), |receipt| {
                            receipt.acknowledged(said.status, note.clone(), at);
                        });
                    }
                }
                Event::ThreadResolved(resolved) => {
                    let summary = beginning(&resolved.summary, self.chars);
                    let end = ThreadEnd { by: resolved.by.to_string(), at, summary };
                    for first in &resolved.threads {
                        if let Some(letter) = self.letter(first) {
                            letter.resolved = Some(end.clone());
                        }
                    }
                }
                Event::MessageSuperseded { id, members } => self.withdraw(entry, id, members),
                Event::MessageExpired { id, member } => {
                    self.change(id, member.as_str(), |receipt| {
                        receipt.ends(ReceiptStatus::Expired, at);
                    });
                }
                Event::MemberLeft { session, .. } => self.in_flight.forget(*session),
                _ => {}
            }
        }
    }

    /// Says whether no later entry changes a message that is held: each of its receipts has ended, or is as far as the state has it.
    pub fn is_settled(&self, state: &State) -> bool {
        self.vague.is_empty()
            && self.letters.values().all(|(id, letter)| match state.message(id) {
                Some(known) if known.resolved != letter.resolved.is_some() => false,
                Some(_) if !letter.is_as_crossed(state.crossed(id)) => false,
                Some(known) => known.deliveries.iter().all(|(name, delivery)| {
                    let of_name = |receipt: &&Receipt| receipt.member == name.as_str();
                    let receipt = letter.receipts.iter().find(of_name);
                    receipt.is_some_and(|receipt| receipt.is_as(*delivery))
                }),
                None => letter.receipts.iter().all(Receipt::is_final),
            })
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
            letter.text = self.shown(body, texts);
            self.add(id, letter);
        }
    }

    fn shown(&self, body: &Body, texts: &mut dyn Texts) -> Option<String> {
        texts.text_of(body).map(|text| beginning(&text, self.chars))
    }

    /// Adds a message, and forgets the oldest one above the limit.
    fn add(&mut self, id: &MessageId, letter: Letter) {
        self.seqs.insert(id.clone(), letter.seq);
        self.letters.insert(letter.seq, (id.clone(), letter));
        while self.letters.len() > self.most {
            let Some((seq, (oldest, _))) = self.letters.pop_first() else { return };
            self.seqs.remove(&oldest);
            self.vague.remove(&seq);
        }
    }

    fn letter(&mut self, id: &MessageId) -> Option<&mut Letter> {
        self.letters.get_mut(self.seqs.get(id)?).map(|(_, letter)| letter)
    }

    fn change(&mut self, id: &MessageId, member: &str, change: impl FnOnce(&mut Receipt)) {
        if let Some(letter) = self.letter(id) {
            change(letter.receipt(member));
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
    }
}

/// Returns a message without its text.
fn of_message(sent: &MessageSent, (seq, at): (u64, Moment)) -> Letter {
    let more = sent.more.as_deref();
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
        bytes: sent.body.bytes(),
        thread_id: sent.thread.as_ref().unwrap_or(&sent.id).to_string(),
        reply_to: sent.reply_to.as_ref().map(ToString::to_string),
        request_id: sent.request.as_ref().map(ToString::to_string),
        task_id: sent.task.as_ref().map(ToString::to_string),
        signal: more.and_then(|more| more.signal.as_ref()).map(ToString::to_string),
        priority: (!sent.priority.is_normal()).then(|| sent.priority.as_str().to_owned()),
        reference: more.and_then(|more| more.reference.clone()),
        attachments: more.into_iter().flat_map(|more| &more.attachments).map(Into::into).collect(),
        urgent: sent.priority == Priority::Urgent,
        resolved: None,
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
        bytes: opened.description.bytes().saturating_add(context),
        thread_id: opened.message.to_string(),
        reply_to: None,
        request_id: Some(opened.id.to_string()),
        task_id: None,
        signal: None,
        priority: None,
        reference: None,
        attachments: Vec::new(),
        urgent: false,
        resolved: None,
        receipts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::MessageAcknowledged;
    use crate::bus::state::BodyRef;
    use crate::domain::ids::{CallId, CommandId, SessionId};
    use crate::domain::messaging::{Acknowledgement, Audience, DeliveryMethod};
    use crate::domain::name::Name;
    use crate::domain::time::Tick;

    /// Texts that are all in their events.
    struct Inline;

    impl Texts for Inline {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            None
        }

        fn long_text(&mut self, _: uuid::Uuid) -> Option<String> {
            None
        }
    }

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn id(number: u64) -> MessageId {
        MessageId::from_bits(number)
    }

    fn sent(number: u64, to: &[&str], text: &str) -> Event {
        Event::MessageSent(MessageSent {
            id: id(number),
            kind: MessageKind::Message,
            from: Author::Member(name("ann")),
            audience: Audience::All,
            to: to.iter().map(|to| name(to)).collect::<Vec<_>>().into(),
            request: None,
            task: None,
            claimed_by: None,
            reply_to: None,
            thread: None,
            ends: Vec::new(),
            priority: Priority::Normal,
            quiet: false,
            more: None,
            body: Body::Text(text.to_owned()),
        })
    }

    fn handed(number: u64, to: &str, call: CallId) -> Event {
        Event::MessageHanded {
            ids: vec![id(number)],
            member: name(to),
            session: SessionId(uuid::Uuid::nil()),
            call,
            method: DeliveryMethod::Steer,
        }
    }

    /// Folds events, each in an entry of its own and one millisecond after the one before.
    fn folded(most: usize, events: Vec<Event>) -> Conversation {
        folded_some(most, events, &|_| true)
    }

    fn folded_some(
        most: usize,
        events: Vec<Event>,
        is_wanted: &dyn Fn(&Letter) -> bool,
    ) -> Conversation {
        let mut conversation = Conversation::new(most, 5);
        for (number, event) in (1..).zip(events) {
            let entry = Entry {
                seq: number,
                ts: i64::try_from(number).unwrap(),
                tick: Tick { boot: 1, ms: number },
                id: CommandId(uuid::Uuid::from_u64_pair(0, number)),
                by: None,
                events: vec![event],
            };
            conversation.take_some(&entry, &State::default(), &mut Inline, is_wanted);
        }
        conversation
    }

    fn statuses(conversation: &Conversation) -> Vec<Vec<(&str, ReceiptStatus)>> {
        let of = |letter: &'_ Letter| -> Vec<_> {
            letter.receipts.iter().map(|receipt| (receipt.member.clone(), receipt.status)).collect()
        };
        let all: Vec<Vec<(String, ReceiptStatus)>> = conversation.letters().map(of).collect();
        all.into_iter()
            .map(|one| one.into_iter().map(|(name, status)| (&*name.leak(), status)).collect())
            .collect()
    }

    #[test]
    fn each_recipient_has_a_receipt_with_its_times() {
        use ReceiptStatus::{Delivered, Expired, Seen, Unread, Withdrawn};
        let session = SessionId(uuid::Uuid::nil());
        let [one, two] = [1, 2].map(|number| CallId(uuid::Uuid::from_u64_pair(1, number)));
        let conversation = folded(
            9,
            vec![
                sent(1, &["bob", "cay", "dan", "eve"], "a long text"),
                handed(1, "bob", one),
                Event::MessageSeen { session, call: one },
                handed(1, "cay", two),
                Event::MessageSuperseded { id: id(1), members: vec![name("dan")].into() },
                Event::MessageExpired { id: id(1), member: name("eve") },
                // Nothing changes after an end.
                Event::MessageExpired { id: id(1), member: name("bob") },
            ],
        );
        let expected =
            vec![vec![("bob", Seen), ("cay", Delivered), ("dan", Withdrawn), ("eve", Expired)]];
        assert_eq!(statuses(&conversation), expected);
        let letter = conversation.letters().next().unwrap();
        assert_eq!(letter.text.as_deref(), Some("a lon…"));
        let bob = &letter.receipts[0];
        assert_eq!((bob.delivered_at, bob.seen_at), (Some(Moment(2)), Some(Moment(3))));
        assert_eq!(bob.method.as_deref(), Some("steer"));

        let returned = vec![
            sent(1, &["bob"], "x"),
            handed(1, "bob", one),
            Event::MessageReturned { session, call: one },
        ];
        assert_eq!(statuses(&folded(9, returned)), vec![vec![("bob", Unread)]]);
    }

    #[test]
    fn a_recipient_says_what_has_become_of_a_message_and_no_late_proof_takes_that_back() {
        let session = SessionId(uuid::Uuid::nil());
        let one = CallId(uuid::Uuid::from_u64_pair(1, 1));
        let said = |status, note: Option<&str>| {
            let (ids, member) = (vec![id(1)], name("bob"));
            let note = note.map(str::to_owned);
            Event::MessageAcknowledged(MessageAcknowledged { ids, member, status, note })
        };
        let conversation = folded(
            9,
            vec![
                sent(1, &["bob", "cay"], "x"),
                handed(1, "bob", one),
                said(Acknowledgement::Acked, Some("on it\nnow")),
                Event::MessageSeen { session, call: one },
                Event::MessageExpired { id: id(1), member: name("bob") },
            ],
        );
        let bob = &conversation.letters().next().unwrap().receipts[0];
        assert_eq!((bob.status, bob.status.is_seen()), (ReceiptStatus::Acked, true));
        assert_eq!((bob.seen_at, bob.acknowledged_at), (Some(Moment(3)), Some(Moment(3))));
        assert_eq!(bob.note.as_deref(), Some("on it…"), "one line, cut");
        assert_eq!(bob.in_words(Moment(1)), "bob: acked by steer after 0.0 s: \"on it…\"");

        let events = vec![
            sent(1, &["bob"], "x"),
            said(Acknowledgement::Acked, Some("later")),
            said(Acknowledgement::Resolved, None),
        ];
        let resolved = folded(9, events);
        let bob = &resolved.letters().next().unwrap().receipts[0];
        assert_eq!((bob.status, &bob.note), (ReceiptStatus::Resolved, &None));
        assert_eq!((bob.seen_at, bob.acknowledged_at), (Some(Moment(2)), Some(Moment(3))));
    }

    #[test]
    fn a_failed_delivery_does_not_take_an_acknowledgement_back_and_a_later_session_begins_afresh() {
        let session = SessionId(uuid::Uuid::nil());
        let one = CallId(uuid::Uuid::from_u64_pair(1, 1));
        let acked = Event::MessageAcknowledged(MessageAcknowledged {
            ids: vec![id(1)],
            member: name("bob"),
            status: Acknowledgement::Acked,
            note: Some("on it".to_owned()),
        });
        let mut events = vec![
            sent(1, &["bob"], "x"),
            handed(1, "bob", one),
            acked,
            Event::MessageReturned { session, call: one },
        ];
        assert_eq!(statuses(&folded(9, events.clone())), [[("bob", ReceiptStatus::Acked)]]);
        events.push(Event::MessageAddressed { id: id(1), to: vec![name("bob")].into() });
        let again = folded(9, events);
        let bob = &again.letters().next().unwrap().receipts[0];
        assert_eq!((bob.status, &bob.note), (ReceiptStatus::Unread, &None));
    }

    #[test]
    fn only_the_last_messages_are_kept() {
        let events = (1..=5).map(|number| sent(number, &["bob"], "x")).collect();
        let conversation = folded(2, events);
        let seqs: Vec<_> = conversation.letters().map(|letter| letter.seq).collect();
        assert_eq!(seqs, [4, 5]);
        assert_eq!(conversation.seqs.len(), 2);
    }

    #[test]
    fn messages_that_are_not_wanted_take_no_room_from_older_ones() {
        let events = (1..=100).map(|number| sent(number, &["ben"], "words")).collect();
        let older = folded_some(3, events, &|letter| letter.seq < 10);
        let seqs: Vec<_> = older.letters().map(|letter| letter.seq).collect();
        assert_eq!(seqs, [7, 8, 9]);
    }
}
