//! Resumes agents that have ended: by their name, or because their work was cut short.

use std::collections::BTreeSet;

use super::assign_task::{Assigned, Assignment};
use super::launch_source::LaunchSource;
use crate::bus::Bus;
use crate::bus::state::{EndedSession, ResumeInfo, Session, State};
use crate::config::Command;
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{HOST_NAME_BYTES, Host, SessionNumber};
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::domain::text::visible_letters::quoted;
use crate::team::error::{HostError, TeamError};
use crate::team::team_handle::Team;

impl Team {
    /// Finds the ended agent to resume, by its name. A profile of that name takes precedence, unless the assignment says `resume`.
    pub(crate) fn ended_agent(
        &self,
        assignment: &Assignment,
    ) -> Result<Option<LaunchSource>, TeamError> {
        let is_profile = self.inner.config.profile(&assignment.agent).is_ok();
        let is_resume = assignment.resume || (assignment.name.is_none() && !is_profile);
        if let Some(number) = SessionNumber::parse(&assignment.agent).filter(|_| assignment.resume)
        {
            return self.ended_session(number, assignment).map(Some);
        }
        let own = self.bus().host();
        let found = Name::parse(&assignment.agent).ok().and_then(|name| {
            self.bus().look(|state| {
                let (left, past) = state.past_agent(&name)?;
                let source = LaunchSource::of_ended(state, left, past, assignment.fresh);
                Some(ended_here(own.as_ref(), left, past).map(|()| source))
            })
        });
        match found.filter(|_| is_resume) {
            None if assignment.resume => Err(self.never_here(&assignment.agent)),
            source => Ok(source.transpose()?),
        }
    }

    /// Finds the ended agent to resume by the number of its session. Two processes in one conversation would spoil it, so it must not go
    /// on already.
    fn ended_session(
        &self,
        number: SessionNumber,
        assignment: &Assignment,
    ) -> Result<LaunchSource, TeamError> {
        let own = self.bus().host();
        let found = self.bus().look(|state| {
            let mut left = state.departed().rev();
            let left = left.find(|left| left.number == Some(number))?;
            let past = left.past.as_ref()?;
            if state.has_played_a_trial(left.session) {
                return None;
            }
            if let Some(live) = self.in_conversation(state, past) {
                return Some(Err(TeamError::GoesOn { number, agent: live.name.clone() }));
            }
            let source = LaunchSource::of_ended(state, left, past, assignment.fresh);
            Some(ended_here(own.as_ref(), left, past).map(|()| source).map_err(TeamError::from))
        });
        found.unwrap_or_else(|| Err(self.never_here(&assignment.agent)))
    }

    /// Returns the number of an agent that had a name before this session, if its conversation can be resumed by that.
    pub(super) fn namesake(&self, name: &Name) -> Option<SessionNumber> {
        let own = self.bus().host();
        self.bus().look(|state| {
            let (left, past) = state.past_agent(name)?;
            let is_over = past.acp_session.is_some() && self.in_conversation(state, past).is_none();
            let is_over = is_over && ended_here(own.as_ref(), left, past).is_ok();
            left.number.filter(|_| is_over)
        })
    }

    /// Returns the live agent in whose process the conversation of an ended one goes on.
    fn in_conversation<'a>(&self, state: &'a State, past: &ResumeInfo) -> Option<&'a Session> {
        let wanted = past.acp_session.as_deref()?;
        let profile = self.config().profile(&past.profile);
        if profile.is_ok_and(|profile| profile.command.value == Command::OwnBinary) {
            // Each process of a script numbers its conversations anew.
            return None;
        }
        let is_in_it = |live: &&Session| {
            let run = live.run.as_ref().and_then(|run| run.acp_session.as_deref());
            run == Some(wanted) && live.profile.as_ref() == Some(&past.profile)
        };
        state.live_sessions().into_iter().find(is_in_it)
    }

    fn never_here(&self, name: &str) -> TeamError {
        let names: BTreeSet<Name> = self.bus().look(|state| {
            let left = state.departed().filter(|left| left.past.is_some());
            let left = left.filter(|left| state.live(&left.name).is_none());
            let left = left.filter(|left| !state.has_played_a_trial(left.session));
            left.map(|left| left.name.clone()).collect()
        });
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let like = nearest(name, &names);
        TeamError::NeverHere {
            name: name.chars().take(limits::SHOWN_NAME_CHARS).collect(),
            nearest: if like.is_empty() { names } else { like },
        }
    }

    /// Resumes the agent whose session this was, with its conversation, and assigns it the work.
    ///
    /// The assignment names the agent's profile, or this very agent. Returns `None` if the agent cannot be resumed: it is
    /// forgotten, its name is taken, it never had a conversation, or a process of it still runs.
    pub async fn resume_agent(
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
        let own = self.bus().host();
        let source = self.bus().look(|state| {
            let (left, past) = gone(state, session)?;
            let can_resume = past.acp_session.is_some() && state.live(&left.name).is_none();
            let can_resume = can_resume && ended_here(own.as_ref(), left, past).is_ok();
            (can_resume && is_meant(left, past))
                .then(|| LaunchSource::of_ended(state, left, past, assignment.fresh))
        });
        let Some(source) = source else {
            return Ok(None);
        };
        // Two processes in one conversation would spoil it.
        if !self.clean_up_after(session).await? {
            return Ok(None);
        }
        let prompt = Bus::body(assignment.prompt.clone());
        self.begin(assignment, prompt, source).await.map(Some)
    }
}

/// Refuses to resume an agent that ended on another machine than this one.
fn ended_here(own: Option<&Host>, left: &EndedSession, past: &ResumeInfo) -> Result<(), HostError> {
    let is_own = |host: &str| own.is_some_and(|own| own.is_called(host));
    match past.host.as_ref().filter(|host| !is_own(host)) {
        Some(host) => {
            let host = quoted(host, HOST_NAME_BYTES);
            Err(HostError::EndedThere { agent: left.name.clone(), host })
        }
        None => Ok(()),
    }
}

/// Finds an ended agent by its session.
fn gone(state: &State, session: SessionId) -> Option<(&EndedSession, &ResumeInfo)> {
    let left = state.departed().find(|left| left.session == session)?;
    Some((left, left.past.as_ref()?))
}
