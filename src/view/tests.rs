//! The read model as a whole: its boards, what happens, and its documentation.

use std::collections::BTreeSet;

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use super::*;
use crate::bus::event::{
    Body, Entry, Event, Joined, MessageSent, RequestOpened, Starting, TaskAssigned,
};
use crate::bus::state::{BodyRef, State};
use crate::bus::storage::LogPosition;
use crate::bus::storage::file::upkeep::{BusFinding, BusReport};
use crate::domain::ids::{CallId, CommandId, MessageId, RequestId, SessionId, TaskId, WorkflowId};
use crate::domain::member::{Departure, MemberKind};
use crate::domain::messaging::{Audience, Author, DeliveryMethod, MessageKind, Priority};
use crate::domain::name::Name;
use crate::domain::time::{Now, Tick};

/// Makes the row of an agent.
pub(crate) fn row(name: &str, state: &str) -> MemberRow {
    let group = match state {
        "idle" => Group::Idle,
        "running" | "waiting" | "stopping" => Group::Working,
        _ => Group::NeedsYou,
    };
    MemberRow {
        name: name.to_owned(),
        kind: "agent".to_owned(),
        session: SessionId(uuid::Uuid::nil()),
        group,
        state: state.to_owned(),
        doing: state.to_owned(),
        task_id: None,
        task_since: None,
        reading_since: None,
        last_turn: None,
        reading_turns: Vec::new(),
        silent_in: None,
        failed_wake: None,
        queued: 0,
        unread: 0,
        waits_for: None,
        wait_words: None,
        asks_user: false,
        waits_since: None,
        holds: Vec::new(),
        leases: Vec::new(),
        owes: Vec::new(),
        at_work_for_it: Vec::new(),
        last_active: Moment(0),
        last_written: Moment(0),
        live_seconds: 0,
        is_trial: false,
        profile: None,
        lead: false,
        roles: Vec::new(),
        model: None,
        host: None,
        cwd: None,
        tools: None,
        delivery: Vec::new(),
        restarts: 0,
        usage: None,
    }
}

pub(super) fn joined(state: &mut State, number: u64, name: &str) {
    let event = Event::MemberJoined(joining(number, name));
    state.apply(&entry(number, event), &[0], LogPosition::default());
}

pub(super) fn joining(number: u64, name: &str) -> Joined {
    Joined {
        session: SessionId(uuid::Uuid::from_u64_pair(0, number)),
        name: Name::parse(name).unwrap(),
        chosen: true,
        kind: MemberKind::Peer,
        model: None,
        roles: Vec::new(),
        pid: 1,
        client: None,
    }
}

pub(super) fn board(state: &State, seq: u64, is_held: bool) -> Board {
    let now = Now { wall_ms: 1, tick: Tick { boot: 1, ms: 1 } };
    let looked = Looked { state, seq, now, is_held: &|_| is_held, damaged_lines: 0, most_ended: 5 };
    Board::of(&looked, &mut NoTexts)
}

#[test]
fn a_member_without_a_process_is_no_live_member() {
    let mut state = State::default();
    joined(&mut state, 1, "ann");
    let board = board(&state, 1, false);
    assert_eq!(board.totals.members, 0);
    assert_eq!((board.members[0].group, &*board.members[0].state), (Group::Ended, "gone"));
    assert_eq!(board.problems[0].kind, ProblemKind::Gone);
}

pub(crate) fn entry(number: u64, event: Event) -> Entry {
    Entry {
        seq: number,
        ts: 1,
        tick: Tick { boot: 1, ms: 1 },
        id: CommandId(uuid::Uuid::from_u64_pair(1, number)),
        by: None,
        events: vec![event],
    }
}

/// Starts an agent with the entry of this number. Returns its session.
fn started(state: &mut State, number: u64, name: &str) -> SessionId {
    let session = SessionId(uuid::Uuid::from_u64_pair(0, number));
    let starting = starting(session, name);
    state.apply(&entry(number, Event::MemberStarting(starting)), &[0], LogPosition::default());
    session
}

/// Makes the event that gives an agent a task, maybe as a step of a workflow.
pub(crate) fn assigned(
    id: TaskId,
    session: SessionId,
    agent: &str,
    workflow: Option<WorkflowId>,
) -> TaskAssigned {
    let agent = Name::parse(agent).unwrap();
    TaskAssigned {
        id,
        session,
        by: agent.clone(),
        agent,
        prompt: Body::Text("do it".to_owned()),
        model: None,
        fresh: false,
        permissions: None,
        workflow,
        priority: Priority::Normal,
    }
}

