//! The gate before everything that the server answers: who may ask at all, and in which form.
//!
//! In this order: the Host and Origin lists, which need no secret and stop DNS rebinding and pages of others; the rate; assets, which
//! hold nothing of the team; signing in; then methods, and for what changes something its origin, its form token and its switch.

mod allowed_host;
mod check_request;
mod entry_keys;
mod request_rate;
mod safety_headers;
mod same_text;

pub(super) use self::allowed_host::AllowedHosts;
pub(super) use self::check_request::{SIGN_IN, check_request, locked_out, refused, retry_after};
pub(super) use self::entry_keys::{EntryKeys, SignIn};
pub(super) use self::request_rate::RequestRate;
pub(super) use self::safety_headers::{add_safety_headers, raw_safety_headers};
