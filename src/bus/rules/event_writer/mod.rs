//! What the rules write with: the events so far, the ids that they need, and whom a session may act for.

mod writer;
mod deliveries;
mod post;
mod recipients;

pub(super) use self::post::Post;
pub(super) use self::writer::Writer;
