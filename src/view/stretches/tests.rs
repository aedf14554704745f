//! When members worked, read their messages and waited.

use super::*;
use crate::bus::event::{
    Body, Finished, Joined, LogPosition, PermissionAnswered, PermissionAsked, Question,
    TaskAssigned, TaskReport,
};
use crate::domain::ids::CommandId;
use crate::domain::member::MemberKind;
use crate::domain::messaging::Priority;
use crate::domain::permission::{Decider, Decision};
use crate::domain::task::TaskStatus;
use crate::domain::time::Tick;
use crate::view::NoTexts;

const ANN: SessionId = SessionId(uuid::Uuid::nil());

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn call(number: u64) -> CallId {
    CallId(uuid::Uuid::from_u64_pair(1, number))
}

fn waits(number: u64, from: Option<&str>) -> Event {
    Event::WaitStarted {
        session: ANN,
        call: call(number),
        from: from.map(name),
        request: None,
        reply_to: None,
        timeout_ms: 1,
    }
}

/// Folds events, each a millisecond after the one before, in a team whose only member is ann.
fn folded(most: usize, events: Vec<Event>) -> Vec<(StretchKind, i64, Option<i64>)> {
    let mut state = State::default();
    let mut stretches = Stretches::new(most);
    let joined = Event::MemberJoined(Joined {
        session: ANN,
        name: name("ann"),
        chosen: true,
        kind: MemberKind::Peer,
        model: None,
        roles: Vec::new(),
        pid: 1,
        client: None,
    });
    for (number, event) in (0..).zip([joined].into_iter().chain(events)) {
        let entry = Entry {
            seq: number + 1,
            ts: i64::try_from(number).unwrap(),
            tick: Tick { boot: 1, ms: number },
            id: CommandId(uuid::Uuid::from_u64_pair(0, number)),
            by: None,
            events: vec![event],
        };
        if number == 0 {
            state.apply(&entry, &[0], LogPosition::default());
        }
        stretches.take(&entry, &state, &mut NoTexts);
    }
    let all = stretches.all().into_iter();
    all.map(|one| (one.kind, one.from.0, one.until.map(|until| until.0))).collect()
}

#[test]
fn a_wait_ends_with_its_message_or_without_one() {
    let handed = Event::MessageHanded {
        ids: Vec::new(),
        member: name("ann"),
        session: ANN,
        call: call(1),
        method: DeliveryMethod::Pull,
    };
    let ended = Event::WaitEnded { session: ANN, call: call(2) };
    let ben = || StretchKind::Wait { whom: Some("ben".to_owned()), for_user: false };
    let all = folded(
        9,
        vec![waits(1, Some("ben")), handed, waits(2, None), ended, waits(3, Some("ben"))],
    );
    let anybody = StretchKind::Wait { whom: None, for_user: false };
    assert_eq!(all, [(ben(), 1, Some(2)), (anybody, 3, Some(4)), (ben(), 5, None)]);
}

#[test]
fn a_turn_without_a_task_is_a_stretch_of_its_own() {
    let handed = Event::MessageHanded {
        ids: Vec::new(),
        member: name("ann"),
        session: ANN,
        call: call(7),
        method: DeliveryMethod::Prompt,
    };
    let rests = Event::MemberActivity { session: ANN, activity: Activity::Idle };
    let transcript = TaskId::of_turn_by(call(7)).to_string();
    let reading = StretchKind::Reading { transcript };
    assert_eq!(folded(9, vec![handed, rests]), [(reading, 1, Some(2))]);
}

#[test]
fn a_turn_for_messages_that_ends_halfway_says_so() {
    struct Failed(bool);
    impl Texts for Failed {
        fn text(&mut self, _: crate::bus::event::BodyRef) -> Option<String> {
            None
        }
        fn last_of_transcript(&mut self, _: &TaskId) -> Option<String> {
            let end = r#"{"kind":"end","error":"429 Too Many Requests"}"#;
            self.0.then(|| end.to_owned())
        }
    }
    let (session, id) = (session(), TaskId::from_bits(1));
    let handed = || Event::MessageHanded {
        ids: Vec::new(),
        member: name("ann"),
        session,
        call: call(7),
        method: DeliveryMethod::Prompt,
    };
    let seen = || Event::MessageSeen { session, call: call(7) };
    let returned = || Event::MessageReturned { session, call: call(7) };
    let rests = || Event::MemberActivity { session, activity: Activity::Idle };
    let left = |departure| Event::MemberLeft { session, departure, detail: None, alive_ms: None };
    let ended = |has_failed: bool, events: Vec<Vec<Event>>| {
        let before = [vec![assigned(&id)], vec![handed()]];
        let all = of_entries(&mut Failed(has_failed), before.into_iter().chain(events));
        let of_reading = |one: &&Stretch| matches!(one.kind, StretchKind::Reading { .. });
        all.iter().find(of_reading).unwrap().ended
    };
    assert_eq!(ended(false, vec![vec![seen()], vec![rests()]]), None);
    assert_eq!(ended(true, vec![vec![seen()], vec![rests()]]), Some(CUT_SHORT));
    assert_eq!(ended(true, vec![vec![returned()], vec![rests()]]), Some(REFUSED));
    assert_eq!(ended(false, vec![vec![returned()], vec![rests()]]), Some(NOT_TAKEN));
    // A task may begin at once.
    let begins = || vec![Event::TaskStarted { id: id.clone() }];
    assert_eq!(ended(true, vec![vec![returned()], begins()]), Some(REFUSED));
    assert_eq!(ended(true, vec![vec![seen()], begins()]), Some(CUT_SHORT));
    // So may the agent leave.
    let stopped = || vec![left(Departure::Stopped)];
    assert_eq!(ended(false, vec![stopped()]), Some(NOT_TAKEN));
    assert_eq!(ended(false, vec![vec![seen()], stopped()]), None);
    assert_eq!(ended(false, vec![vec![left(Departure::Dead)]]), Some(DIED));
}

