//! The answer to what a specification has, and the team's model has not; and what its roles mean here.

use axum::http::StatusCode;

use crate::bus::Membership;
use crate::bus::rules::known_member;
use crate::domain::name::Name;
use crate::web::api::writing::why_not;
use crate::web::problem::Problem;

/// Says that something is not there yet, and what is.
pub(super) fn not_yet(what: &str, hint: &'static str) -> Problem {
    let title = "This team has no such thing yet";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not-yet", title).with_detail(what).with_hint(hint)
}

/// Returns the address that a role means: a member by its name, else a group of members.
pub(super) fn address_of_role(me: &Membership, role: String) -> Result<String, Problem> {
    me.bus().refresh().map_err(|error| why_not(&error))?;
    let is_member = me.bus().look(|state| known_member(state, &role).is_ok());
    let is_address = is_member || role.starts_with(['@', '#']);
    Ok(if is_address { role } else { format!("@{role}") })
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
