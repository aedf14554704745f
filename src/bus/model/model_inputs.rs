//! What steps of the model put into the bus.

use proptest::sample::Index;

use super::neighbour::listed;
use crate::bus::event::{Body, Envelope, Starting, TaskReport};
use crate::bus::rules::{
    ClaimUpdate, Description, Ending, HumanWish, NameChoice, NewAgent, NewTask, Operation,
};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::{Label, MemberKind, PLAN_ROLE, Traits};
use crate::domain::messaging::{Priority, Signal, Urgency, scaled};
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "steps are looked at, and so are the indices in them"
)]
pub(super) fn choose<T: Clone>(among: &[T], index: &Index) -> Option<T> {
    (!among.is_empty()).then(|| index.get(among).clone())
}

pub(super) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// One of the few groups to which members write.
pub(super) fn group(number: u8) -> &'static str {
    ["all", "@odd", "@even", "#news", "@nobody", "@water", "@lead", "#presence"]
        [usize::from(number)]
}

/// One of the few lanes.
pub(super) fn lane(number: u8) -> Label {
    Label::parse(["water", "fire"][usize::from(number % 2)]).unwrap()
}

/// What the next session says of itself. Some orchestrators run a plan, and some take the lead.
pub(super) fn says(number: u128, kind: MemberKind) -> (Vec<String>, Description) {
    let (mut roles, mut description) = says_of_itself(number);
    match number % 4 {
        0 if kind == MemberKind::Orchestrator => roles.push(PLAN_ROLE.to_owned()),
        1 if kind == MemberKind::Orchestrator => description.takes_lead = true,
        _ => {}
    }
    description.projects = (number % 5 < 4).then(|| listed(number));
    (roles, description)
}

/// A role, or a capability and a topic; some do a lane.
fn says_of_itself(number: u128) -> (Vec<String>, Description) {
    let label = |text: &str| Label::parse(text).unwrap();
    let does_lane = number.is_multiple_of(3).then(|| lane(0));
    if number.is_multiple_of(2) {
        let traits = Traits { lane: does_lane, ..Traits::default() };
        return (vec!["even".to_owned()], Description { traits, ..Description::default() });
    }
    let traits = Traits {
        lane: does_lane,
        capabilities: vec![label("odd")],
        topics: vec![label("news")],
        ..Traits::default()
    };
    (Vec::new(), Description { traits, ..Description::default() })
}

pub(super) fn one_of_few_texts(number: u128) -> Body {
    Body::Text(format!("text {}", number % 3))
}

/// Returns a priority, and an envelope for about half of the numbers.
pub(super) fn one_of_few_envelopes(number: u8) -> (Priority, Option<Box<Envelope>>) {
    let (word, ttl_seconds, urgency) = match number {
        0 => ("question", None, None),
        1 => ("request_review", Some(60), None),
        2 => ("sense", Some(30), Some(0.8)),
        3 => ("answer", None, None),
        4 => ("ack", Some(300), None),
        5 => ("report_progress", None, Some(0.1)),
        6 => ("alert", Some(600), None),
        7 => ("task", None, Some(1.0)),
        8 | 9 => ("disagree_with", None, None),
        10 => ("agree_with", None, None),
        11 => ("announce_decision", None, None),
        _ => return (Priority::Normal, None),
    };
    let signal = Signal::parse(word).ok();
    let (priority, urgency) = scaled(None, urgency.and_then(Urgency::new), signal.as_ref());
    let response_seconds = (number == 2).then_some(40);
    let mentions =
        if number.is_multiple_of(3) { vec![name("odd"), name("ann")] } else { Vec::new() };
    let more = Envelope {
        signal,
        urgency,
        ttl_seconds,
        response_seconds,
        mentions,
        queue: number < 5,
        ..Envelope::default()
    };
    (priority, Some(Box::new(more)))
}

pub(super) fn text() -> Body {
    Body::Text("x".into())
}

pub(super) fn task() -> NewTask {
    NewTask {
        prompt: text(),
        model: None,
        fresh: false,
        permissions: None,
        priority: Priority::Normal,
        step: None,
        placed: None,
    }
}

/// Starts an agent with a task.
pub(super) fn starting(session: SessionId) -> Operation {
    let starting = Starting {
        session,
        name: name("overwritten"),
        chosen: false,
        profile: "codex".into(),
        model: None,
        cwd: "/project".into(),
        roles: Vec::new(),
        owner: session,
        token_hash: String::new(),
    };
    let choice = NameChoice::Like(name("codex"));
    Operation::Start(Box::new(NewAgent::new(choice, starting)), Some(task()))
}

/// A task is done.
pub(super) fn ending() -> Ending {
    Ending {
        status: TaskStatus::Done,
        output: text(),
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    }
}

/// One of the things that an owner does with its claim.
pub(super) fn claim_update(how: u8, to: &Name, number: u128) -> ClaimUpdate {
    match how {
        0 => ClaimUpdate::Renew,
        1 => ClaimUpdate::Progress(one_of_few_texts(number)),
        2 => ClaimUpdate::Release(number.is_multiple_of(2).then(text)),
        3 => {
            let content = number.is_multiple_of(2).then(text);
            ClaimUpdate::HandOver { to: to.to_string(), content }
        }
        4 => ClaimUpdate::Complete(text()),
        _ => ClaimUpdate::Fail(number.is_multiple_of(2).then(text)),
    }
}

pub(super) fn opening(to: Option<String>, ttl_ms: u64, lease_ms: Option<u64>) -> Operation {
    Operation::Open {
        description: text(),
        context: None,
        to,
        nudge_ms: 30_000,
        ttl_ms,
        lease_ms,
        urgency: None,
    }
}

/// Sends one of the few texts, with one of the few envelopes.
pub(super) fn sending(
    to: String,
    number: u128,
    reply_to: Option<MessageId>,
    envelope: u8,
) -> Operation {
    let (priority, more) = one_of_few_envelopes(envelope);
    let body = one_of_few_texts(number);
    Operation::Send { to, body, reply_to: reply_to.map(String::from), priority, more }
}

/// The user decides what is in dispute in the thread of a message, if anything is.
pub(super) fn user_word(to: &Name, reply_to: Option<MessageId>) -> Operation {
    Operation::ByHuman(HumanWish::Send {
        to: to.to_string(),
        body: text(),
        priority: None,
        signal: reply_to.as_ref().and_then(|_| Signal::parse("announce_decision").ok()),
        reply_to,
    })
}
