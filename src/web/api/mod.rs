//! The API for programs: what the pages show, as JSON of the same read model, for whoever has a key that may read; and what members do,
//! for whoever has a key that may do it, as the member of the key's name.

mod check_caller;
mod read_answers;
mod json_object;
mod read_request;
mod taken_back;
mod read_routes;
mod events;
mod writing;
mod names;
mod kept_answers;
mod idempotent;
mod endpoint;
mod open_api;
mod api_routes;

pub(super) use self::api_routes::api_routes;
pub(super) use self::check_caller::{API, identify, named_key};
pub(super) use self::kept_answers::KeptAnswers;
