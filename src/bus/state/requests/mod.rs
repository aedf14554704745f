//! Requests without their texts, and their claims.

mod request;
mod request_events;
mod unanswered_requests;
mod keep_requests;
mod find_requests;
mod open_and_claim;
mod unheard_claims;
mod lease;
mod run_leases;
mod newcomers;

pub use self::lease::Lease;
pub use self::request::{Claim, Request};
pub(in crate::bus) use self::unanswered_requests::Unanswered;
