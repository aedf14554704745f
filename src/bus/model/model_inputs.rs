//! What steps of the model put into the bus.

use proptest::sample::Index;

use crate::bus::event::{Body, Envelope};
use crate::bus::rules::NewTask;
use crate::domain::messaging::{Priority, Signal, Urgency, scaled};
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
        _ => return (Priority::Normal, None),
    };
    let signal = Signal::parse(word).ok();
    let (priority, urgency) = scaled(None, urgency.and_then(Urgency::new), signal.as_ref());
    let response_seconds = (number == 2).then_some(40);
    let more = Envelope { signal, urgency, ttl_seconds, response_seconds, ..Envelope::default() };
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
    }
}
