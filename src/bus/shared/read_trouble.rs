//! Lasting trouble with reading the bus, as with a newer version: reported once, and not each second.

use std::sync::Mutex;

use crate::bus::storage::LogError;
use crate::sys::mutex::lock;

/// The trouble that this process reported last.
#[derive(Default)]
pub(crate) struct ReadTrouble(Mutex<Option<String>>);

impl ReadTrouble {
    /// Warns of trouble, unless that was the last thing said.
    pub(crate) fn report(&self, error: &LogError) {
        if self.is_news(error) {
            tracing::warn!("failed to read the bus: {error}");
        } else {
            tracing::debug!("still failing to read the bus: {error}");
        }
    }

    /// Notes that all is well: what comes next is news.
    pub(crate) fn is_over(&self) {
        self.replace(None);
    }

    fn is_news(&self, error: &LogError) -> bool {
        let text = error.to_string();
        self.replace(Some(text.clone())).as_ref() != Some(&text)
    }

    fn replace(&self, text: Option<String>) -> Option<String> {
        let mut last = lock(&self.0);
        std::mem::replace(&mut *last, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_trouble_is_told_once_until_it_is_over() {
        let trouble = ReadTrouble::default();
        assert!(trouble.is_news(&LogError::Newer));
        assert!(!trouble.is_news(&LogError::Newer));
        assert!(trouble.is_news(&LogError::Removed));
        assert!(trouble.is_news(&LogError::Newer));
        trouble.is_over();
        assert!(trouble.is_news(&LogError::Newer));
    }
}
