//! The requests of a state agree with the ledger.

use std::collections::BTreeMap;

use super::asked_request::Asked;
use super::ledger::Ledger;
use crate::bus::state::{Delivery, Due, Request, State};
use crate::domain::ids::RequestId;
use crate::domain::member::Activity;
use crate::domain::messaging::RequestStatus;

impl Ledger {
    pub(super) fn check_requests(&self, state: &State) {
        let unheard = state.sessions.values().flat_map(|session| {
            let unheard = session.unheard.iter();
            unheard.map(|(request, call)| (request.clone(), (session.id, *call)))
        });
        assert_eq!(unheard.collect::<BTreeMap<_, _>>(), self.unheard);
        for (id, asked) in &self.requests {
            let request = state.request(id).expect("fewer than the state keeps");
            assert_eq!((request.status, &request.from), (asked.status, &asked.from));
            let runs = |due: fn(RequestId) -> Due| state.timers.runs(&due(id.clone()));
            assert_eq!(runs(Due::Expire), asked.status == RequestStatus::Open);
            if asked.status != RequestStatus::Open {
                assert!(!runs(Due::Nudge));
            }
            if asked.status != RequestStatus::Claimed {
                assert!(!runs(Due::Lease));
            }
            if asked.status == RequestStatus::Claimed {
                let owner = request.owner.as_ref().expect("a claimed request has an owner");
                assert_eq!((Some(owner.session), owner.fence), (asked.owner, asked.fence));
                assert!(self.is_live(owner.session) || runs(Due::Reopen));
                let session = state.session(owner.session);
                let works = session.is_some_and(|session| {
                    let in_turn =
                        matches!(session.activity, Activity::Starting | Activity::Running);
                    session.owner.is_some() && in_turn
                });
                assert_eq!(runs(Due::Lease), asked.leased && !works, "its lease runs");
                assert_eq!(request.lost_owners, asked.lost_owners);
            }
            if asked.status == RequestStatus::Open {
                self.check_offered(state, asked, request);
            }
        }
    }

    /// An open request was shown, or will be shown, to all live members that may claim it.
    fn check_offered(&self, state: &State, asked: &Asked, request: &Request) {
        let message = state.message(&asked.message).expect("it is still needed");
        for session in &self.live {
            let name = &self.names[session];
            let delivery = message.delivery(name);
            let withdrawn = matches!(delivery, None | Some(Delivery::Superseded));
            let may_claim =
                state.session(*session).is_some_and(|live| state.may_claim(live, request));
            // Requests for a group come a moment after the session has come into it.
            let comes = state.newcomers().any(|newcomer| newcomer == *session);
            assert!(!may_claim || !withdrawn || comes, "{name} is not offered it");
        }
    }
}
