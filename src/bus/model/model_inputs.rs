//! What steps of the model put into the bus.

use proptest::sample::Index;

use crate::bus::event::Body;
use crate::bus::rules::NewTask;
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
