//! The events of a log of messages, and which of these are lost.

use super::{LostMessages, MessageEvent, MessageEvents};
use crate::bus::event::{
    Body, ConflictMoved, ConflictOpened, ConflictResolved, Envelope, Event, MessageAcknowledged,
    MessageSent, Position, RequestOpened, ThreadResolved,
};
use crate::bus::state::State;
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::member::Departure;
use crate::domain::messaging::{
    Acknowledgement, Audience, Author, ConflictEnd, ConflictStep, DeliveryMethod, MessageKind,
    Priority, Signal,
};
use crate::domain::name::Name;
use crate::view::tests::entry;
use crate::view::{Happenings, NoTexts};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn id(number: u64) -> MessageId {
    MessageId::from_bits(number)
}

fn session(number: u64) -> SessionId {
    SessionId(uuid::Uuid::from_u64_pair(1, number))
}

fn call(number: u64) -> CallId {
    CallId(uuid::Uuid::from_u64_pair(2, number))
}

/// A message of ann, which may answer an earlier one.
fn sent(number: u64, answers: Option<u64>) -> MessageSent {
    let to = Audience::One(name("ben"));
    MessageSent {
        to: vec![name("ben")].into(),
        reply_to: answers.map(id),
        thread: answers.map(id),
        ..MessageSent::plain(id(number), name("ann"), to, &format!("number {number}"))
    }
}

fn handed(number: u64, by: u64) -> Event {
    Event::MessageHanded {
        ids: vec![id(number)],
        member: name("ben"),
        session: session(1),
        call: call(by),
        method: DeliveryMethod::Pull,
    }
}

fn seen(by: u64) -> Event {
    Event::MessageSeen { session: session(1), call: call(by) }
}

fn returned(by: u64) -> Event {
    Event::MessageReturned { session: session(1), call: call(by) }
}

/// Returns what events say, each after the other.
fn told(events: Vec<Event>) -> Vec<MessageEvent> {
    let mut fold = MessageEvents::default();
    let state = State::default();
    let entries = (1..).zip(events).map(|(seq, event)| entry(seq, event));
    entries.flat_map(|entry| fold.of(&entry, &state, &mut NoTexts, &|_| false)).collect()
}

fn words(events: &[MessageEvent]) -> Vec<String> {
    let named = |party: &Option<super::EventParty>| {
        party.as_ref().map_or("-".to_owned(), |party| party.name.clone())
    };
    let words = |event: &MessageEvent| {
        let of = event.message_id.as_ref().or(event.conversation_id.as_ref());
        let number = (1..9).find(|number| of == Some(&id(*number).to_string())).unwrap_or_default();
        format!("{} {number} {}>{}", event.kind.as_str(), named(&event.from), named(&event.to))
    };
    events.iter().map(words).collect()
}

#[test]
fn a_message_is_sent_received_read_and_answered_and_begins_a_conversation() {
    let signal = Signal::parse("propose_approach").unwrap();
    let first = MessageSent {
        priority: Priority::High,
        more: Some(Box::new(Envelope { signal: Some(signal), ..Envelope::default() })),
        body: Body::Text("one log\nfor ".to_owned() + &"everything ".repeat(20)),
        ..sent(1, None)
    };
    let events = told(vec![
        Event::MessageSent(first),
        handed(1, 1),
        returned(1),
        handed(1, 2),
        seen(2),
        Event::MessageSent(MessageSent { kind: MessageKind::Response, ..sent(2, Some(1)) }),
    ]);
    assert_eq!(
        words(&events),
        [
            "conversation_started 1 ann>ben",
            "message_sent 1 ann>ben",
            "message_received 1 ->ben",
            "message_received 1 ->ben",
            "message_read 1 ->ben",
            "message_sent 2 ann>ben",
            "message_responded 1 ann>ben",
        ]
    );
    let first = &events[1];
    assert_eq!(
        (first.seq, first.action.as_deref(), first.priority.as_deref()),
        (1, Some("propose_approach"), Some("high"))
    );
    let preview = first.preview.as_deref().unwrap();
    assert!(preview.starts_with("one log for every"), "{preview}");
    assert!(preview.chars().count() <= 101, "{preview}");
    assert_eq!(events[2].status.as_deref(), Some("pull"));
    assert_eq!(events[6].response_id, Some(id(2).to_string()));
}

#[test]
fn reminders_questions_back_and_notices_answer_nothing_and_begin_no_conversation() {
    let question = Signal::parse("question").unwrap();
    let events = told(vec![
        Event::MessageSent(MessageSent { from: Author::Bridge, ..sent(1, None) }),
        Event::MessageSent(MessageSent { kind: MessageKind::Nudge, ..sent(2, Some(1)) }),
        Event::MessageSent(MessageSent { claimed_by: Some(name("ann")), ..sent(3, Some(1)) }),
        Event::MessageSent(MessageSent {
            more: Some(Box::new(Envelope { signal: Some(question), ..Envelope::default() })),
            ..sent(4, Some(1))
        }),
    ]);
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["message_sent"; 4]);
}