#[test]
fn whoever_leaves_waits_no_more_and_old_stretches_are_forgotten() {
    let left = Event::MemberLeft {
        session: ANN,
        departure: Departure::Closed,
        detail: None,
        alive_ms: None,
    };
    let all = folded(2, vec![waits(1, None), waits(2, None), waits(3, None), left]);
    let kinds: Vec<_> = all.into_iter().map(|(_, from, until)| (from, until)).collect();
    assert_eq!(kinds, [(1, Some(4)), (2, Some(4))]);
}

/// The session of ann in the tests of tasks.
fn session() -> SessionId {
    SessionId(uuid::Uuid::from_u64_pair(0, 1))
}

fn assigned(id: &TaskId) -> Event {
    Event::TaskAssigned(TaskAssigned {
        id: id.clone(),
        session: session(),
        agent: name("ann"),
        by: name("ben"),
        prompt: Body::Text("go".to_owned()),
        model: None,
        fresh: false,
        permissions: None,
        workflow: None,
        priority: Priority::Normal,
    })
}

/// Folds entries of these events in a team whose only member is ann.
fn of_entries(texts: &mut dyn Texts, all: impl IntoIterator<Item = Vec<Event>>) -> Vec<Stretch> {
    let mut state = State::default();
    crate::view::tests::joined(&mut state, 1, "ann");
    let mut stretches = Stretches::new(9);
    for (number, events) in (2..).zip(all) {
        let first = crate::view::tests::entry(number, events[0].clone());
        let entry = Entry { events, ..first };
        state.apply(&entry, &vec![0; entry.events.len()], LogPosition::default());
        stretches.take(&entry, &state, texts);
    }
    stretches.all()
}

#[test]
fn work_has_the_first_words_of_its_prompt() {
    struct Prompt;
    impl Texts for Prompt {
        fn text(&mut self, _: crate::bus::event::BodyRef) -> Option<String> {
            Some("Write the\nchapter".to_owned())
        }
    }
    let id = TaskId::from_bits(1);
    let events = || [vec![assigned(&id)], vec![Event::TaskStarted { id: id.clone() }]];
    let words = |texts: &mut dyn Texts| of_entries(texts, events()).remove(0).kind;
    let work = |words: Option<&str>| {
        let words = words.map(str::to_owned);
        StretchKind::Work { task: id.to_string(), words }
    };
    assert_eq!(words(&mut Prompt), work(Some("Write the chapter")));
    assert_eq!(words(&mut NoTexts), work(None), "it stays readable without its prompt");
}

#[test]
fn work_that_ends_with_its_agent_ends_as_its_task_does() {
    let id = TaskId::from_bits(1);
    let session = session();
    let left =
        Event::MemberLeft { session, departure: Departure::Stopped, detail: None, alive_ms: None };
    let finished = Event::TaskFinished(Finished {
        id: id.clone(),
        status: TaskStatus::Cancelled,
        output: Body::Text(String::new()),
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    });
    let all = [vec![assigned(&id)], vec![Event::TaskStarted { id }], vec![left, finished]];
    assert_eq!(of_entries(&mut NoTexts, all)[0].ended, Some("cancelled"));
}

#[test]
fn what_goes_on_ends_with_the_process_of_its_member() {
    let stretch = |member: &str, kind| Stretch {
        member: member.to_owned(),
        kind,
        from: Moment(5),
        until: None,
        ended: None,
    };
    let wait = || StretchKind::Wait { whom: Some("ben".to_owned()), for_user: false };
    let work = StretchKind::Work { task: "task-1".to_owned(), words: None };
    let all = [stretch("ann", wait()), stretch("ann", work), stretch("ben", wait())];
    let last_written = Moment(9);
    let gone = MemberRow { last_written, ..crate::view::tests::row("ann", "gone") };
    let members = [gone, crate::view::tests::row("ben", "waiting")];
    let ended = ended_with_process(&all, &members);
    let ends: Vec<_> = ended.iter().map(|one| (one.until, one.ended)).collect();
    assert_eq!(ends, [(Some(Moment(9)), Some(DIED)), (Some(Moment(9)), None), (None, None)]);
}

#[test]
fn a_question_is_open_until_its_answer() {
    let id = PermissionId::from_bits(7);
    let question = Question {
        session: ANN,
        agent: name("ann"),
        task: None,
        kind: "execute".to_owned(),
        title: "rm x".to_owned(),
        paths: Vec::new(),
    };
    let asked = PermissionAsked {
        id: id.clone(),
        question,
        offers: vec![Decision::AllowOnce],
        timeout_ms: 1,
    };
    let answered = PermissionAnswered {
        id,
        decision: Decision::Reject,
        by: Decider::Orchestrator,
        name: None,
        lasts: false,
        question: None,
        times: None,
    };
    let events = vec![Event::PermissionAsked(asked), Event::PermissionAnswered(answered)];
    assert_eq!(folded(9, events), [(StretchKind::Asking, 1, Some(2))]);
}
