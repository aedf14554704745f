//! What counts as decided, and what it says.

use super::*;
use crate::bus::event::{
    Body, ConflictOpened, ConflictOverruled, ConflictResolved, Entry, Envelope, Event, MessageSent,
    PermissionAnswered, PermissionAsked, Position, Question, StepApproved, StepEnded,
    ThreadResolved,
};
use crate::bus::state::State;
use crate::bus::storage::LogPosition;
use crate::domain::ids::{CallId, MessageId, PermissionId, SessionId, WorkflowId};
use crate::domain::messaging::{
    Audience, Author, ConflictEnd, DeliveryMethod, Group, MessageKind, Priority, Signal,
    SignalClass,
};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};
use crate::domain::workflow::StepStatus;
use crate::view::NoTexts;
use crate::view::tests::{entry, joining};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn id(number: u64) -> MessageId {
    MessageId::from_bits(number)
}

fn member(text: &str) -> Author {
    Author::Member(name(text))
}

/// A message, and what it answers, in the thread of the message 1.
fn said(
    (number, reply_to): (u64, Option<u64>),
    (from, to): (Author, Audience),
    more: Envelope,
    text: &str,
) -> Event {
    let to_names = match &to {
        Audience::One(name) => vec![name.clone()],
        _ => Vec::new(),
    };
    Event::MessageSent(MessageSent {
        id: id(number),
        kind: MessageKind::Message,
        from,
        audience: to,
        to: to_names.into(),
        request: None,
        task: None,
        claimed_by: None,
        reply_to: reply_to.map(id),
        thread: reply_to.map(|_| id(1)),
        ends: Vec::new(),
        priority: Priority::Normal,
        quiet: false,
        more: Some(Box::new(more)),
        body: Body::Text(text.to_owned()),
    })
}

fn with(signal: &str) -> Envelope {
    Envelope { signal: Some(Signal::parse(signal).unwrap()), ..Envelope::default() }
}

fn plain() -> Envelope {
    Envelope::default()
}

/// Applies events, one an entry, and returns what has been decided with who did, the last first.
fn decided(events: Vec<Event>) -> Vec<Decided> {
    let (mut state, mut decisions) = (State::default(), Decisions::new(9));
    for (number, event) in (1..).zip(events) {
        let entry = Entry { ts: i64::try_from(number).unwrap(), ..entry(number, event) };
        state.apply(&entry, &[0], LogPosition::default());
        decisions.take(&entry, &state, &mut NoTexts);
    }
    decisions.all(&state, &mut NoTexts)
}

fn lines(events: Vec<Event>) -> Vec<String> {
    decided(events).iter().map(|row| format!("{}: {}", row.who(), row.what(200))).collect()
}

/// Ann proposes something, and Ben disagrees.
fn dispute() -> Vec<Event> {
    let position = |by: &str, number| Position { by: name(by), message: id(number) };
    vec![
        said((1, None), (member("ann"), Audience::One(name("ben"))), plain(), "One log?"),
        said(
            (2, Some(1)),
            (member("ben"), Audience::One(name("ann"))),
            with("disagree_with"),
            "Two logs.",
        ),
        Event::ConflictOpened(ConflictOpened {
            thread: id(1),
            parties: vec![position("ben", 2), position("ann", 1)],
            about: None,
        }),
    ]
}

fn ends(how: ConflictEnd, by: Author, message: u64) -> Event {
    Event::ConflictResolved(ConflictResolved { thread: id(1), how, by, message: Some(id(message)) })
}

