//! Events of every kind, made of a few bytes, whose causes may be missing.

use proptest::prelude::*;
use uuid::Uuid;

use crate::bus::event::{
    Addressees, AnswerWritten, Body, ConflictMoved, ConflictOpened, ConflictOverruled,
    ConflictResolved, Created, Described, Entry, Envelope, Event, Finished, Followed, Joined,
    LaneMoved, LeadTaken, MessageAcknowledged, MessageHeld, MessageRelayed, MessageSent,
    PermissionAnswered, PermissionAsked, Position, ProjectsListed, ProvenClaim, Question,
    ReceiptsTold, RequestOpened, Resumed, Skip, Starting, StepAsked, StepEnded, StepExpanded,
    StepReturned, StepStarted, TaskAssigned, TaskReport, ThreadResolved, UnheardClaim,
};
use crate::bus::storage::file::line_format;
use crate::domain::access_key::{KeyScope, hash_of_secret, secret_of};
use crate::domain::ids::{
    CallId, CommandId, KeyId, MessageId, PermissionId, RequestId, SessionId, TaskId, WorkflowId,
};
use crate::domain::member::{
    Activity, Departure, Host, HostId, Label, MemberKind, SessionNumber, Tools, Traits,
};
use crate::domain::messaging::{
    Acknowledgement, Audience, Author, ConflictEnd, ConflictStep, DeliveryMethod, DirectoryMark,
    Elsewhere, Group, HeldWhy, MemberElsewhere, MessageKind, MessageOrigin, OriginPlace, Priority,
    ReceiptElsewhere, Signal, StateElsewhere, Urgency,
};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};
use crate::domain::task::TaskStatus;
use crate::domain::task::result::Usage;
use crate::domain::time::Tick;
use crate::domain::workflow::{Again, PlanFile, Step, StepStatus, WorkflowStatus};

/// Returns an entry of a few events whose causes may be missing.
pub(super) fn entry() -> impl Strategy<Value = Entry> {
    let seq = prop_oneof![9 => 1..1_000_000u64, 1 => Just(line_format::MAX_SEQ - 8)];
    let ms = prop_oneof![9 => 0..10_000_000u64, 1 => Just(u64::MAX)];
    let events = proptest::collection::vec(any::<[u8; 6]>().prop_map(event), 0..6);
    (seq, 0..2u32, ms, any::<u8>(), events).prop_map(|(seq, boot, ms, id, events)| Entry {
        seq,
        ts: 0,
        tick: Tick { boot, ms },
        id: CommandId(uuid(id)),
        by: (id > 128).then(|| session(id)),
        events,
    })
}

pub(super) fn uuid(byte: u8) -> Uuid {
    Uuid::from_u128(u128::from(byte))
}

/// There are few ids of each kind, so that events meet.
pub(super) fn session(byte: u8) -> SessionId {
    SessionId(uuid(byte % 4))
}

fn topic(byte: u8) -> Label {
    Label::parse(["one", "two"][usize::from(byte % 2)]).unwrap()
}

pub(super) fn group(byte: u8) -> Group {
    if byte > 128 { Group::Topic(topic(byte)) } else { Group::Word(topic(byte)) }
}

pub(super) fn call(byte: u8) -> CallId {
    CallId(uuid(byte % 3))
}

pub(super) fn message(byte: u8) -> MessageId {
    MessageId::from_bits(u64::from(byte % 5))
}

pub(super) fn request(byte: u8) -> RequestId {
    RequestId::from_bits(u64::from(byte % 3))
}

fn permission(byte: u8) -> PermissionId {
    PermissionId::from_bits(u64::from(byte % 3))
}

fn question([a, b, c]: [u8; 3]) -> Question {
    Question {
        session: session(a),
        agent: name(b),
        task: Some(task(c)),
        kind: "edit".to_owned(),
        title: String::new(),
        paths: Vec::new(),
    }
}

