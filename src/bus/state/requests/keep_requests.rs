//! The only functions that change the requests of the state. They keep the index of the unanswered ones up to date.

use crate::bus::state::{Request, State, Unanswered};
use crate::domain::ids::RequestId;

impl State {
    /// Adds a request, or replaces the one with that id.
    pub(in crate::bus::state) fn put_request(&mut self, request: Request) {
        if let Some(before) = self.requests.get(&request.id) {
            self.unanswered.remove(before);
        }
        self.unanswered.enter(&request);
        self.requests.insert(request.id.clone(), request);
    }

    /// Changes a request; says whether there is one.
    pub(in crate::bus::state) fn change_request(
        &mut self,
        id: &RequestId,
        change: impl FnOnce(&mut Request),
    ) -> bool {
        let Some(request) = self.requests.get_mut(id) else {
            return false;
        };
        self.unanswered.remove(request);
        change(request);
        self.unanswered.enter(request);
        true
    }

    pub(in crate::bus::state) fn forget_request(&mut self, id: &RequestId) {
        if let Some(request) = self.requests.remove(id) {
            self.unanswered.remove(&request);
        }
    }

    /// Builds the index again. In older snapshots requests do not have the seq of their message.
    pub(in crate::bus::state) fn rebuild_unanswered(&mut self) {
        self.unanswered = Unanswered::default();
        let older = self.requests.values().filter(|request| request.seq == 0);
        let older: Vec<_> = older.map(|request| request.id.clone()).collect();
        for id in older {
            if let Some(request) = self.requests.get_mut(&id) {
                let message = self.messages.get(&request.message);
                request.seq = message.map_or(0, |message| message.seq);
            }
        }
        for request in self.requests.values() {
            self.unanswered.enter(request);
        }
    }
}