#[test]
fn requests_acknowledgements_ends_of_threads_and_disagreements_are_told() {
    let conflict = |to| Event::ConflictMoved(ConflictMoved { thread: id(1), to });
    let events = told(vec![
        Event::RequestOpened(RequestOpened {
            id: RequestId::from_bits(9),
            message: id(1),
            from: name("ann"),
            to: vec![name("ben")].into(),
            only: None,
            description: Body::Text("paint".to_owned()),
            context: None,
            nudge_ms: 1,
            ttl_ms: 1,
            lease_ms: None,
            urgency: None,
        }),
        handed(1, 1),
        Event::MessageAcknowledged(MessageAcknowledged {
            ids: vec![id(1)],
            member: name("ben"),
            status: Acknowledgement::Resolved,
            note: Some("done\u{202e}".to_owned()),
        }),
        seen(1),
        Event::ThreadResolved(ThreadResolved {
            threads: vec![id(1)],
            by: name("ben"),
            summary: "painted".to_owned(),
        }),
        Event::ConflictOpened(ConflictOpened {
            thread: id(1),
            parties: vec![
                Position { by: name("ben"), message: id(2) },
                Position { by: name("ann"), message: id(1) },
            ],
            about: Some("storage".to_owned()),
        }),
        conflict(ConflictStep::Round(2)),
        conflict(ConflictStep::Arbiter(name("cay"))),
        conflict(ConflictStep::Human),
        Event::ConflictResolved(ConflictResolved {
            thread: id(1),
            how: ConflictEnd::Decided,
            by: Author::Human,
            message: Some(id(3)),
        }),
    ]);
    assert_eq!(
        words(&events),
        [
            "conversation_started 1 ann>all",
            "message_sent 1 ann>all",
            "message_received 1 ->ben",
            "message_acknowledged 1 ->ben",
            "conversation_resolved 1 ben>-",
            "conflict_detected 2 ->-",
            "conflict_escalated 1 ->cay",
            "conflict_escalated 1 ->human",
            "conflict_resolved 3 human>-",
        ]
    );
    assert_eq!(events[0].request_id, Some(RequestId::from_bits(9).to_string()));
    assert_eq!(
        (events[3].status.as_deref(), events[3].summary.as_deref()),
        (Some("resolved"), Some("done\u{fffd}"))
    );
    let parties: Vec<_> = events[5].participants.iter().map(|one| one.name.as_str()).collect();
    assert_eq!((parties, events[5].topic.as_deref()), (vec!["ben", "ann"], Some("storage")));
    assert_eq!(events[8].status.as_deref(), Some("decided"));
}

#[test]
fn only_what_nobody_was_shown_is_lost() {
    let superseded = || Event::MessageSuperseded { id: id(1), members: vec![name("ben")].into() };
    let expired = || Event::MessageExpired { id: id(1), member: name("ben") };
    let to = |audience| Event::MessageSent(MessageSent { audience, ..sent(1, None) });
    let written = || to(Audience::One(name("ben")));
    let acknowledged = || {
        Event::MessageAcknowledged(MessageAcknowledged {
            ids: vec![id(1)],
            member: name("ben"),
            status: Acknowledgement::Acked,
            note: None,
        })
    };
    let left = || Event::MemberLeft {
        session: session(1),
        departure: Departure::Dead,
        detail: None,
        alive_ms: None,
    };
    let human = || Audience::Group(crate::domain::messaging::Group::Human);
    for (events, expected) in [
        (vec![written()], false),
        (vec![written(), superseded()], true),
        (vec![written(), expired()], true),
        (vec![written(), Event::MessageUnclaimed { id: id(1) }], true),
        (vec![written(), handed(1, 1), returned(1), expired()], true),
        (vec![written(), handed(1, 1), left(), expired()], true),
        (vec![written(), handed(1, 1), seen(1), superseded()], false),
        (vec![written(), handed(1, 1), superseded()], false),
        (vec![written(), superseded(), acknowledged()], false),
        // A proof that comes late counts, unless another call has carried the message since.
        (vec![written(), handed(1, 1), returned(1), seen(1), expired()], false),
        (
            vec![
                written(),
                handed(1, 1),
                returned(1),
                handed(1, 2),
                seen(1),
                returned(2),
                expired(),
            ],
            true,
        ),
        (vec![written(), handed(1, 1), returned(1), left(), seen(1), expired()], true),
        (vec![to(human()), superseded()], false),
    ] {
        let mut lost = LostMessages::default();
        for (seq, event) in (1..).zip(events.clone()) {
            lost.note(&entry(seq, event));
        }
        // The state has forgotten it.
        let is_lost = lost.lost(&State::default()).contains(&id(1));
        assert_eq!(is_lost, expected, "{events:?}");
    }
}

#[test]
fn what_is_lost_is_told_without_its_text() {
    let written = entry(1, Event::MessageSent(sent(1, None)));
    let state = State::default();
    let is_lost = |_: &MessageId| true;
    let told = MessageEvents::default().of(&written, &state, &mut NoTexts, &is_lost);
    assert!(told.iter().all(|event| event.preview.is_none()), "{told:?}");
    let said = Happenings::default().of_readable(&written, &state, &mut NoTexts, &is_lost);
    assert_eq!(said[0].words, "ann → ben: (taken back, or expired unread)");
}
