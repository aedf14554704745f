//! Whom a name, a session or a role of another specification means here.

use axum::http::StatusCode;

use crate::bus::Membership;
use crate::bus::rules::known_member;
use crate::bus::state::State;
use crate::domain::member::Label;
use crate::domain::messaging::is_same_word;
use crate::domain::name::Name;
use crate::web::api::writing::why_not;
use crate::web::problem::Problem;

/// Returns the address that a role means: a member by its name, else a group of members.
pub(super) fn address_of_role(me: &Membership, role: String) -> Result<String, Problem> {
    me.bus().refresh().map_err(|error| why_not(&error))?;
    let is_member = me.bus().look(|state| known_member(state, &role).is_ok());
    let is_address = is_member || role.starts_with(['@', '#']);
    Ok(if is_address { role } else { format!("@{role}") })
}

/// Returns the address of a member, which may be named by its name, by its session such as `s7`, or by both. A role is checked as far as
/// the member is there.
pub(super) fn address_of_member(
    me: &Membership,
    (name, session): (Option<String>, Option<String>),
    role: Option<&str>,
) -> Result<String, Problem> {
    me.bus().refresh().map_err(|error| why_not(&error))?;
    let (to, other) = match (name, session) {
        (Some(name), session) => (name, session),
        (None, Some(session)) => (session, None),
        (None, None) => return Err(wrong("A member has a name or an `agent_id`")),
    };
    me.bus().look(|state| {
        let live = state.live_as(&to);
        if let Some(other) = other
            && state.live_as(&other).is_none_or(|it| live.is_none_or(|live| live.id != it.id))
        {
            let problem = wrong("The name and the session are not those of one member");
            return Err(problem.with_detail(format!("`{other}` is no live session of `{to}`")));
        }
        if let (Some(role), Some(live)) = (role, live)
            && !live.roles.iter().any(|own| is_same_word(own, role))
        {
            let problem = wrong("The member does not have that role");
            return Err(problem.with_detail(format!("`{to}` does not have the role `{role}`")));
        }
        Ok(())
    })?;
    Ok(to)
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

/// Returns the word of an address `@word` that means a member among others: a lane that it does, its role or its capability.
pub(super) fn own_word(me: &Membership, role: &str) -> Option<Label> {
    let word = Label::parse(role.strip_prefix('@').unwrap_or(role)).ok()?;
    let is_own = me.bus().look(|state| {
        let own = state.session(me.session())?;
        let is_same = |own: &str| is_same_word(own, word.as_str());
        let is_role = own.roles.iter().any(|role| is_same(role));
        let is_capability = own.traits.capabilities.iter().any(|one| is_same(one.as_str()));
        Some(is_role || is_capability || own.does_lane(word.as_str()))
    });
    is_own.unwrap_or_default().then_some(word)
}

/// Refuses a role that is neither the name of the key nor a lane, role or capability of its member.
pub(super) fn check_own_role(me: &Membership, given: &str) -> Result<(), Problem> {
    if own_word(me, given).is_some() { Ok(()) } else { check_own_name(me.name(), given) }
}

/// Refuses a member that is not the key's, by its name or by its session.
pub(super) fn check_own_member(me: &Membership, given: &str) -> Result<(), Problem> {
    let is_own = |state: &State| state.live_as(given).is_some_and(|live| live.id == me.session());
    if me.bus().look(is_own) { Ok(()) } else { check_own_name(me.name(), given) }
}

pub(super) fn wrong(title: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-recipient", title)
}
