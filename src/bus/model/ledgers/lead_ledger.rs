//! Who leads, as plainly as possible: one orchestrator from its event on, for as long as it may.

use std::collections::BTreeMap;

use crate::bus::event::{Entry, Event};
use crate::bus::state::State;
use crate::domain::ids::SessionId;
use crate::domain::member::{MemberKind, PLAN_ROLE};

/// The live orchestrators.
#[derive(Default)]
pub(in crate::bus::model) struct LeadLedger {
    /// Each with how badly it would lead: one that runs a plan, one that does not respond, and its place in the order of joining.
    orchestrators: BTreeMap<SessionId, (bool, bool, usize)>,
    joined: usize,
    lead: Option<SessionId>,
}

impl LeadLedger {
    /// Records an entry, and checks that whoever leads after it is the one that should.
    pub(in crate::bus::model) fn enter(&mut self, entry: &Entry) {
        for event in &entry.events {
            self.enter_event(entry, event);
        }
        let Some(lead) = self.lead else {
            assert!(self.orchestrators.is_empty(), "somebody leads as long as somebody can");
            return;
        };
        let (plan, hung, _) = self.orchestrators[&lead];
        let better = self.orchestrators.values().find(|one| (one.0, one.1) < (plan, hung));
        assert_eq!(better, None, "one that responds leads");
    }

    fn enter_event(&mut self, entry: &Entry, event: &Event) {
        match event {
            Event::MemberJoined(joined)
                if joined.kind == MemberKind::Orchestrator
                    && !self.orchestrators.contains_key(&joined.session) =>
            {
                self.joined += 1;
                let runs_plan = joined.roles.iter().any(|role| role == PLAN_ROLE);
                self.orchestrators.insert(joined.session, (runs_plan, false, self.joined));
            }
            Event::MemberHung { session } => self.hang(*session, true),
            Event::MemberBack { session } => self.hang(*session, false),
            Event::MemberLeft { session, .. } => {
                self.orchestrators.remove(session);
                self.lead = self.lead.filter(|lead| lead != session);
            }
            Event::LeadTaken(taken) => {
                assert_ne!(self.lead, Some(taken.session), "it leads already");
                assert_eq!(taken.preempted, self.lead);
                let own = self.orchestrators[&taken.session];
                let takes_it = entry.events.iter().any(
                    |event| matches!(event, Event::MemberJoined(new) if new.session == taken.session),
                );
                let first = self.orchestrators.values().min();
                assert!(takes_it || first == Some(&own), "the one that is here longest leads");
                self.lead = Some(taken.session);
            }
            _ => {}
        }
    }

    fn hang(&mut self, session: SessionId, hangs: bool) {
        if let Some((_, hung, _)) = self.orchestrators.get_mut(&session) {
            *hung = hangs;
        }
    }

    pub(in crate::bus::model) fn check(&self, state: &State) {
        assert_eq!(state.lead().map(|lead| lead.id), self.lead);
        assert!(!state.lacks_lead());
    }
}