pub(super) fn task(byte: u8) -> TaskId {
    TaskId::from_bits(u64::from(byte % 3))
}

pub(super) fn name(byte: u8) -> Name {
    Name::parse(["a", "b", "B", "codex"][usize::from(byte % 4)]).unwrap()
}

fn body(byte: u8) -> Body {
    if byte.is_multiple_of(4) {
        Body::Blob { id: uuid(byte), bytes: u64::MAX, sha256: None }
    } else {
        Body::Text("x".into())
    }
}

#[expect(
    clippy::too_many_lines,
    clippy::many_single_char_names,
    reason = "one arm per kind of event, and bytes without a meaning of their own"
)]
fn event([kind, a, b, c, d, e]: [u8; 6]) -> Event {
    let odd = !e.is_multiple_of(2);
    let methods = [
        DeliveryMethod::Pull,
        DeliveryMethod::Piggyback,
        DeliveryMethod::Prompt,
        DeliveryMethod::Steer,
        DeliveryMethod::Drain,
        DeliveryMethod::Channel,
    ];
    match kind % 51 {
        0 => Event::MemberStarting(Starting {
            session: session(a),
            name: name(b),
            chosen: odd,
            profile: "codex".into(),
            model: None,
            cwd: "/".into(),
            roles: Vec::new(),
            owner: session(c),
            token_hash: String::new(),
        }),
        1 | 2 => Event::MemberJoined(Joined {
            session: session(a),
            name: name(b),
            chosen: odd,
            kind: MemberKind::Peer,
            model: None,
            roles: Vec::new(),
            pid: 1,
            client: None,
        }),
        41 => Event::MessageAcknowledged(MessageAcknowledged {
            ids: vec![message(a), message(b)],
            member: name(c),
            status: [
                Acknowledgement::Acked,
                Acknowledgement::Resolved,
                Acknowledgement::Superseded,
            ][usize::from(d % 3)],
            note: odd.then(String::new),
        }),
        47 => Event::ThreadResolved(ThreadResolved {
            threads: vec![message(a), message(b)],
            by: name(c),
            summary: String::new(),
        }),
        48 if odd => Event::ConflictOpened(ConflictOpened {
            thread: message(a),
            parties: vec![Position { by: name(b), message: message(c) }; usize::from(d % 3)],
            about: None,
        }),
        48 if d > 128 => Event::ConflictMoved(ConflictMoved {
            thread: message(a),
            to: [
                ConflictStep::Round(u32::MAX),
                ConflictStep::Arbiter(name(b)),
                ConflictStep::Human,
            ][usize::from(c % 3)]
            .clone(),
        }),
        48 if e > 200 => {
            Event::ConflictOverruled(ConflictOverruled { thread: message(a), message: message(b) })
        }
        48 => Event::ConflictResolved(ConflictResolved {
            thread: message(a),
            how: ConflictEnd::Agreed,
            by: Author::Human,
            message: (c > 128).then(|| message(b)),
        }),
        40 => Event::MemberDescribed(Described {
            session: session(a),
            number: SessionNumber::of(if odd { u64::from(b) } else { u64::MAX }),
            traits: Traits::default(),
            cwd: (c > 128).then(|| "/".into()),
            host: odd.then(|| Host {
                id: HostId(uuid::Uuid::from_u128(b.into())),
                name: "h".repeat(c.into()),
            }),
        }),
        42 => Event::TopicFollowed(Followed { session: session(a), topic: topic(b) }),
        43 => Event::TopicLeft(Followed { session: session(a), topic: topic(b) }),
        45 => Event::LaneClaimed(LaneMoved { session: session(a), lane: topic(b) }),
        49 => {
            Event::LeadTaken(LeadTaken { session: session(a), preempted: odd.then(|| session(b)) })
        }
        46 => Event::LaneReleased(LaneMoved { session: session(a), lane: topic(b) }),
        3 => Event::MemberActivity { session: session(a), activity: Activity::Running },
        4 => Event::MemberTools { session: session(a), tools: Tools::Ready },
        5 => Event::MemberLeft {
            session: session(a),
            departure: Departure::Dead,
            detail: None,
            alive_ms: None,
        },
        6 => Event::MemberForgotten { name: name(a) },
        7..=9 => Event::MessageSent(sent([a, b, c, d, e])),
        10 => Event::MessageAddressed { id: message(a), to: addressees(odd, b, c) },
        11 | 12 => Event::MessageHanded {
            ids: vec![message(a), message(b)],
            member: name(c),
            session: session(d),
            call: call(e),
            method: methods[usize::from(e % 3)],
        },
        13 => Event::MessageReturned { session: session(a), call: call(b) },
        14 if odd => {
            Event::AnswerWritten(AnswerWritten { session: session(a), call: call(b), skip: Skip })
        }
        14 => Event::MessageSeen { session: session(a), call: call(b) },
        15 => Event::MessageSuperseded { id: message(a), members: addressees(odd, b, c) },
        44 if odd => Event::MessageReminded { id: message(a) },
        44 if d > 128 => Event::MessageUnclaimed { id: message(a) },
        44 => Event::MessageUnanswered { id: message(a) },
        16 => Event::MessageExpired { id: message(a), member: name(b) },
        17 => Event::WaitStarted {
            session: session(a),
            call: call(b),
            from: odd.then(|| name(c)),
            request: None,
            reply_to: (!odd).then(|| message(c)),
            timeout_ms: if odd { u64::MAX } else { 5 },
        },
        18 => Event::WaitEnded { session: session(a), call: call(b) },
        19 => Event::RequestOpened(RequestOpened {
            id: request(a),
            message: message(b),
            from: name(c),
            to: addressees(odd, d, e),
            only: (e > 200).then(|| Audience::Group(group(a))),
            description: body(a),
            context: Some(body(e)),
            nudge_ms: u64::from(d),
            ttl_ms: u64::from(e),
            lease_ms: odd.then_some(u64::from(d)),
            urgency: None,
        }),
        20 if odd && d > 128 => {
            Event::ClaimKnown(ProvenClaim { session: session(a), request: request(c), skip: Skip })
        }
        20 if odd => Event::ClaimUnheard(UnheardClaim {
            session: session(a),
            call: call(b),
            request: request(c),
            skip: Skip,
        }),
        20 => Event::RequestClaimed { id: request(a), by: name(b), session: session(c) },
        21 if odd => {
            Event::RequestReopened { id: request(a), lost_owners: u32::from(b), released: c > 128 }
        }
        21 if d > 170 => Event::RequestReminded { id: request(a) },
        21 if d > 85 => Event::RequestRenewed { id: request(a), left_ms: u64::from(b) },
        21 => Event::RequestHandedOver {
            id: request(a),
            by: name(b),
            to: name(c),
            session: session(e),
        },
        22 => of_request(request(a), message(b), c),
        23 if e.is_multiple_of(4) => super::odd_placements::of(
            task(a),
            [session(b), session(c)],
            [name(d), name(e)],
            body(e),
        ),
        23 => Event::TaskAssigned(TaskAssigned {
            id: task(a),
            session: session(b),
            agent: name(c),
            by: name(d),
            prompt: body(e),
            model: None,
            fresh: odd,
            permissions: None,
            workflow: None,
            priority: Priority::Normal,
        }),
        24 => of_task(task(a), name(b), c),
        25 => Event::PermissionAsked(PermissionAsked {
            id: permission(a),
            question: question([b, c, d]),
            offers: vec![Decision::AllowOnce],
            timeout_ms: if odd { u64::MAX } else { u64::from(e) },
        }),
        26 => Event::PermissionNotified { id: permission(a), notice: message(b) },
        27 => Event::PermissionAnswered(PermissionAnswered {
            id: permission(a),
            decision: Decision::Reject,
            by: Decider::Human,
            name: odd.then(|| name(b)),
            question: odd.then(|| question([c, d, e])),
            times: odd.then_some(u64::from(e)),
            lasts: odd,
        }),
        28 if odd => Event::KeyMade {
            id: KeyId::from_bits(u64::from(a % 3)),
            name: name(b),
            scopes: vec![KeyScope::Write],
            hash: hash_of_secret(&secret_of([c; 32])).expect("it is a secret"),
            roles: Vec::new(),
            traits: Traits::default(),
            skip: Skip,
        },
        29 if odd => Event::KeyRevoked { id: KeyId::from_bits(u64::from(a % 3)), skip: Skip },
        28 if d.is_multiple_of(3) => Event::WebhookSent {
            name: Label::parse("ci").expect("it is one word"),
            seq: u64::from(b),
            skip: Skip,
        },
        28 => Event::AgentCrashed { session: session(a), detail: String::new() },
        29 => Event::MemberHung { session: session(a) },
        30 => Event::MemberBack { session: session(a) },
        37 if odd => Event::TurnUsed {
            session: session(a),
            usage: Usage { total_tokens: Some(u64::from(b)), ..Usage::default() },
            skip: Skip,
        },
        37 => Event::AgentStuck { session: session(a), skip: Skip },
        38 => Event::AgentFree { session: session(a), skip: Skip },
        36 => {
            let methods = methods[..usize::from(b % 6)].to_vec();
            Event::MemberMethods { session: session(a), methods }
        }
        31 => Event::AgentSwept { session: session(a) },
        50 => of_other_projects([a, b, c, d]),
        32..=35 => of_workflow([kind, a, b, c, d, e]),
        _ => Event::StopAsked { session: session(a), by: name(b), kill: odd, human: c > 128 },
    }
}