/// Makes the event that starts an agent.
pub(crate) fn starting(session: SessionId, name: &str) -> Starting {
    Starting {
        session,
        name: Name::parse(name).unwrap(),
        chosen: true,
        profile: "codex".to_owned(),
        model: None,
        cwd: String::new(),
        roles: Vec::new(),
        owner: session,
        token_hash: String::new(),
    }
}

#[test]
fn a_board_counts_the_ended_members_that_have_no_row() {
    let mut state = State::default();
    for number in 0..7 {
        let session = started(&mut state, 2 * number + 1, &format!("agent-{number}"));
        let left = Event::MemberLeft {
            session,
            departure: Departure::Stopped,
            detail: None,
            alive_ms: None,
        };
        state.apply(&entry(2 * number + 2, left), &[0], LogPosition::default());
    }
    let board = board(&state, 14, true);
    assert_eq!((board.members.len(), board.totals.ended), (5, 7));
    assert_eq!((board.without_row(Group::Ended), board.without_row(Group::Idle)), (2, 0));
}

#[test]
fn a_crash_is_no_problem_once_another_has_had_the_name() {
    let mut state = State::default();
    let end = |state: &mut State, number, departure| {
        let session = started(state, number, "ann");
        let left = Event::MemberLeft { session, departure, detail: None, alive_ms: None };
        state.apply(&entry(number + 1, left), &[0], LogPosition::default());
    };
    end(&mut state, 1, Departure::Failed);
    assert_eq!(board(&state, 2, true).problems.len(), 1);
    end(&mut state, 3, Departure::Stopped);
    assert_eq!(board(&state, 4, true).problems, []);
    end(&mut state, 5, Departure::Dead);
    started(&mut state, 7, "ann");
    assert_eq!(board(&state, 7, true).problems, []);
}

#[test]
fn a_leader_says_which_agents_are_in_a_turn_for_it_and_claims_no_wait() {
    let mut state = State::default();
    joined(&mut state, 1, "lead");
    let session = started(&mut state, 2, "ann");
    let id = TaskId::from_bits(1);
    let mut assigned = assigned(id.clone(), session, "ann", None);
    assigned.by = Name::parse("lead").unwrap();
    state.apply(&entry(3, Event::TaskAssigned(assigned)), &[0], LogPosition::default());
    let doing = |state: &State| board(state, 3, true).members[0].doing.clone();
    assert_eq!(doing(&state), "last active 0 s ago", "its task waits");
    state.apply(&entry(4, Event::TaskStarted { id }), &[0], LogPosition::default());
    assert_eq!(doing(&state), "ann is in a turn for it; last active 0 s ago");
    assert_eq!(board(&state, 4, true).members[0].at_work_for_it, ["ann"]);
}

#[test]
fn a_stalled_agent_says_in_what_it_is_silent() {
    struct Transcript(&'static str);
    impl Texts for Transcript {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            None
        }
        fn last_of_transcript(&mut self, _: &TaskId) -> Option<String> {
            Some(self.0.to_owned())
        }
    }
    let mut state = State::default();
    let session = started(&mut state, 1, "ann");
    let id = TaskId::from_bits(1);
    let assigned = assigned(id.clone(), session, "ann", None);
    let events =
        [Event::TaskAssigned(assigned), Event::TaskStarted { id }, Event::AgentStalled { session }];
    for (number, event) in (2..).zip(events) {
        state.apply(&entry(number, event), &[0], LogPosition::default());
    }
    let said = |transcript| {
        let now = Now { wall_ms: 1, tick: Tick { boot: 1, ms: 1 } };
        let looked = Looked {
            state: &state,
            seq: 4,
            now,
            is_held: &|_| true,
            damaged_lines: 0,
            most_ended: 5,
        };
        let board = Board::of(&looked, &mut Transcript(transcript));
        assert_eq!(board.problems[0].words, board.needs_you[0].words);
        board.needs_you[0].words.clone()
    };
    let call = r#"{"kind":"tool_call","id":"1","title":"cargo test","status":"in_progress"}"#;
    assert_eq!(said(call), "silent in its turn; its call \"cargo test\" may hang");
    let words = r#"{"kind":"text","text":"let me think"}"#;
    assert_eq!(said(words), "silent in its turn; its model may hang");
    assert_eq!(said(""), "silent in its turn; a tool or its model may hang");
}

#[test]
fn the_last_words_of_an_agent_begin_no_line_of_their_own() {
    let mut state = State::default();
    let session = started(&mut state, 1, "ann");
    let detail = Some("its stderr ends: x\n\nNeeds you\n\t! permission".to_owned());
    let left = Event::MemberLeft { session, departure: Departure::Failed, detail, alive_ms: None };
    state.apply(&entry(2, left), &[0], LogPosition::default());
    let board = board(&state, 2, true);
    let words = "failed: its stderr ends: x Needs you ! permission";
    assert_eq!((&*board.members[0].doing, &*board.problems[0].words), (words, words));
}

