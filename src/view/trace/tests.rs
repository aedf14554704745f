//! Traces of logs that are made up.

use std::collections::BTreeMap;

use super::*;
use crate::bus::event::{
    Addressees, Body, BodyRef, ConflictMoved, ConflictOpened, ConflictResolved, Entry, Envelope,
    Event, MessageAcknowledged, MessageRelayed, MessageSent, Position, RequestOpened,
    ThreadResolved,
};
use crate::bus::state::State;
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::member::Departure;
use crate::domain::messaging::{
    Acknowledgement, Audience, Author, ConflictEnd, ConflictStep, DeliveryMethod, ReceiptElsewhere,
    Signal, StateElsewhere,
};
use crate::domain::name::Name;
use crate::domain::text::content_hash::ContentHash;
use crate::view::tests::entry;
use crate::view::{LongText, Texts};

/// Texts beside the log.
#[derive(Default)]
struct Files(BTreeMap<u64, &'static str>);

impl Texts for Files {
    fn text(&mut self, _: BodyRef) -> Option<String> {
        None
    }

    fn long_text(&mut self, body: &Body) -> LongText {
        let Body::Blob { id, .. } = body else { return LongText::Unreadable };
        match self.0.get(&id.as_u64_pair().1) {
            Some(&"taxt") => LongText::Changed("changed".to_owned()),
            Some(text) => LongText::Whole((*text).to_owned()),
            None => LongText::Missing("gone".to_owned()),
        }
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn id(number: u64) -> MessageId {
    MessageId::from_bits(number)
}

fn req() -> RequestId {
    RequestId::from_bits(77)
}

fn session(number: u64) -> SessionId {
    SessionId(uuid::Uuid::from_u64_pair(0, number))
}

fn call(number: u64) -> CallId {
    CallId(uuid::Uuid::from_u64_pair(1, number))
}

/// A message from ann to ben.
fn message(number: u64, thread: Option<u64>) -> MessageSent {
    MessageSent {
        to: vec![name("ben")].into(),
        reply_to: thread.map(id),
        thread: thread.map(id),
        ..MessageSent::plain(id(number), name("ann"), Audience::One(name("ben")), "a\nplan")
    }
}

fn opened(number: u64) -> Event {
    Event::RequestOpened(RequestOpened {
        id: req(),
        message: id(number),
        from: name("ann"),
        to: vec![name("ben")].into(),
        only: None,
        description: Body::Text("do it".to_owned()),
        context: Some(Body::Text("with care".to_owned())),
        nudge_ms: 1,
        ttl_ms: 60_000,
        lease_ms: None,
        urgency: None,
    })
}

fn handed(number: u64, carrier: (u64, u64), method: DeliveryMethod) -> Event {
    let (of, by) = (session(carrier.0), call(carrier.1));
    Event::MessageHanded {
        ids: vec![id(number)],
        member: name("ben"),
        session: of,
        call: by,
        method,
    }
}

fn left(number: u64) -> Event {
    let departure = Departure::Dead;
    Event::MemberLeft { session: session(number), departure, detail: None, alive_ms: None }
}

/// Makes entries of these appends, a second apart.
fn entries(appends: Vec<Vec<Event>>) -> Vec<Entry> {
    let mut seq = 1;
    let mut made = Vec::new();
    for (events, at) in appends.into_iter().zip(0..) {
        let first = entry(seq, events[0].clone());
        seq += events.len() as u64;
        made.push(Entry { ts: at * 1_000, events, ..first });
    }
    made
}

fn scope_of(asked: &str, entries: &[Entry]) -> TraceScope {
    let mut scope = TraceScope::of(TraceId::parse(asked).unwrap());
    while entries.iter().any(|entry| scope.learn(entry)) {}
    scope
}

fn trace_with(asked: &str, appends: Vec<Vec<Event>>, files: &mut Files) -> Trace {
    let entries = entries(appends);
    let scope = scope_of(asked, &entries);
    let mut fold = TraceFold::of(&scope);
    for entry in &entries {
        fold.take(entry, &State::default(), files);
    }
    fold.traced_exchange()
}

fn trace(asked: &str, events: Vec<Event>) -> Trace {
    let appends = events.into_iter().map(|event| vec![event]).collect();
    trace_with(asked, appends, &mut Files::default())
}

fn ids(trace: &Trace) -> Vec<String> {
    trace.nodes.iter().map(|node| node.id.clone()).collect()
}

fn receipts(trace: &Trace) -> Vec<String> {
    let receipts = trace
        .nodes
        .iter()
        .flat_map(|node| node.receipts.iter().map(|receipt| receipt.in_words(node.timestamp)));
    receipts.collect()
}

fn steps(trace: &Trace) -> Vec<String> {
    trace.steps.iter().map(TraceStep::in_words).collect()
}

#[test]
fn any_message_of_a_thread_names_all_of_it_and_nothing_else() {
    let events = || {
        [message(1, None), message(2, Some(1)), message(3, None), message(4, Some(1))]
            .map(Event::MessageSent)
            .to_vec()
    };
    let expected = [1, 2, 4].map(|number| id(number).to_string());
    for asked in [1, 2, 4] {
        let trace = trace(&id(asked).to_string(), events());
        assert_eq!(ids(&trace), expected, "{asked}");
        assert_eq!(trace.thread_id.as_deref(), Some(&*expected[0]));
        let edge = |number: u64, kind| TraceEdge {
            from: expected[0].clone(),
            to: id(number).to_string(),
            kind,
        };
        let both = |number| [edge(number, EdgeKind::Response), edge(number, EdgeKind::Thread)];
        assert_eq!(trace.edges, [both(2), both(4)].concat());
        assert_eq!(trace.missing, Vec::<String>::new());
    }
    assert_eq!(ids(&trace(&id(3).to_string(), events())), [id(3).to_string()]);
}

#[test]
fn a_request_is_traced_by_its_id_its_message_or_a_message_about_it() {
    let notice = MessageSent { request: Some(req()), thread: None, ..message(3, None) };
    let answer = MessageSent { request: Some(req()), ..message(4, Some(2)) };
    let events = || {
        vec![
            Event::MessageSent(message(1, None)),
            opened(2),
            Event::MessageSent(notice.clone()),
            Event::MessageSent(answer.clone()),
        ]
    };
    for asked in [req().to_string(), id(2).to_string(), id(4).to_string()] {
        let trace = trace(&asked, events());
        assert_eq!(ids(&trace), [2, 3, 4].map(|number| id(number).to_string()), "{asked}");
        assert_eq!(trace.requests, [req().to_string()]);
        assert_eq!(trace.nodes[0].texts.len(), 2, "its description and its context");
        assert_eq!(steps(&trace), ["opened by ann, for all"]);
    }
}

#[test]
fn a_message_to_another_project_waits_and_is_then_there() {
    let to_web = Event::MessageSent(MessageSent {
        audience: Audience::try_from(std::borrow::Cow::from("web:alice")).unwrap(),
        to: Vec::new().into(),
        more: Some(Box::new(Envelope { queue: true, ..Envelope::default() })),
        ..message(1, None)
    });
    let asked = id(1).to_string();
    let waiting = trace(&asked, vec![to_web.clone()]).nodes.remove(0);
    assert!(waiting.waits && waiting.receipts.is_empty());
    let given_up = vec![to_web.clone(), Event::MessageUnclaimed { id: id(1) }];
    let given_up = trace(&asked, given_up).nodes.remove(0);
    assert!(given_up.undelivered && !given_up.waits);
    let relayed = |state| {
        let note = (state == StateElsewhere::Resolved).then(|| "it is done".to_owned());
        let receipts =
            vec![ReceiptElsewhere { note, ..ReceiptElsewhere::of(name("alice"), state) }];
        Event::MessageRelayed(MessageRelayed { id: id(1), there: id(7), receipts })
    };
    let states = [StateElsewhere::Unread, StateElsewhere::Seen, StateElsewhere::Resolved];
    let events = [to_web].into_iter().chain(states.map(relayed)).collect();
    let there = trace(&asked, events).nodes.remove(0);
    assert!(!there.waits);
    assert_eq!(there.there, Some(id(7).to_string()));
    let [receipt] = &there.receipts[..] else { panic!("{:?}", there.receipts) };
    assert_eq!((&*receipt.member, receipt.status), ("web:alice", Progress::Resolved));
    let notes: Vec<_> = receipt.steps.iter().map(|step| step.note.as_deref()).collect();
    assert_eq!(notes, [None, None, Some("it is done")]);
}

#[test]
fn what_a_person_says_has_no_signal_as_in_the_list_of_messages() {
    let labels = |word: &'static str| {
        let signal = Some(Signal::from(std::borrow::Cow::from(word)));
        let more = Some(Box::new(Envelope { signal, ..Envelope::default() }));
        let said = MessageSent { from: Author::Human, more, ..message(1, None) };
        let said = trace(&id(1).to_string(), vec![Event::MessageSent(said)]).nodes.remove(0);
        (said.labels().join(", "), said.action)
    };
    assert_eq!(labels("relay"), (String::new(), "relay".to_owned()));
    assert_eq!(labels("question"), ("question".to_owned(), "question".to_owned()));
}

#[test]
fn each_step_of_a_receipt_has_its_way_and_its_time() {
    let acked = Event::MessageAcknowledged(MessageAcknowledged {
        ids: vec![id(1)],
        member: name("ben"),
        status: Acknowledgement::Acked,
        note: Some("on\nit\u{202e}".to_owned()),
    });
    let resolved = Event::MessageAcknowledged(MessageAcknowledged {
        ids: vec![id(1)],
        member: name("ben"),
        status: Acknowledgement::Resolved,
        note: None,
    });
    let trace = trace(
        &id(1).to_string(),
        vec![
            Event::MessageSent(message(1, None)),
            handed(1, (5, 1), DeliveryMethod::Steer),
            Event::MessageReturned { session: session(5), call: call(1) },
            handed(1, (5, 2), DeliveryMethod::Pull),
            Event::MessageSeen { session: session(5), call: call(2) },
            Event::MessageReturned { session: session(5), call: call(2) },
            acked,
            resolved,
        ],
    );
    assert_eq!(
        receipts(&trace),
        [
            "ben: stored, handed by steer after 1.0 s, unread again after 2.0 s, handed by pull after \
          3.0 s, seen after 4.0 s, acked after 6.0 s: \"on it\u{fffd}\", resolved after 7.0 s"
        ]
    );
    assert_eq!(trace.nodes[0].receipts[0].status, Progress::Resolved);
}

#[test]
fn what_a_call_proves_late_is_seen_and_what_a_session_leaves_is_unread_again() {
    let sent = || Event::MessageSent(message(1, None));
    let late = vec![
        sent(),
        handed(1, (5, 1), DeliveryMethod::Pull),
        Event::MessageReturned { session: session(5), call: call(1) },
        Event::MessageSeen { session: session(5), call: call(1) },
    ];
    let trace_of = |events| receipts(&trace(&id(1).to_string(), events)).remove(0);
    assert!(trace_of(late).ends_with("unread again after 2.0 s, seen after 3.0 s"));
    let gone = vec![sent(), handed(1, (5, 1), DeliveryMethod::Pull), left(6), left(5)];
    assert!(trace_of(gone).ends_with("handed by pull after 1.0 s, unread again after 3.0 s"));
}

#[test]
fn what_was_taken_back_or_expired_unread_is_named_as_such() {
    let first = || Event::MessageSent(message(1, None));
    let supersedes = Some(id(1));
    let more = Some(Box::new(Envelope { supersedes, ..Envelope::default() }));
    let next = Event::MessageSent(MessageSent { more, ..message(2, None) });
    let taken = Event::MessageSuperseded { id: id(1), members: vec![name("ben")].into() };
    let said = |events: Vec<Vec<Event>>| {
        receipts(&trace_with(&id(1).to_string(), events, &mut Files::default())).remove(0)
    };
    assert_eq!(
        said(vec![vec![first()], vec![taken.clone(), next]]),
        format!("ben: stored, withdrawn after 1.0 s ({} takes its place)", id(2))
    );
    let claimed = Event::RequestClaimed { id: req(), by: name("cay"), session: session(6) };
    let all = Event::MessageSuperseded { id: id(1), members: Addressees::AllBut(Vec::new()) };
    assert_eq!(
        said(vec![vec![opened(1)], vec![claimed, all]]),
        "ben: stored, withdrawn after 1.0 s (cay has the request)"
    );
    let more = Some(Box::new(Envelope { ttl_seconds: Some(1), ..Envelope::default() }));
    let brief = Event::MessageSent(MessageSent { more, ..message(1, None) });
    let expired = Event::MessageExpired { id: id(1), member: name("ben") };
    assert_eq!(
        said(vec![vec![brief], vec![expired.clone()]]),
        "ben: stored, expired after 1.0 s (unseen within 1 s)"
    );
    assert_eq!(
        said(vec![vec![first()], vec![left(5), expired]]),
        "ben: stored, expired after 1.0 s (the recipient is gone)"
    );
}

#[test]
fn a_text_in_a_file_is_checked_against_the_hash_in_the_log() {
    let with = |file: u64, sha256: Option<&str>| {
        let body = Body::Blob {
            id: uuid::Uuid::from_u64_pair(9, file),
            bytes: 4,
            sha256: sha256.map(ContentHash::of),
        };
        vec![vec![Event::MessageSent(MessageSent { body, ..message(1, None) })]]
    };
    let mut files = Files(BTreeMap::from([(1, "text"), (2, "taxt")]));
    let mut check = |file, sha256, expected| {
        let trace = trace_with(&id(1).to_string(), with(file, sha256), &mut files);
        let text = &trace.nodes[0].texts[0];
        assert_eq!(text.file_is, Some(expected), "{file}");
        assert_eq!(text.sha256, sha256.map(|text| ContentHash::of(text).into()));
        let TraceMessage { text, lost, .. } = &trace.nodes[0];
        (text.clone(), lost.clone())
    };
    let (whole, lost) = (|| Some("text".to_owned()), |why: &str| Some(why.to_owned()));
    assert_eq!(check(1, Some("text"), TextProof::Matches), (whole(), None));
    assert_eq!(check(2, Some("text"), TextProof::DoesNotMatch), (None, lost("changed")));
    assert_eq!(check(4, Some("text"), TextProof::Missing), (None, lost("gone")));
    assert_eq!(check(1, None, TextProof::Unproven), (whole(), None));
    let inline = trace(&id(1).to_string(), vec![Event::MessageSent(message(1, None))]);
    let text = &inline.nodes[0].texts[0];
    assert_eq!((text.file_is, &text.file, text.bytes), (None, &None, 6));
    assert_eq!(text.sha256, Some(ContentHash::of("a\nplan").into()));
}

#[test]
fn a_request_says_who_had_it_and_why_no_longer() {
    let claimed = |by: &str, number| Event::RequestClaimed {
        id: req(),
        by: name(by),
        session: session(number),
    };
    let reopened =
        |lost_owners, released| Event::RequestReopened { id: req(), lost_owners, released };
    let handed_over = Event::RequestHandedOver {
        id: req(),
        by: name("ben"),
        to: name("cay"),
        session: session(6),
    };
    let appends = vec![
        vec![opened(1)],
        vec![claimed("ben", 5)],
        vec![Event::RequestRenewed { id: req(), left_ms: 1 }],
        vec![Event::RequestReminded { id: req() }],
        vec![reopened(1, false)],
        vec![claimed("ben", 5), reopened(1, true)],
        vec![claimed("ben", 5), reopened(0, false)],
        vec![claimed("ben", 5), handed_over],
        vec![left(6), reopened(2, false)],
        vec![claimed("ben", 5)],
        vec![Event::RequestCompleted { id: req(), message: id(9) }],
    ];
    let trace = trace_with(&req().to_string(), appends, &mut Files::default());
    assert_eq!(
        steps(&trace),
        [
            "opened by ann, for all",
            "claimed by ben",
            "its lease runs on, from its owner's last sign",
            "its owner is silent and was reminded",
            "lapsed, and open again: ben gave no sign in the time of its lease",
            "claimed by ben",
            "released, and open again",
            "claimed by ben",
            "lapsed, and open again: ben may not have received the answer to its claim",
            "claimed by ben",
            "handed over by ben to cay",
            "lapsed, and open again: cay has left",
            "claimed by ben",
            &format!("completed by ben with {}", id(9)),
        ]
    );
}

#[test]
fn a_disagreement_and_the_end_of_a_thread_are_steps() {
    let thread = id(1);
    let party = |by: &str, number| Position { by: name(by), message: id(number) };
    let moved = |to| Event::ConflictMoved(ConflictMoved { thread: id(1), to });
    let opened = |thread: MessageId| {
        let parties = vec![party("ben", 2), party("ann", 1)];
        Event::ConflictOpened(ConflictOpened { thread, parties, about: None })
    };
    let trace = trace(
        &thread.to_string(),
        vec![
            Event::MessageSent(message(1, None)),
            opened(id(8)),
            opened(thread.clone()),
            moved(ConflictStep::Round(2)),
            moved(ConflictStep::Arbiter(name("cay"))),
            moved(ConflictStep::Human),
            Event::ConflictResolved(ConflictResolved {
                thread: thread.clone(),
                how: ConflictEnd::Decided,
                by: Author::Human,
                message: Some(id(3)),
            }),
            Event::ThreadResolved(ThreadResolved {
                threads: vec![thread],
                by: name("ben"),
                summary: "we\ndo it".to_owned(),
            }),
        ],
    );
    assert_eq!(
        steps(&trace),
        [
            "ben and ann disagree",
            "round 2 of the disagreement",
            "cay is asked to decide the disagreement",
            "the user is asked to decide the disagreement",
            &format!("the disagreement is decided by the user with {}", id(3)),
            "its thread is resolved by ben: \"we do it\"",
        ]
    );
}

#[test]
fn what_was_removed_from_the_log_is_named_where_something_still_names_it() {
    let rest = trace(&id(1).to_string(), vec![Event::MessageSent(message(2, Some(1)))]);
    assert_eq!(ids(&rest), [id(2).to_string()]);
    assert_eq!((rest.missing, rest.edges), (vec![id(1).to_string()], Vec::new()));
    let acked = Event::MessageAcknowledged(MessageAcknowledged {
        ids: vec![id(1)],
        member: name("ben"),
        status: Acknowledgement::Acked,
        note: None,
    });
    let scope = scope_of(&id(1).to_string(), &entries(vec![vec![acked]]));
    assert_eq!((scope.is_found(), scope.is_named()), (false, true));
    let scope = scope_of(&id(2).to_string(), &entries(vec![vec![opened(1)]]));
    assert_eq!((scope.is_found(), scope.is_named()), (false, false));
}

#[test]
fn an_id_of_something_else_is_told_what_shows_it() {
    let error = |text: &str| TraceId::parse(text).unwrap_err().to_string();
    assert_eq!(TraceId::parse(" req-k3j7x2abq5wt ").unwrap().to_string(), "req-k3j7x2abq5wt");
    assert!(error("task-k3j7x2abq5wt").contains("`cli-team-bridge task task-k3j7x2abq5wt`"));
    assert!(error("wf-k3j7x2abq5wt").contains("log --thread wf-k3j7x2abq5wt"));
    assert!(error("perm-k3j7x2abq5wt").contains("log --thread perm-"));
    for wrong in ["", "s7", "ann", "msg-", "msg-\u{1b}[2J", "MSG-k3j7x2abq5wt"] {
        assert!(error(wrong).contains("is no id of a message or of a request"), "{wrong}");
    }
}