#[expect(clippy::many_single_char_names, reason = "bytes without a meaning of their own")]
fn sent([a, b, c, d, e]: [u8; 5]) -> MessageSent {
    let kinds =
        [MessageKind::Message, MessageKind::Request, MessageKind::Notice, MessageKind::Shutdown];
    MessageSent {
        id: message(a),
        kind: kinds[usize::from(b % 4)],
        from: if c > 250 {
            Author::Human
        } else if c > 230 {
            Author::Elsewhere(Box::new(MemberElsewhere { tag: topic(c), name: name(c) }))
        } else {
            Author::Member(name(c))
        },
        audience: if e > 230 {
            Audience::Elsewhere(Box::new(elsewhere(d)))
        } else if e > 200 {
            Audience::Group(group(d))
        } else if e > 128 {
            Audience::One(name(d))
        } else {
            Audience::All
        },
        to: addressees(e % 4 == 0, d, e),
        request: Some(request(c)),
        task: Some(task(d)),
        claimed_by: None,
        reply_to: Some(message(e)),
        thread: Some(message(b)),
        ends: vec![task(a)],
        priority: if c > 128 { Priority::Urgent } else { Priority::Normal },
        quiet: e > 220,
        more: (b > 128).then(|| Box::new(envelope(c, d))),
        body: body(a),
    }
}

