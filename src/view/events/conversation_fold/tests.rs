//! Conversations of single events.

use std::borrow::Cow;

use serde_json::json;

use super::*;
use crate::bus::event::{ConflictResolved, Envelope, MessageAcknowledged, ThreadResolved};
use crate::bus::state::BodyRef;
use crate::bus::storage::LogPosition;
use crate::domain::ids::{CallId, CommandId, SessionId};
use crate::domain::member::Departure;
use crate::domain::messaging::{Acknowledgement, Audience, DeliveryMethod, Group, Signal};
use crate::domain::name::Name;
use crate::domain::time::Tick;
use crate::view::LongText;
use crate::view::tests::joined;

/// Texts that are all in their events.
struct Inline;

impl Texts for Inline {
    fn text(&mut self, _: BodyRef) -> Option<String> {
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
        to: to.iter().map(|to| name(to)).collect::<Vec<_>>().into(),
        ..MessageSent::plain(id(number), name("ann"), Audience::All, text)
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
fn a_late_proof_counts_until_another_call_has_the_message_or_it_has_ended() {
    use ReceiptStatus::{Delivered, Seen, Unread, Withdrawn};
    let session = SessionId(uuid::Uuid::nil());
    let call = |number| CallId(uuid::Uuid::from_u64_pair(1, number));
    let returned = |by| Event::MessageReturned { session, call: call(by) };
    let seen = |by| Event::MessageSeen { session, call: call(by) };
    let given = |by| handed(1, "bob", call(by));
    let members = || vec![name("bob")].into();
    let withdrawn = Event::MessageSuperseded { id: id(1), members: members() };
    for (events, status) in [
        (vec![given(1), returned(1), seen(1)], Seen),
        (vec![given(1), returned(1), given(2), seen(1)], Delivered),
        (vec![given(1), returned(1), given(2), seen(1), returned(2)], Unread),
        (vec![given(1), returned(1), given(2), returned(2), seen(2)], Seen),
        (vec![given(1), returned(1), withdrawn, seen(1)], Withdrawn),
    ] {
        let all = std::iter::once(sent(1, &["bob"], "x")).chain(events.clone());
        let conversation = folded(9, all.collect());
        assert_eq!(statuses(&conversation), vec![vec![("bob", status)]], "{events:?}");
        let receipt = &conversation.letters().next().unwrap().receipts[0];
        let has_method = matches!(status, Seen | Delivered);
        assert_eq!(receipt.method.is_some(), has_method, "{events:?}");
        assert_eq!(receipt.delivered_at.is_some(), has_method, "{events:?}");
        assert_eq!(receipt.seen_at.is_some(), status == Seen, "{events:?}");
    }
}

#[test]
fn what_a_session_had_in_flight_is_unread_again_when_it_ends() {
    let (mut state, mut conversation) = (State::default(), Conversation::new(9, 50));
    joined(&mut state, 1, "ann");
    joined(&mut state, 2, "bob");
    let session = SessionId(uuid::Uuid::from_u64_pair(0, 2));
    let call = |number| CallId(uuid::Uuid::from_u64_pair(1, number));
    let given = |message, by| Event::MessageHanded {
        ids: vec![id(message)],
        member: name("bob"),
        session,
        call: call(by),
        method: DeliveryMethod::Pull,
    };
    let (detail, alive_ms) = (None, None);
    let events = vec![
        sent(1, &["bob"], "seen"),
        sent(2, &["bob"], "lost"),
        given(1, 1),
        Event::MessageSeen { session, call: call(1) },
        given(2, 2),
        Event::MemberLeft { session, departure: Departure::Dead, detail, alive_ms },
    ];
    for (number, event) in (3..).zip(events) {
        let entry = crate::view::tests::entry(number, event);
        state.apply(&entry, &[0], LogPosition::default());
        conversation.take(&entry, &state, &mut Inline);
        assert!(conversation.is_settled(&state), "as far as the state has it after {number}");
    }
    let (seen, unread) = (ReceiptStatus::Seen, ReceiptStatus::Unread);
    assert_eq!(statuses(&conversation), vec![vec![("bob", seen)], vec![("bob", unread)]]);
    let lost = &conversation.letters().nth(1).unwrap().receipts[0];
    assert_eq!((&lost.method, lost.delivered_at), (&None, None));
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
fn a_note_and_a_summary_mark_what_acts_on_a_terminal_as_the_receipt_of_the_sender_does() {
    let words = "a\u{202e}b\n\u{7}";
    let said = Event::MessageAcknowledged(MessageAcknowledged {
        ids: vec![id(1)],
        member: name("bob"),
        status: Acknowledgement::Resolved,
        note: Some(words.to_owned()),
    });
    let resolved =
        ThreadResolved { threads: vec![id(1)], by: name("bob"), summary: words.to_owned() };
    let conversation =
        folded(9, vec![sent(1, &["bob"], "x"), said, Event::ThreadResolved(resolved)]);
    let letter = conversation.letters().next().unwrap();
    assert_eq!(letter.receipts[0].note.as_deref(), Some("a\u{fffd}b \u{fffd}"));
    assert_eq!(letter.resolved.as_ref().unwrap().summary, "a\u{fffd}b \u{fffd}");
}

#[test]
fn who_resolves_a_thread_in_better_words_has_these_in_its_receipt() {
    let said = |status, note: &str| {
        let (ids, member) = (vec![id(1)], name("bob"));
        let note = Some(note.to_owned());
        Event::MessageAcknowledged(MessageAcknowledged { ids, member, status, note })
    };
    let ends = |by: &str, summary: &str| {
        let (threads, summary) = (vec![id(1)], summary.to_owned());
        Event::ThreadResolved(ThreadResolved { threads, by: name(by), summary })
    };
    let resolved = Acknowledgement::Resolved;
    let begun = || vec![sent(1, &["bob", "cay"], "x"), said(resolved, "one"), ends("bob", "one")];
    let noted = |more: Vec<Event>| {
        let conversation = folded(9, begun().into_iter().chain(more).collect());
        let letter = conversation.letters().next().unwrap().clone();
        let notes: Vec<_> = letter.receipts.iter().map(|one| one.note.clone()).collect();
        (notes, letter.receipts[0].acknowledged_at, letter.resolved.unwrap().summary)
    };
    let bob = |note: &str| vec![Some(note.to_owned()), None];
    assert_eq!(noted(Vec::new()), (bob("one"), Some(Moment(3)), "one".to_owned()));
    let better = vec![ends("bob", "two")];
    assert_eq!(noted(better), (bob("two"), Some(Moment(4)), "two".to_owned()));
}

#[test]
fn a_long_text_that_is_lost_says_why_and_shows_nothing() {
    struct Changed;
    impl Texts for Changed {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            None
        }
        fn long_text(&mut self, _: &Body) -> LongText {
            LongText::Changed("it is damaged".to_owned())
        }
    }
    let body = Body::Blob { id: uuid::Uuid::nil(), bytes: 9, sha256: None };
    let plain = MessageSent::plain(id(1), name("ann"), Audience::All, "x");
    let event = Event::MessageSent(MessageSent { body, ..plain });
    let entry = crate::view::tests::entry(1, event);
    let mut conversation = Conversation::new(9, 50);
    conversation.take(&entry, &State::default(), &mut Changed);
    let letter = conversation.letters().next().unwrap();
    assert_eq!((&letter.text, letter.lost.as_deref()), (&None, Some("it is damaged")));
    assert_eq!(letter.quoted_text(9), "(its text cannot be shown: it is damaged)");
}

#[test]
fn a_text_that_could_not_be_read_is_shown_once_it_can() {
    struct Mended {
        reads: usize,
        is_whole: bool,
    }
    impl Texts for Mended {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            None
        }
        fn long_text(&mut self, _: &Body) -> LongText {
            self.reads += 1;
            let there = if self.is_whole { Ok("hello") } else { Err("it is damaged") };
            there.map_or_else(
                |why| LongText::Changed(why.to_owned()),
                |text| LongText::Whole(text.to_owned()),
            )
        }
    }
    let body = Body::Blob { id: uuid::Uuid::nil(), bytes: 9, sha256: None };
    let plain = MessageSent::plain(id(1), name("ann"), Audience::All, "x");
    let event = Event::MessageSent(MessageSent { body, ..plain });
    let mut texts = Mended { reads: 0, is_whole: false };
    let mut conversation = Conversation::new(1, 50);
    conversation.take(&crate::view::tests::entry(1, event), &State::default(), &mut texts);
    let mut other = conversation.clone();
    for _ in 0..1_000 {
        assert!(!conversation.read_again(&mut texts));
    }
    assert!(texts.reads < 20, "{} reads in 1,000 looks", texts.reads);
    texts.is_whole = true;
    assert!(other.read_again(&mut texts), "the next look reads it");
    let letter = other.letters().next().unwrap();
    assert_eq!((letter.text.as_deref(), &letter.lost), (Some("hello"), &None));
    let reads = texts.reads;
    assert!(!other.read_again(&mut texts) && texts.reads == reads, "it is read once");
    // A message that is forgotten takes its text along.
    let later = crate::view::tests::entry(2, sent(2, &["bob"], "y"));
    conversation.take(&later, &State::default(), &mut texts);
    assert!((0..300).all(|_| !conversation.read_again(&mut texts)));
    assert_eq!(texts.reads, reads);
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
fn a_message_has_its_payload_and_of_a_long_one_the_length() {
    let with = |number, text: &str| {
        let payload = json!({ "context": { "project_id": text } });
        let more = Envelope { payload: payload.as_object().cloned(), ..Envelope::default() };
        let Event::MessageSent(sent) = sent(number, &["bob"], "x") else { unreachable!() };
        Event::MessageSent(MessageSent { more: Some(Box::new(more)), ..sent })
    };
    let long = "x".repeat(limits::SHOWN_PAYLOAD_BYTES);
    let events = vec![with(1, "proj-123"), with(2, &long), sent(3, &["bob"], "x")];
    let conversation = folded(9, events);
    let all: Vec<_> = conversation.letters().collect();
    let json = r#"{"context":{"project_id":"proj-123"}}"#;
    assert_eq!(serde_json::to_string(&all[0].payload).unwrap(), json);
    assert_eq!(all[0].payload_in_words().as_deref(), Some(json));
    let bytes = Some(long.len() as u64 + 29);
    assert_eq!((&all[1].payload, all[1].payload_bytes), (&None, bytes));
    assert_eq!((&all[2].payload, all[2].payload_in_words()), (&None, None));
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

/// A question of ann to the user.
fn asked_of_user() -> MessageSent {
    let more = Envelope { response_seconds: Some(300), ..Envelope::default() };
    let Event::MessageSent(asked) = sent(1, &[], "may I merge?") else { panic!("a message") };
    MessageSent { audience: Audience::Group(Group::Human), more: Some(Box::new(more)), ..asked }
}

/// Folds a question of ann to the user, and what came afterwards, each in the state of its own moment.
fn question(after: Vec<MessageSent>) -> (Option<UserQuestion>, Option<String>, Letter) {
    let mut state = State::default();
    joined(&mut state, 1, "ann");
    let mut conversation = Conversation::new(9, 50);
    let asked = asked_of_user();
    for (number, message) in (2..).zip([asked].into_iter().chain(after)) {
        let entry = crate::view::tests::entry(number, Event::MessageSent(message));
        state.apply(&entry, &[0], LogPosition::default());
        conversation.take(&entry, &state, &mut Inline);
    }
    let letter = conversation.letters().next().unwrap().clone();
    (letter.asks_you, letter.question_in_words(), letter)
}

fn reply(from: Author) -> MessageSent {
    let Event::MessageSent(reply) = sent(2, &["ann"], "yes") else { panic!("a message") };
    MessageSent { from, audience: Audience::One(name("ann")), reply_to: Some(id(1)), ..reply }
}

#[test]
fn a_question_to_the_user_says_how_to_answer_it_until_the_user_has() {
    let (status, words, letter) = question(Vec::new());
    let command = format!("open: cli-team-bridge send ann TEXT --reply-to {}", id(1));
    assert_eq!((status, words), (Some(UserQuestion::Open), Some(command)));
    assert_eq!(letter.fate_without_recipient(), "waits for you");

    let (status, _, _) = question(vec![reply(Author::Member(name("ben")))]);
    assert_eq!(status, Some(UserQuestion::Open), "ben was not asked");

    let (status, words, letter) = question(vec![reply(Author::Human)]);
    assert_eq!(
        (status, words),
        (Some(UserQuestion::Answered), Some(format!("answered in {}", id(2))))
    );
    assert_eq!(letter.fate_without_recipient(), "was for you");
    let plain = folded(9, vec![sent(1, &["bob"], "x")]);
    assert_eq!(plain.letters().next().unwrap().asks_you, None);
}

#[test]
fn a_question_to_the_user_is_open_as_long_as_its_asker_is_here() {
    let mut state = State::default();
    joined(&mut state, 1, "ann");
    let asked = asked_of_user();
    let left = Event::MemberLeft {
        session: SessionId(uuid::Uuid::from_u64_pair(0, 1)),
        departure: Departure::Closed,
        detail: None,
        alive_ms: None,
    };
    let mut conversation = Conversation::new(9, 50);
    let mut take = |state: &State, number, event| {
        conversation.take(&crate::view::tests::entry(number, event), state, &mut Inline);
        let letter = conversation.letters().next().unwrap();
        (letter.asks_you, conversation.is_settled(state))
    };
    let asked = Event::MessageSent(asked);
    state.apply(&crate::view::tests::entry(2, asked.clone()), &[0], LogPosition::default());
    assert_eq!(take(&state, 2, asked), (Some(UserQuestion::Open), true));
    state.apply(&crate::view::tests::entry(3, left.clone()), &[0], LogPosition::default());
    assert_eq!(take(&state, 3, left), (Some(UserQuestion::Over), true));

    joined(&mut state, 4, "ann");
    let back = Event::MemberJoined(crate::view::tests::joining(4, "ann"));
    assert_eq!(take(&state, 4, back), (Some(UserQuestion::Open), true), "she is back");
}

#[test]
fn the_message_that_decides_a_disagreement_says_so_whoever_wrote_it() {
    let wrote = |number, from: Author, signal: &'static str| {
        let more =
            Envelope { signal: Some(Signal::from(Cow::from(signal))), ..Envelope::default() };
        Event::MessageSent(MessageSent {
            from,
            more: Some(Box::new(more)),
            ..MessageSent::plain(id(number), name("ann"), Audience::All, "one log")
        })
    };
    let resolved = Event::ConflictResolved(ConflictResolved {
        thread: id(1),
        how: ConflictEnd::Decided,
        by: Author::Human,
        message: Some(id(2)),
    });
    let conversation = folded(
        9,
        vec![
            wrote(1, Author::Member(name("ann")), "disagree_with"),
            wrote(2, Author::Human, "relay"),
            wrote(3, Author::Human, "relay"),
            wrote(4, Author::Member(name("ann")), "question"),
            resolved,
        ],
    );
    let stands: Vec<_> = conversation.letters().map(Letter::shown_stand).collect();
    assert_eq!(stands, [Some("disagree_with"), Some("decision"), None, None]);
    let decided = conversation.letters().nth(1).unwrap();
    assert_eq!(decided.labels_in_brackets(), " (decision)");
}