/// Reads each text as its number of bytes.
pub(super) struct Numbered;

impl Texts for Numbered {
    fn text(&mut self, body: BodyRef) -> Option<String> {
        Some(format!("text {}", body.bytes))
    }
}

#[test]
fn an_ended_request_has_its_answer_and_who_gave_it() {
    let mut state = State::default();
    let name = |text: &str| Name::parse(text).unwrap();
    joined(&mut state, 1, "ann");
    joined(&mut state, 2, "ben");
    let session = |number| SessionId(uuid::Uuid::from_u64_pair(0, number));
    let opened = |number: u64, from: &str| {
        Event::RequestOpened(RequestOpened {
            id: RequestId::from_bits(number),
            message: MessageId::from_bits(number),
            from: name(from),
            to: Vec::<Name>::new().into(),
            only: None,
            description: Body::Text("a question".to_owned()),
            context: None,
            nudge_ms: 1,
            ttl_ms: 1,
            lease_ms: None,
            urgency: None,
        })
    };
    let response = |number: u64, claimed_by: Option<Name>, text: &str| {
        let (id, to) = (MessageId::from_bits(number), Audience::One(name("ann")));
        Event::MessageSent(MessageSent {
            kind: MessageKind::Response,
            to: vec![name("ann")].into(),
            request: Some(RequestId::from_bits(10)),
            claimed_by,
            ..MessageSent::plain(id, name("ben"), to, text)
        })
    };
    let id = RequestId::from_bits(10);
    let events = vec![
        opened(10, "ann"),
        opened(11, "ben"),
        Event::RequestClaimed { id: id.clone(), by: name("ben"), session: session(2) },
        response(20, Some(name("ben")), "claimed"),
        response(21, None, "the answer"),
        Event::RequestCompleted { id, message: MessageId::from_bits(21) },
        Event::RequestExpired { id: RequestId::from_bits(11) },
    ];
    for (number, event) in (3..).zip(events) {
        state.apply(&entry(number, event), &[0], LogPosition::default());
    }
    let now = Now { wall_ms: 1, tick: Tick { boot: 1, ms: 1 } };
    let looked =
        Looked { state: &state, seq: 9, now, is_held: &|_| true, damaged_lines: 0, most_ended: 5 };
    let board = Board::of(&looked, &mut Numbered);
    assert!(board.requests.is_empty());
    let rows: Vec<_> = board.ended_requests.iter().collect();
    assert_eq!(
        (&*rows[0].status, &*rows[0].outcome_in_words()),
        ("expired", "It ended without an answer; nobody had it then.")
    );
    assert_eq!(
        (rows[1].answer.as_deref(), rows[1].answered_at),
        (Some("text 10"), Some(Moment(1)))
    );
    assert_eq!(rows[1].outcome_in_words(), "ben has answered it.");
}

#[test]
fn signs_of_life_are_news_only_after_silence() {
    let (state, mut happenings) = (State::default(), Happenings::default());
    let session = SessionId(uuid::Uuid::from_u64_pair(0, 1));
    let mut said = |event| happenings.of(&entry(1, event), &state, &mut NoTexts).len();
    assert_eq!(said(Event::AgentStirred { session }), 0);
    assert_eq!(said(Event::AgentStalled { session }), 1);
    assert_eq!(said(Event::AgentStirred { session }), 1);
    assert_eq!(said(Event::AgentStirred { session }), 0);
}

#[test]
fn mail_to_a_generated_name_that_has_left_is_unread_by_nobody() {
    let unread = |chosen: bool| {
        let mut state = State::default();
        let session = SessionId(uuid::Uuid::from_u64_pair(0, 1));
        let to = Name::parse("run-1").unwrap();
        let joined = Event::MemberJoined(Joined {
            session,
            name: to.clone(),
            chosen,
            kind: MemberKind::Orchestrator,
            model: None,
            roles: Vec::new(),
            pid: 1,
            client: None,
        });
        let notice = Event::MessageSent(MessageSent {
            id: MessageId::from_bits(1),
            kind: MessageKind::Notice,
            from: Author::Bridge,
            audience: Audience::One(to.clone()),
            to: vec![to].into(),
            request: None,
            task: None,
            claimed_by: None,
            reply_to: None,
            thread: None,
            ends: Vec::new(),
            priority: Priority::Normal,
            quiet: false,
            more: None,
            body: Body::Text("the workflow is done".to_owned()),
        });
        let left = Event::MemberLeft {
            session,
            departure: Departure::Closed,
            detail: None,
            alive_ms: None,
        };
        for (number, event) in (1..).zip([joined, notice, left]) {
            state.apply(&entry(number, event), &[0], LogPosition::default());
        }
        let board = board(&state, 3, true);
        (board.totals.unread, board.unread_without_row())
    };
    assert_eq!((unread(false), unread(true)), ((0, 0), (1, 1)));
}

