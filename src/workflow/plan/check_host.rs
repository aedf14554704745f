//! The check of the host of a step: whether it is there, and starts the agent.

use super::check_draft::{Check, place};
use super::plan_draft::StepDraft;
use super::step_host::StepHost;
use crate::domain::member::HOST_NAME_BYTES;
use crate::domain::name::Name;
use crate::team::{Candidates, Where, role_of};

impl Check {
    /// Finds the host of a step. Another one must start agents of its profile for this machine.
    pub(super) fn host(&mut self, index: usize, draft: &StepDraft, known: &Candidates) -> StepHost {
        let Some(host) = draft.host.as_deref() else { return StepHost::Here };
        let found = self.find_host(index, (host, &draft.agent), known);
        if found.is_elsewhere() && !draft.gate.is_empty() {
            let what = "it runs where the workflow runs, but the step works on its `host`: leave one of the two out";
            self.add(place(index, "gate"), what);
        }
        found
    }

    fn find_host(
        &mut self,
        index: usize,
        (host, agent): (&str, &str),
        known: &Candidates,
    ) -> StepHost {
        if host.trim().is_empty() || host.len() > HOST_NAME_BYTES {
            let what = format!("it must be a name of 1 to {HOST_NAME_BYTES} bytes");
            self.add(place(index, "host"), what);
            return StepHost::Unknown;
        }
        if role_of(agent).is_some() {
            let what = "a host starts a new agent of a profile: name one instead of a role";
            self.add(place(index, "agent"), what);
            return StepHost::Unknown;
        }
        let profile = match Name::parse(agent) {
            Ok(profile) => profile,
            Err(error) => {
                self.add(place(index, "agent"), error.to_string());
                return StepHost::Unknown;
            }
        };
        let Some(hosts) = &known.hosts else { return StepHost::Unknown };
        match hosts.find(host, agent) {
            Ok(Where::Here) => StepHost::Here,
            Ok(Where::There(bridge)) => {
                if let Some(why) = hosts.why_not(bridge, &profile) {
                    self.add(place(index, "host"), why.to_string());
                }
                StepHost::There(Box::new(bridge.clone()))
            }
            Err(error) => {
                self.add(place(index, "host"), error.to_string());
                StepHost::Unknown
            }
        }
    }
}
