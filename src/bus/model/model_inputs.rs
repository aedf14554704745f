//! What steps of the model put into the bus.

use proptest::sample::Index;

use crate::bus::event::Body;
use crate::bus::rules::{ClaimUpdate, NewTask};
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