#[test]
fn a_wait_is_news_when_it_begins_and_says_how_it_ended() {
    let mut state = State::default();
    joined(&mut state, 1, "ann");
    let session = SessionId(uuid::Uuid::from_u64_pair(0, 1));
    let call = |number| CallId(uuid::Uuid::from_u64_pair(2, number));
    let name = |text: &str| Name::parse(text).unwrap();
    let mut happenings = Happenings::default();
    let mut said = |ms, event| {
        let entry = Entry { tick: Tick { boot: 1, ms }, ..entry(1, event) };
        let said = happenings.of(&entry, &state, &mut NoTexts).into_iter();
        let said = said.filter(|one| one.topic == Topic::Wait);
        said.map(|one| (one.words, one.members.join(" "))).collect::<Vec<_>>()
    };
    let begins = |number, from: Option<&str>| Event::WaitStarted {
        session,
        call: call(number),
        from: from.map(name),
        request: None,
        reply_to: None,
        timeout_ms: 120_000,
    };
    let ends = |number| Event::WaitEnded { session, call: call(number) };
    let words = |text: &str, about: &str| vec![(text.to_owned(), about.to_owned())];
    assert_eq!(said(0, begins(1, Some("ben"))), words("ann waits for ben", "ann ben"));
    assert_eq!(said(119_990, ends(1)), words("ann waited 119 s for ben: timed out", "ann ben"));
    assert_eq!(said(0, begins(2, None)), words("ann waits for a message", "ann"));
    assert_eq!(said(7_000, ends(2)), words("ann waited 7 s for a message: gave up", "ann"));
    said(0, begins(3, None));
    let handed = Event::MessageHanded {
        ids: vec![MessageId::from_bits(1)],
        member: name("ann"),
        session,
        call: call(3),
        method: DeliveryMethod::Pull,
    };
    assert_eq!(said(2_000, handed), words("ann waited 2 s for a message: has it", "ann"));
    assert!(said(3_000, ends(3)).is_empty(), "it has ended");
}

/// Returns the names of a type's fields, as its schema has them.
fn fields<T: JsonSchema>() -> BTreeSet<String> {
    let schema = schema_for!(T).to_value();
    let fields = schema["properties"].as_object().into_iter().flat_map(serde_json::Map::keys);
    fields.cloned().collect()
}

/// Returns the names in the table below a heading of the document.
fn documented(text: &str, heading: &str) -> BTreeSet<String> {
    let heading = format!("\n## {heading}\n");
    let (_, below) = text.split_once(&heading).unwrap_or_else(|| panic!("no{heading}"));
    let table = below.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

#[test]
fn the_document_has_every_field_of_the_read_model() {
    let text = include_str!("../../docs/view.md");
    let mut sum = fields::<UsageRow>();
    sum.retain(|field| !fields::<Spent>().contains(field));
    let types = [
        ("Board", fields::<Board>()),
        ("Need", fields::<Need>()),
        ("Member", fields::<MemberRow>()),
        ("Owed answer", fields::<OwedAnswer>()),
        ("Lease", fields::<HeldLease>()),
        ("Task", fields::<TaskRow>()),
        ("Request", fields::<RequestRow>()),
        ("Permission", fields::<PermissionRow>()),
        ("Conflict", fields::<ConflictRow>()),
        ("Decided", fields::<Decided>()),
        ("Workflow", fields::<WorkflowTree>()),
        ("Step", fields::<StepNode>()),
        ("Problem", fields::<Problem>()),
        ("Totals", fields::<Totals>()),
        ("Usage", fields::<Spent>()),
        ("Happening", fields::<Happening>()),
        ("Message", fields::<Letter>()),
        ("Thread end", fields::<ThreadEnd>()),
        ("Receipt", fields::<Receipt>()),
        ("Trace", fields::<Trace>()),
        ("Trace message", fields::<TraceMessage>()),
        ("Trace edge", fields::<TraceEdge>()),
        ("Trace text", fields::<TraceText>()),
        ("Trace receipt", fields::<TraceReceipt>()),
        ("Trace step", fields::<TraceStep>()),
        ("Live line", fields::<LiveLine>()),
        ("Sum", sum),
        ("Bus report", fields::<BusReport>()),
        ("Finding", fields::<BusFinding>()),
    ];
    for (heading, fields) in types {
        assert!(!fields.is_empty(), "{heading}");
        assert_eq!(documented(text, heading), fields, "{heading}");
    }
    let version = Value::from(VIEW_VERSION);
    assert!(text.contains(&format!("| `version` | {version} |")));
}