#[test]
fn a_disagreement_ends_with_what_holds_and_what_it_was_about() {
    let mut events = dispute();
    events.push(ends(ConflictEnd::Agreed, member("ann"), 2));
    assert_eq!(lines(events), [r#"ann agreed with ben: "Two logs." (about "One log?")"#]);
    let mut lapsed = dispute();
    lapsed.push(Event::ConflictResolved(ConflictResolved {
        thread: id(1),
        how: ConflictEnd::Lapsed,
        by: Author::Bridge,
        message: None,
    }));
    assert_eq!(lines(lapsed), [""; 0]);
}

#[test]
fn the_word_of_the_user_takes_the_place_of_what_was_decided_before() {
    let mut events = dispute();
    let to_ann = || Audience::One(name("ann"));
    events.extend([
        said((3, Some(2)), (member("cat"), to_ann()), with("announce_decision"), "One log."),
        ends(ConflictEnd::Decided, member("cat"), 3),
    ]);
    let about = r#"(about "One log?")"#;
    assert_eq!(
        lines(events.clone()),
        [format!(r#"cat decided between ben and ann: "One log." {about}"#)]
    );
    events.extend([
        said((4, Some(2)), (Author::Human, to_ann()), with("announce_decision"), "No log."),
        Event::ConflictOverruled(ConflictOverruled { thread: id(1), message: id(4) }),
    ]);
    assert_eq!(
        lines(events),
        [format!(r#"the user decided between ben and ann: "No log." {about}"#)],
        "and each is listed once"
    );
}

#[test]
fn a_disagreement_that_ended_before_the_entries_is_known_from_the_state() {
    let mut state = State::default();
    let mut events = dispute();
    events.push(ends(ConflictEnd::Agreed, member("ann"), 2));
    for (number, event) in (1..).zip(events) {
        state.apply(&entry(number, event), &[0], LogPosition::default());
    }
    let rows = Decisions::new(9).all(&state, &mut NoTexts);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.who(), row.id.clone()), ("ann agreed with ben".to_owned(), id(2).to_string()));
    assert_eq!(row.what(50), "(its text cannot be read)");
}

#[test]
fn the_first_answer_to_a_question_of_the_user_is_a_decision_and_what_the_user_says_after_it_too() {
    let asks = Envelope { response_seconds: Some(60), ..plain() };
    let answer = |number, from: Author, text: &str| {
        said((number, Some(1)), (from, Audience::One(name("ann"))), plain(), text)
    };
    let events = vec![
        said((1, None), (member("ann"), Audience::Group(Group::Human)), asks, "May I merge?"),
        answer(2, member("ben"), "I would not."),
        answer(3, Author::Human, "Yes."),
        answer(4, member("ben"), "It is merged."),
        answer(5, Author::Human, "After lunch."),
    ];
    let rows = decided(events);
    let [changed, row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(changed.what(50), r#""After lunch." (about "May I merge?")"#);
    assert_eq!((&*changed.who(), changed.id.clone()), ("the user answered ann", id(5).to_string()));
    assert_eq!((&*row.who(), row.how), ("the user answered ann", DecidedHow::Answered));
    assert_eq!(row.what(50), r#""Yes." (about "May I merge?")"#);
    assert!(row.concerns("Ann") && row.is_from_human() && !row.concerns("ben"));
    assert_eq!(row.command(), format!("cli-team-bridge messages --thread {}", id(1)));
}

#[test]
fn a_decision_is_announced_and_a_thread_is_resolved_until_somebody_writes_in_it() {
    assert_eq!(with("announce_decision").signal.unwrap().class(), SignalClass::Decision);
    let resolved = || {
        Event::ThreadResolved(ThreadResolved {
            threads: vec![id(1)],
            by: name("ben"),
            summary: "We take\nthe new parser.".to_owned(),
        })
    };
    let mut events = vec![
        said((1, None), (member("ann"), Audience::All), with("announce_decision"), "Tabs."),
        resolved(),
    ];
    assert_eq!(
        lines(events.clone()),
        [
            r#"ben resolved with ann: "We take the new parser." (about "Tabs.")"#,
            r#"ann announced to all: "Tabs.""#
        ]
    );
    events.push(said((2, Some(1)), (member("cat"), Audience::All), plain(), "And makefiles?"));
    assert_eq!(lines(events), [r#"ann announced to all: "Tabs.""#]);
}

/// Ben, cat and dan are there when ann announces something to all. Ben's session has it in hands if `is_seen`, and it is proven.
fn announced_to_three(is_seen: bool) -> Vec<Event> {
    let mut events: Vec<_> = (1..)
        .zip(["ben", "cat", "dan"])
        .map(|(number, name)| Event::MemberJoined(joining(number, name)))
        .collect();
    let text = with("announce_decision");
    let mut sent = said((1, None), (member("ann"), Audience::All), text, "Tabs.");
    if let Event::MessageSent(sent) = &mut sent {
        sent.to = vec![name("ben"), name("cat"), name("dan")].into();
    }
    events.push(sent);
    if is_seen {
        let (session, call) = (SessionId(uuid::Uuid::from_u128(1)), CallId(uuid::Uuid::nil()));
        let method = DeliveryMethod::Pull;
        let (ids, member) = (vec![id(1)], name("ben"));
        events.push(Event::MessageHanded { ids, member, session, call, method });
        events.push(Event::MessageSeen { session, call });
    }
    events
}

fn expires_for(who: &str) -> Event {
    Event::MessageExpired { id: id(1), member: name(who) }
}

#[test]
fn an_announced_decision_holds_when_one_who_has_not_seen_it_goes() {
    let mut events = announced_to_three(true);
    let expected = [r#"ann announced to all: "Tabs.""#];
    events.push(expires_for("cat"));
    assert_eq!(lines(events.clone()), expected);
    events.push(expires_for("dan"));
    assert_eq!(lines(events), expected, "ben has seen it");
}

#[test]
fn an_announced_decision_that_nobody_has_seen_or_will_see_is_none() {
    let mut events = announced_to_three(false);
    events.extend([expires_for("ben"), expires_for("cat")]);
    assert_eq!(lines(events.clone()).len(), 1, "dan may still read it");
    events.push(expires_for("dan"));
    assert_eq!(lines(events), [""; 0]);
}

#[test]
fn an_announced_decision_ends_when_its_sender_puts_another_in_its_place() {
    let instead = |from| {
        let more = Envelope { supersedes: Some(id(1)), ..with("announce_decision") };
        said((2, None), (member(from), Audience::All), more, "Spaces.")
    };
    let mut events = announced_to_three(true);
    events.push(instead("ann"));
    assert_eq!(lines(events), [r#"ann announced to all: "Spaces.""#]);
    let mut events = announced_to_three(true);
    events.push(instead("cat"));
    assert_eq!(lines(events).len(), 2, "it is not cat's to take back");
}

#[test]
fn a_step_that_was_refused_in_the_client_of_an_orchestrator_says_where() {
    let lead = SessionId(uuid::Uuid::from_u128(1));
    let refused = |by| {
        let mut state = State::default();
        let mut decisions = Decisions::new(9);
        let ended = Event::StepEnded(StepEnded {
            workflow: WorkflowId::from_bits(1),
            step: name("ship"),
            status: StepStatus::Cancelled,
            why: Some("refused by the user".to_owned()),
        });
        let joined = entry(1, Event::MemberJoined(joining(1, "lead")));
        for entry in [joined, Entry { by, ..entry(2, ended) }] {
            state.apply(&entry, &[0], LogPosition::default());
            decisions.take(&entry, &state, &mut NoTexts);
        }
        let row = decisions.all(&state, &mut NoTexts).remove(0);
        format!("{}: {}", row.who(), row.what(50))
    };
    assert_eq!(refused(Some(lead)), "the user (in lead) denied: step ship");
    assert_eq!(refused(None), "the user denied: step ship");
}

#[test]
fn what_a_person_decides_and_what_nobody_answers_counts_and_what_a_rule_decides_does_not() {
    let asked = |number| {
        Event::PermissionAsked(PermissionAsked {
            id: PermissionId::from_bits(number),
            question: Question {
                session: SessionId(uuid::Uuid::nil()),
                agent: name("ann"),
                task: None,
                kind: "execute".to_owned(),
                title: "make clean".to_owned(),
                paths: Vec::new(),
            },
            offers: Vec::new(),
            timeout_ms: 1,
        })
    };
    let answered = |number, (by, through): (Decider, Option<&str>), decision| {
        Event::PermissionAnswered(PermissionAnswered {
            id: PermissionId::from_bits(number),
            decision,
            by,
            name: through.map(name),
            question: None,
            times: None,
            lasts: false,
        })
    };
    let events = vec![
        asked(1),
        answered(1, (Decider::Human, None), Decision::AllowAlways),
        asked(2),
        answered(2, (Decider::Policy, None), Decision::AllowOnce),
        asked(3),
        answered(3, (Decider::Deadline, None), Decision::Reject),
        asked(4),
        answered(4, (Decider::Human, Some("lead")), Decision::Reject),
        Event::StepApproved(StepApproved {
            workflow: WorkflowId::from_bits(1),
            step: name("deploy"),
            by: name("lead"),
            human: true,
        }),
        Event::StepEnded(StepEnded {
            workflow: WorkflowId::from_bits(1),
            step: name("ship"),
            status: StepStatus::Cancelled,
            why: Some("refused by the user: not on a Friday".to_owned()),
        }),
        Event::StepEnded(StepEnded {
            workflow: WorkflowId::from_bits(1),
            step: name("skipped"),
            status: StepStatus::Cancelled,
            why: Some("cancelled".to_owned()),
        }),
    ];
    assert_eq!(
        lines(events),
        [
            r#"the user denied: step ship ("not on a Friday")"#,
            "the user approved: step deploy",
            r#"the user (in lead) denied ann: execute "make clean""#,
            r#"bridge denied ann: execute "make clean" (nobody answered in time)"#,
            r#"the user allowed ann: from now on: execute "make clean""#
        ]
    );
}
