//! Disagreements: two members argue in a thread for some rounds; if they do not agree, an arbiter decides, and else the user.

mod newest;
mod overrule;
mod take_part;
mod escalate;
mod through_lead;
mod told;

pub(in crate::bus::rules) use self::escalate::{conflict_is_due, settle_left};
pub(in crate::bus::rules) use self::overrule::{decides_for_user, send_as_human};
pub(in crate::bus::rules) use self::take_part::{Part, follow, part_of};
pub(in crate::bus::rules) use self::through_lead::{asks_lead, show_undecided};
