//! The writer of the rules: it collects events, draws ids, and checks for which sessions a session may act.

mod writer;
mod deliveries;
mod expire_unseen;
mod post;
mod recipients;

pub(super) use self::post::{Post, Told};
pub(super) use self::writer::Writer;
