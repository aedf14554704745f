//! What has been decided: what members agreed on, what somebody decided, and what the user answered and allowed.

mod decided_fold;
mod decided_row;
#[cfg(test)]
mod tests;

pub use self::decided_fold::Decisions;
pub use self::decided_row::{Decided, DecidedHow};
