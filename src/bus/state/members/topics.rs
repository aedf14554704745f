//! How following and leaving a topic change the state. The topics that a session follows stand among its traits.

use crate::bus::event::Followed;
use crate::bus::state::State;
use crate::domain::limits;

impl State {
    pub(in crate::bus::state) fn topic_followed(&mut self, followed: &Followed) {
        let Some(session) = self.sessions.get_mut(&followed.session) else {
            return;
        };
        let topics = &mut session.traits.topics;
        if !topics.contains(&followed.topic) && topics.len() < limits::FOLLOWED_TOPICS {
            topics.push(followed.topic.clone());
        }
    }

    pub(in crate::bus::state) fn topic_left(&mut self, left: &Followed) {
        if let Some(session) = self.sessions.get_mut(&left.session) {
            session.traits.topics.retain(|topic| *topic != left.topic);
        }
    }
}
