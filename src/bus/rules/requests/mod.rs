//! Rules of requests: opened by a member, claimed by one other, answered by its owner.

mod open;
mod claim;
mod unheard_claims;
mod remind;
mod reopen;
mod give_back;
mod newcomers;
mod end_unanswered;

pub(super) use self::claim::{claim, respond};
pub(super) use self::end_unanswered::{end_with_team, expire, withdraw_own};
pub(super) use self::give_back::give_back;
pub(super) use self::newcomers::{claimable_by, show_remaining_requests, show_requests};
pub(super) use self::open::open;
pub(super) use self::remind::nudge;
pub(super) use self::reopen::{reopen, reopen_claims};
pub(super) use self::unheard_claims::{Unheard, end_unheard, note_known, release};
