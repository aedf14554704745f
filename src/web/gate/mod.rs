//! The gate before everything that the server answers: who may ask at all, and in which form.
//!
//! In this order: the Host and Origin lists, and where in a browser the request comes from, which need no secret and stop DNS rebinding
//! and pages of others; the rate; assets, which hold nothing of the team; signing in; then methods, and for what changes something its
//! origin, its form token and its switch.
//!
//! Browsers send a cookie to every port of a host, so also to a server of somebody else on this machine. So the pages stand below a base
//! path that is a secret: the cookie goes to that path alone, and another server cannot lead a browser to it.

mod allowed_host;
mod base_path;
mod check_request;
mod entry_keys;
mod known_keys;
mod one_at_a_time;
mod request_rate;
mod safety_headers;
mod same_text;

pub(super) use self::allowed_host::AllowedHosts;
pub use self::base_path::BasePath;
pub(super) use self::check_request::{
    SIGN_IN, check_request, is_from_elsewhere, locked_out, refused, retry_after,
};
pub(super) use self::entry_keys::{EntryKeys, SignIn};
pub(super) use self::known_keys::KnownKeys;
pub(super) use self::one_at_a_time::{ExpensiveRead, OneAtATime};
pub(super) use self::request_rate::{CallerRates, RequestRate};
pub(super) use self::safety_headers::{add_safety_headers, raw_safety_headers};
