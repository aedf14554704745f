//! Every change of the requests in the state, so that the index of the unanswered ones follows each of them.

use crate::bus::state::{Request, State, Unanswered};
use crate::domain::ids::RequestId;

impl State {
    /// Adds a request, or replaces the one of that id.
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

    /// Forgets a request.
    pub(in crate::bus::state) fn forget_request(&mut self, id: &RequestId) {
        if let Some(request) = self.requests.remove(id) {
            self.unanswered.remove(&request);
        }
    }

    /// Builds the index again. Requests of older snapshots do not know the place of their message.
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