fn envelope(c: u8, d: u8) -> Envelope {
    Envelope {
        signal: Signal::parse(["question", "pulse", "answer", "ack"][usize::from(d % 4)]).ok(),
        urgency: Urgency::new(f64::from(d) / 255.0),
        ttl_seconds: c.is_multiple_of(2).then_some(u64::from(d)),
        queue: d > 100,
        origin: (d > 80).then(|| MessageOrigin {
            tag: topic(d),
            id: message(c),
            sent_ms: 7,
            place: (d > 90).then(|| OriginPlace {
                bus: session(c),
                seq: u64::from(c),
                oldest: u64::from(d),
            }),
        }),
        response_seconds: c.is_multiple_of(3).then_some(u64::from(d)),
        ..Envelope::default()
    }
}

fn of_request(id: RequestId, message: MessageId, byte: u8) -> Event {
    match byte % 4 {
        0 => Event::RequestNudged { id },
        3 => Event::RequestFailed { id },
        1 => Event::RequestCompleted { id, message },
        _ => Event::RequestExpired { id },
    }
}

#[expect(clippy::many_single_char_names, reason = "bytes without a meaning of their own")]
fn of_workflow([kind, a, b, c, d, e]: [u8; 6]) -> Event {
    let (workflow, step) = (WorkflowId::from_bits(u64::from(a % 3)), name(b));
    match kind % 38 {
        32 => Event::WorkflowCreated(Created {
            id: workflow,
            name: String::new(),
            by: name(b),
            owner: session(c),
            steps: vec![planned(d, e), planned(e, a)],
            prompts: body(d),
            plan_file: (e % 2 == 0)
                .then(|| PlanFile { place: "plan.toml".into(), sha256: "0".repeat(64) }),
            is_trial: e % 3 == 0,
        }),
        33 => Event::StepStarted(StepStarted { workflow, step, task: task(c), agent: name(d) }),
        34 if e < 128 => Event::StepReturned(StepReturned {
            workflow,
            step,
            again: Again::Fallback,
            why: String::new(),
        }),
        34 => Event::StepEnded(StepEnded { workflow, step, status: StepStatus::Done, why: None }),
        _ if e < 32 => Event::StepAsked(StepAsked { workflow, step }),
        _ if e < 48 => Event::StepExpanded(StepExpanded {
            workflow,
            step,
            count: u32::from(c) * u32::from(c),
            items: body(d),
        }),
        _ if e < 64 => Event::WorkflowEnded { id: workflow, status: WorkflowStatus::Failed },
        _ if e < 128 => Event::WorkflowCancelAsked { id: workflow, by: step, human: d > 128 },
        _ => Event::WorkflowResumed(Resumed { id: workflow, by: step, owner: session(c) }),
    }
}

