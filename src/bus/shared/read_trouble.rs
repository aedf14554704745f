//! Lasting failures to read the bus, such as a newer format: reported once instead of every second.

use std::sync::Mutex;

use crate::bus::storage::LogError;
use crate::sys::mutex::lock;

/// The failure that this process reported last.
#[derive(Default)]
pub(crate) struct ReadTrouble(Mutex<Option<String>>);

impl ReadTrouble {
    /// Warns of a failure, unless it was the last one reported.
    pub(crate) fn report(&self, error: &LogError) {
        if self.is_new(error) {
            tracing::warn!("failed to read the bus: {error}");
        } else {
            tracing::debug!("still failing to read the bus: {error}");
        }
    }

    /// Notes that reading works again, so that the next failure is reported.
    pub(crate) fn is_over(&self) {
        self.replace(None);
    }

    fn is_new(&self, error: &LogError) -> bool {
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
    fn the_same_trouble_is_reported_once_until_it_is_over() {
        let trouble = ReadTrouble::default();
        assert!(trouble.is_new(&LogError::Newer));
        assert!(!trouble.is_new(&LogError::Newer));
        assert!(trouble.is_new(&LogError::Removed));
        assert!(trouble.is_new(&LogError::Newer));
        trouble.is_over();
        assert!(trouble.is_new(&LogError::Newer));
    }
}
