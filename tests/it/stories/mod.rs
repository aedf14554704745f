//! The stories of the four specifications that the messaging follows, each played by real processes to its end and shown by `trace`.

mod absent_member;
mod decided_by_user;
mod example_team;
mod kept_trace;
mod lapsed_claims;
mod over_http;
mod review_without_relay;
