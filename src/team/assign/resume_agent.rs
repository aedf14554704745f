//! Agents that have ended and are called back: by their name, or because their work was cut short.

use std::collections::BTreeSet;

use super::assign_task::{Assigned, Assignment};
use crate::acp::AcpSessionId;
use crate::bus::Bus;
use crate::bus::state::{EndedSession, ResumeInfo, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::team::team_handle::{Team, TeamError};

/// Where a new agent comes from.
pub(crate) struct Origin {
    /// Who is called back; none for somebody new.
    pub(crate) name: Option<Name>,
    /// Whether that name stays one that was made up.
    pub(crate) made_up: bool,
    pub(crate) profile: String,
    pub(crate) cwd: Option<String>,
    pub(crate) model: Option<String>,
    /// The conversation to be taken up again.
    pub(crate) earlier: Option<AcpSessionId>,
}

impl Origin {
    pub(crate) fn of_profile(assignment: &Assignment) -> Self {
        Self {
            name: None,
            made_up: true,
            profile: assignment.agent.clone(),
            cwd: None,
            model: None,
            earlier: None,
        }
    }

    fn of_past(name: Name, past: &ResumeInfo, fresh: bool) -> Self {
        let earlier = past.acp_session.as_deref().filter(|_| !fresh);
        Self {
            name: Some(name),
            made_up: false,
            profile: past.profile.clone(),
            cwd: Some(past.cwd.clone()),
            model: past.model.clone().filter(|_| !fresh),
            earlier: earlier.map(AcpSessionId::from),
        }
    }
}

pub(crate) fn told_return(name: &Name, earlier: Option<&AcpSessionId>) -> String {
    let conversation = if earlier.is_some() {
        "`context` of its result says whether its conversation was restored"
    } else {
        "its conversation starts empty"
    };
    format!("`{name}` was restarted: {conversation}")
}

impl Team {
    /// Finds the ended agent that is to be called back: one of that name, unless a profile is called so and nobody insists.
    pub(crate) fn past(&self, assignment: &Assignment) -> Result<Option<Origin>, TeamError> {
        let is_profile = self.inner.config.profile(&assignment.agent).is_ok();
        let wanted = assignment.resume || (assignment.name.is_none() && !is_profile);
        let found = Name::parse(&assignment.agent).ok().and_then(|name| {
            self.bus().look(|state| {
                let (left, past) = state.past_agent(&name)?;
                Some(Origin::of_past(left.name.clone(), past, assignment.fresh))
            })
        });
        match found.filter(|_| wanted) {
            None if assignment.resume => Err(self.never_here(&assignment.agent)),
            origin => Ok(origin),
        }
    }

    fn never_here(&self, name: &str) -> TeamError {
        let names: BTreeSet<Name> = self.bus().look(|state| {
            let left = state.departed().filter(|left| left.past.is_some());
            let left = left.filter(|left| state.live(&left.name).is_none());
            left.map(|left| left.name.clone()).collect()
        });
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let like = nearest(name, &names);
        TeamError::NeverHere {
            name: name.chars().take(limits::SHOWN_NAME_CHARS).collect(),
            nearest: if like.is_empty() { names } else { like },
        }
    }

    /// Calls back the agent whose session this was, to go on in its conversation, and assigns it the work.
    ///
    /// The assignment names whom it is for: a profile, of which the agent has to be, or this very agent. Nothing when that cannot
    /// be: it is not known any more, its name is taken, it never had a conversation, or something of it still runs.
    pub async fn call_back(
        &self,
        session: SessionId,
        assignment: Assignment,
    ) -> Result<Option<Assigned>, TeamError> {
        self.bus().refresh()?;
        let profile = self.config().profile(&assignment.agent).ok();
        let is_meant = |left: &EndedSession, past: &ResumeInfo| match profile {
            Some(profile) => past.profile == profile.name.as_str(),
            None => left.name.as_str().eq_ignore_ascii_case(&assignment.agent),
        };
        let origin = self.bus().look(|state| {
            let (left, past) = gone(state, session)?;
            let can_return = past.acp_session.is_some() && state.live(&left.name).is_none();
            (can_return && is_meant(left, past)).then(|| Origin {
                made_up: state.member(&left.name).is_none() || state.is_made_up(&left.name),
                ..Origin::of_past(left.name.clone(), past, assignment.fresh)
            })
        });
        let Some(origin) = origin else {
            return Ok(None);
        };
        // Two processes in one conversation would spoil it.
        if !self.sweep_up_behind(session).await? {
            return Ok(None);
        }
        let prompt = Bus::body(assignment.prompt.clone());
        self.begin(assignment, prompt, origin).await.map(Some)
    }
}

/// Finds an agent that has left by its session.
fn gone(state: &State, session: SessionId) -> Option<(&EndedSession, &ResumeInfo)> {
    let left = state.departed().find(|left| left.session == session)?;
    Some((left, left.past.as_ref()?))
}
