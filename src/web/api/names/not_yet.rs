//! The answer to what a specification has, and the team's model has not.

use axum::http::StatusCode;

use crate::domain::name::Name;
use crate::web::problem::Problem;

/// Says that something is not there yet, and what is.
pub(super) fn not_yet(what: &str, hint: &'static str) -> Problem {
    let title = "This team has no such thing yet";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not-yet", title).with_detail(what).with_hint(hint)
}

/// Refuses a name that is not that of the key: a program speaks for itself alone.
pub(super) fn check_own_name(me: &Name, given: &str) -> Result<(), Problem> {
    if Name::parse(given).is_ok_and(|given| given == *me) {
        return Ok(());
    }
    let title = "A key is for the member of its name alone";
    Err(Problem::new(StatusCode::FORBIDDEN, "not-you", title)
        .with_detail(format!("this key is that of `{me}`")))
}
