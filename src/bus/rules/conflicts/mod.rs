//! Disagreements: two members argue in a thread for some rounds; if they do not agree, an arbiter decides, and else the user.

mod take_part;
mod escalate;
mod told;

pub(in crate::bus::rules) use self::escalate::{arbiter_left, conflict_is_due, show_undecided};
pub(in crate::bus::rules) use self::take_part::{Part, follow, part_of, send_as_human};
