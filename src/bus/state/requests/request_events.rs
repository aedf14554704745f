//! What each event of requests does to the state.

use crate::bus::event::Event;
use crate::bus::state::event_place::At;
use crate::bus::state::{Due, State};
use crate::domain::messaging::RequestStatus;

impl State {
    pub(in crate::bus::state) fn request_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::RequestOpened(opened) => self.request_opened(opened, at),
            Event::RequestNudged { id } => self.timers.stop(&Due::Nudge(id.clone())),
            Event::RequestClaimed { id, by, session } => self.request_claimed(id, by, *session, at),
            Event::ClaimUnheard(unheard) => self.claim_unheard(unheard, at),
            Event::ClaimKnown(known) => self.claim_known(known),
            Event::RequestReopened { id, lost_owners, released } => {
                self.request_reopened(id, (*lost_owners, *released), at);
            }
            Event::RequestRenewed { id, left_ms } => {
                self.lease_runs(id, at, Some(*left_ms));
            }
            Event::RequestReminded { id } => self.owner_reminded(id, at),
            Event::RequestHandedOver { id, to, session, .. } => {
                self.request_handed_over(id, to, *session, at);
            }
            Event::RequestFailed { id } => self.request_ended(id, RequestStatus::Failed),
            Event::RequestCompleted { id, .. } => self.request_ended(id, RequestStatus::Completed),
            Event::RequestExpired { id } => self.request_ended(id, RequestStatus::Expired),
            _ => {}
        }
    }
}
