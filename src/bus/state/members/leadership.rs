//! Which orchestrator leads. There is one lead as long as there is an orchestrator.
//!
//! What concerns the team, and no bridge in particular, goes to it. It goes on leading until it leaves, stops responding while another
//! responds, or another takes the lead.

use std::cmp::Reverse;

use crate::bus::event::LeadTaken;
use crate::bus::state::{Message, Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{MemberKind, PLAN_ROLE};
use crate::domain::messaging::Audience;
use crate::domain::name::Name;

impl Session {
    /// Says whether it runs a plan: it has no model that reads its mail.
    pub fn runs_plan(&self) -> bool {
        self.roles.iter().any(|role| role == PLAN_ROLE)
    }
}

impl Message {
    /// Says whether it is for whoever leads.
    pub(in crate::bus) fn is_for_lead(&self) -> bool {
        matches!(&self.audience, Audience::Group(group) if group.is_lead())
    }
}

impl State {
    /// Returns the orchestrator that leads.
    pub fn lead(&self) -> Option<&Session> {
        self.session(self.lead?)
    }

    /// Says whether a name has unread mail for whoever leads, or for the user.
    pub(in crate::bus) fn has_mail_for_lead(&self, name: &Name) -> bool {
        self.unread(name).any(|message| message.is_for_lead() || message.audience.is_human())
    }

    /// Returns who speaks with the user for the whole team: the lead, if it responds and has a model.
    pub fn speaks_with_user(&self) -> Option<&Session> {
        self.lead().filter(|lead| !lead.hung && !lead.runs_plan())
    }

    /// Says whether a session leads.
    pub fn is_lead(&self, session: SessionId) -> bool {
        self.lead().is_some_and(|lead| lead.id == session)
    }

    /// Returns the orchestrator that should lead: one that responds comes before one that does not, and one that runs a plan after all
    /// others. Of equal ones it is the one that leads, else the one that is here longest.
    pub(in crate::bus) fn rightful_lead(&self) -> Option<&Session> {
        let orchestrators =
            self.sessions.values().filter(|session| session.kind == MemberKind::Orchestrator);
        orchestrators.min_by_key(|session| {
            let leads = Reverse(self.is_lead(session.id));
            (session.runs_plan(), session.hung, leads, session.since_seq)
        })
    }

    /// Says whether nobody leads although somebody can, as on a bus of an older version. Where no session has a number yet, older versions
    /// still work, which know of no lead.
    pub(in crate::bus) fn lacks_lead(&self) -> bool {
        self.lead().is_none() && self.last_number.is_some() && self.rightful_lead().is_some()
    }

    pub(in crate::bus::state) fn lead_taken(&mut self, taken: &LeadTaken) {
        if self.sessions.contains_key(&taken.session) {
            self.lead = Some(taken.session);
        }
    }
}
