//! Labels: the words for lanes, capabilities, topics and surfaces, by which members are addressed and found.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::name::{MAX_NAME_BYTES, Name};

/// A word with the letters of a name. Case does not count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(Name);

/// Why a text is not a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a word: use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter \
        or digit; the words all, human, bridge, you, and s with a number have a meaning of their own"
)]
pub struct LabelError(String);

impl Label {
    /// Parses a label.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        Name::parse(text).map(Self).map_err(|_| {
            // One character more than is allowed shows that there are more.
            LabelError(text.chars().take(MAX_NAME_BYTES + 1).collect())
        })
    }

    /// Returns the name of the same letters.
    pub fn name(&self) -> &Name {
        &self.0
    }

    /// Returns the word as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_word_without_another_meaning() {
        for text in ["storage", "Rust", "e2e", "x.y_z-1"] {
            assert_eq!(Label::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Label::parse("Rust"), Label::parse("rust"));
        for text in ["", "two words", "#topic", "@role", "all", "s7", "naïve", &"x".repeat(65)] {
            let error = Label::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is not a word")), "{error}");
        }
    }
}
