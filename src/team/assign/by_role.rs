//! Work for a role: an idle agent that has it, else a new one of the first profile with it.
//!
//! `@reviewer` is every agent that has that lane, role or capability; neither case nor a plural counts.

use super::assign_task::{Assigned, Assignment};
use super::candidates::Candidates;
use super::launch_source::LaunchSource;
use super::role_word::profile_with;
use crate::bus::Bus;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{Label, MemberKind};
use crate::domain::messaging::is_same_word;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::team::error::TeamError;
use crate::team::team_handle::Team;

impl Team {
    /// Assigns work to a role. Where no agent that has it is idle and no profile has it, a busy one queues the work.
    pub(super) async fn assign_to_role(
        &self,
        role: &Label,
        assignment: Assignment,
    ) -> Result<Assigned, TeamError> {
        let prompt = Bus::body(assignment.prompt.clone());
        let live = match &assignment.name {
            None => self.bus().look(|state| self.live_with(state, role, &assignment)),
            // A name asks for a new agent.
            Some(_) => None,
        };
        let profile = profile_with(self.config(), &self.inner.launch, role);
        match (live, profile) {
            (Some((session, agent, cwd, is_idle)), profile) if is_idle || profile.is_none() => {
                self.queue(assignment, prompt, session, agent, cwd.as_deref()).await
            }
            (_, Some(profile)) => {
                let source = LaunchSource::of_profile(profile.name.as_str());
                self.begin(assignment, prompt, source).await
            }
            (_, None) => Err(self.candidates().unknown_role(role)),
        }
    }

    /// Finds the live agent with a role that has the least to do, and says whether it is idle. A step gets one that works where this
    /// bridge does.
    fn live_with(
        &self,
        state: &State,
        role: &Label,
        assignment: &Assignment,
    ) -> Option<(SessionId, Name, Option<String>, bool)> {
        let me = self.inner.membership.session();
        let root = self.inner.launch.ground.to_string_lossy();
        let takes_work = |live: &&Session| {
            live.kind == MemberKind::Agent
                && live.stop.is_none()
                && !live.stuck
                && !live.hung
                && !state.plays_a_trial_of_another(live, me)
                // A trial gives real agents no work.
                && (!self.config().plays_script() || live.owner == Some(me))
                && (assignment.step.is_none() || live.cwd.as_deref() == Some(root.as_ref()))
        };
        let busy = |live: &Session| usize::from(live.running.is_some()) + live.queue.len();
        // Whoever else has that lane takes no work from agents.
        let with_it = state.live_sessions().into_iter().filter(|live| live.has_word(role.as_str()));
        let live = with_it.filter(takes_work).min_by_key(|live| (busy(live), live.since_seq))?;
        Some((live.id, live.name.clone(), live.cwd.clone(), busy(live) == 0))
    }
}

impl Candidates {
    /// Says why work for a role cannot be given to anybody now; none if it can.
    pub fn problem_with_role(&self, role: &Label) -> Option<TeamError> {
        let is_known = self.words.iter().any(|(word, _)| is_same_word(word, role.as_str()));
        (!is_known).then(|| self.unknown_role(role))
    }

    /// Returns why the programs of all profiles with a role are missing, if they are.
    pub fn missing_for_role(&self, role: &Label) -> Option<&str> {
        let is_it = |(word, _): &&(String, Option<String>)| is_same_word(word, role.as_str());
        let with_it: Vec<_> = self.words.iter().filter(is_it).collect();
        let is_missing = with_it.iter().all(|(_, missing)| missing.is_some());
        with_it.first().filter(|_| is_missing)?.1.as_deref()
    }

    /// Returns the error for a role that neither a live agent nor a profile has.
    pub fn unknown_role(&self, role: &Label) -> TeamError {
        let mut words: Vec<_> =
            self.words.iter().map(|(word, _)| format!("@{}", word.to_ascii_lowercase())).collect();
        words.sort();
        words.dedup();
        let role = format!("@{role}");
        TeamError::NoRole { nearest: nearest(&role, &words), role, words }
    }
}
