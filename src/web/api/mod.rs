//! The API for programs: what the pages show, as JSON of the same read model, for whoever has a key that may read. It only reads.

mod api_routes;
mod check_caller;

pub(super) use self::api_routes::api_routes;
pub(super) use self::check_caller::{API, closed_to};
