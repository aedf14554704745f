//! The source of a new agent: a profile, or an ended agent that is resumed.

use crate::acp::AcpSessionId;
use crate::bus::state::{EndedSession, ResumeInfo, State};
use crate::domain::member::SessionNumber;
use crate::domain::name::Name;

pub(crate) struct LaunchSource {
    /// The ended agent that is resumed; `None` for a new one.
    pub(crate) name: Option<Name>,
    /// Whether that name stays a generated one.
    pub(crate) is_generated: bool,
    pub(crate) profile: String,
    pub(crate) cwd: Option<String>,
    pub(crate) model: Option<String>,
    /// The conversation to resume.
    pub(crate) earlier: Option<AcpSessionId>,
}

impl LaunchSource {
    pub(crate) fn of_profile(profile: &str) -> Self {
        Self {
            name: None,
            is_generated: true,
            profile: profile.to_owned(),
            cwd: None,
            model: None,
            earlier: None,
        }
    }

    /// Resumes an ended agent. Its name stays as it was: one that the bridge chose does not wait for its return.
    pub(crate) fn of_ended(
        state: &State,
        left: &EndedSession,
        past: &ResumeInfo,
        fresh: bool,
    ) -> Self {
        let earlier = past.acp_session.as_deref().filter(|_| !fresh);
        let is_generated = match state.member(&left.name) {
            Some(member) => !member.chosen,
            // Nothing has remained of the name.
            None => left.name.is_like(&past.profile),
        };
        Self {
            name: Some(left.name.clone()),
            is_generated,
            profile: past.profile.clone(),
            cwd: Some(past.cwd.clone()),
            model: past.model.clone().filter(|_| !fresh),
            earlier: earlier.map(AcpSessionId::from),
        }
    }
}

/// Says that an agent, which has this name now, goes on as one that had ended under a name.
pub(crate) fn resume_note(now: &Name, before: &Name, earlier: Option<&AcpSessionId>) -> String {
    let conversation = if earlier.is_some() { "" } else { ": its conversation starts empty" };
    if now == before {
        return format!("`{now}` was restarted{conversation}");
    }
    format!("an ended `{before}` was restarted as `{now}`{conversation}")
}

/// Says of a new agent that its name was that of an earlier one, whose conversation can be resumed.
pub(crate) fn namesake_note(name: &Name, earlier: SessionNumber) -> String {
    format!(
        "`{name}` is a new agent with an empty conversation; to go on with that of the earlier \
         `{name}`, use agent `{earlier}` with `resume`"
    )
}

/// Says why a new agent does not have the name of its profile, although no live member has it.
pub(crate) fn kept_name_note(profile: &Name, name: &Name) -> String {
    format!(
        "the new agent is `{name}`, because the name `{profile}` was given to an agent that has \
         ended, and is kept for its return: `resume` brings it back"
    )
}
