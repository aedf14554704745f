//! What steps of the model put into the bus.

use proptest::sample::Index;

use crate::bus::event::Body;
use crate::bus::rules::{ClaimUpdate, Description, NewTask, Operation};
use crate::domain::ids::MessageId;
use crate::domain::member::{Label, Traits};
use crate::domain::messaging::Priority;
use crate::domain::name::Name;

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
    ["all", "@odd", "@even", "#news", "@nobody"][usize::from(number)]
}

/// What the next session says of itself: a role, or a capability and a topic.
pub(super) fn says(number: u128) -> (Vec<String>, Description) {
    let label = |text: &str| Label::parse(text).unwrap();
    if number.is_multiple_of(2) {
        return (vec!["even".to_owned()], Description::default());
    }
    let traits = Traits {
        capabilities: vec![label("odd")],
        topics: vec![label("news")],
        ..Traits::default()
    };
    (Vec::new(), Description { traits, cwd: None })
}

pub(super) fn one_of_few_texts(number: u128) -> Body {
    Body::Text(format!("text {}", number % 3))
}

pub(super) fn text() -> Body {
    Body::Text("x".into())
}

pub(super) fn task() -> NewTask {
    NewTask { prompt: text(), model: None, fresh: false, permissions: None, step: None }
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
    Operation::Open { description: text(), context: None, to, nudge_ms: 30_000, ttl_ms, lease_ms }
}

/// Sends one of the few texts.
pub(super) fn sending(to: String, number: u128, reply_to: Option<MessageId>) -> Operation {
    Operation::Send {
        to,
        body: one_of_few_texts(number),
        reply_to: reply_to.map(String::from),
        priority: Priority::default(),
    }
}
