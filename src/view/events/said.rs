//! What one event says, before it gets its place and time.

use super::Topic;

/// What an event says, without its place and time.
pub(super) struct Said {
    pub(super) topic: Topic,
    pub(super) members: Vec<String>,
    pub(super) ids: Vec<String>,
    pub(super) words: String,
}

impl Said {
    pub(super) fn new(topic: Topic, words: String) -> Self {
        Self { topic, members: Vec::new(), ids: Vec::new(), words }
    }

    /// Adds words at the end.
    pub(super) fn and(mut self, words: &str) -> Self {
        self.words.push_str(words);
        self
    }

    pub(super) fn about(mut self, members: impl IntoIterator<Item = String>) -> Self {
        for member in members {
            if !self.members.contains(&member) {
                self.members.push(member);
            }
        }
        self
    }

    pub(super) fn with_ids(mut self, ids: impl IntoIterator<Item = String>) -> Self {
        for id in ids {
            if !self.ids.contains(&id) {
                self.ids.push(id);
            }
        }
        self
    }
}
