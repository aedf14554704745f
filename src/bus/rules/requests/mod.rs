//! Rules of requests: opened by a member, claimed by one other, answered by its owner.

mod open;
mod claim;
mod unheard_claims;
mod remind;
mod reopen;
mod newcomers;
mod end_unanswered;
mod lease;
mod hand_over;
mod update_claim;

pub(super) use self::claim::{claim, respond};
pub(super) use self::end_unanswered::{end_with_team, expire, withdraw_own};
pub(super) use self::hand_over::hand_over_with;
pub(super) use self::lease::lease_due;
pub(super) use self::newcomers::{claimable_by, show_remaining_requests, show_requests};
pub(super) use self::open::open;
pub(super) use self::remind::nudge;
pub(super) use self::reopen::{reopen, reopen_claims};
pub(super) use self::unheard_claims::{Unheard, end_unheard, note_known, release};
pub(super) use self::update_claim::update_claim;