fn of_other_projects([a, b, c, d]: [u8; 4]) -> Event {
    let states = [StateElsewhere::Unread, StateElsewhere::Seen, StateElsewhere::Expired];
    let receipt = ReceiptElsewhere::of(name(c), states[usize::from(c % 3)]);
    let (id, receipts) = (message(a), vec![receipt; usize::from(d % 3)]);
    match b % 4 {
        0 => Event::ProjectsListed(ProjectsListed {
            by: (a > 50).then(|| session(a)),
            own: (c > 128).then(|| topic(c)),
            tags: vec![topic(d)],
            marks: [(topic(d), DirectoryMark::of(std::path::Path::new("/")))].into(),
            skip: Skip,
        }),
        1 => Event::MessageRelayed(MessageRelayed { id, there: message(d), receipts }),
        2 => Event::MessageHeld(MessageHeld { id, why: HeldWhy::NoBus }),
        _ => Event::ReceiptsTold(ReceiptsTold { id, receipts }),
    }
}

fn elsewhere(byte: u8) -> Elsewhere {
    Elsewhere { tag: topic(byte), name: (!byte.is_multiple_of(4)).then(|| name(byte)) }
}

fn planned(called: u8, after: u8) -> Step {
    Step::new(name(called), "codex", &[name(after)])
}

fn of_task(id: TaskId, by: Name, byte: u8) -> Event {
    match byte % 3 {
        0 => Event::TaskStarted { id },
        1 => Event::TaskCancelAsked { id, by, human: byte > 128 },
        _ => Event::TaskFinished(Finished {
            id,
            status: TaskStatus::Running,
            output: body(byte),
            stop_reason: None,
            error: None,
            report: TaskReport { details: Some(body(byte)), ..TaskReport::default() },
        }),
    }
}

fn addressees(others: bool, one: u8, two: u8) -> Addressees {
    if others { Addressees::AllBut(vec![name(one)]) } else { vec![name(one), name(two)].into() }
}
