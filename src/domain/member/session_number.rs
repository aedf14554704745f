//! The number of a session on its bus: `s7` names one life of a member, while a name lasts from life to life.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a session. A bus gives each number once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionNumber(u64);

impl SessionNumber {
    /// The number of the first session.
    pub const FIRST: Self = Self(1);

    /// Makes a number of an integer, for tests.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of(number: u64) -> Self {
        Self(number)
    }

    /// Parses `s7`; case does not count. No member can have such a name.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(['s', 'S'])?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok().map(Self)).flatten()
    }

    /// Returns the number after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for SessionNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::Name;

    #[test]
    fn a_number_is_read_as_it_is_shown_and_is_no_name() {
        for text in ["s1", "s7", "s12345678901234567890", "S7", "s007"] {
            assert!(Name::parse(text).is_err(), "{text}");
        }
        assert_eq!(SessionNumber::parse("S07"), SessionNumber::parse("s7"));
        assert_eq!(SessionNumber::parse("s7").unwrap().to_string(), "s7");
        for text in ["", "s", "7", "s-7", "s7a", "ss7", "s 7", "s99999999999999999999"] {
            assert_eq!(SessionNumber::parse(text), None, "{text}");
        }
    }
}
