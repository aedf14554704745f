//! How much a message matters, on one scale from 0 to 1: its recipients read the most urgent messages first.

use std::cmp::Reverse;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::message::Priority;
use super::signal::Signal;

/// The steps of the scale: thousandths, which numbers of two or three digits name exactly.
const STEPS: f64 = 1_000.0;

/// How much a message matters, in thousandths: an integer, so that every process orders messages in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency(u16);

impl Urgency {
    /// Returns the highest step at or below a number from 0 to 1, and none for another one.
    pub fn new(number: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&number) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 1,000"
        )]
        let nearest = Self((number * STEPS).round() as u16);
        // The nearest step may be above the number, and that of a higher priority.
        let is_above = nearest.as_f64() > number;
        Some(Self(nearest.0 - u16::from(is_above)))
    }

    /// Returns the number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / STEPS
    }

    /// Returns the highest priority that it reaches.
    pub fn priority(self) -> Priority {
        let all = [Priority::Urgent, Priority::High, Priority::Normal];
        let reached = all.into_iter().find(|priority| self >= priority.urgency());
        reached.unwrap_or(Priority::Low)
    }

    /// Returns the key by which the most urgent comes first.
    pub fn first(self) -> Reverse<u16> {
        Reverse(self.0)
    }

    /// Returns the steps.
    pub fn thousandths(self) -> u16 {
        self.0
    }

    /// Returns the urgency of this many steps; above the scale its upper end.
    pub fn of_thousandths(steps: u16) -> Self {
        Self(steps.min(1_000))
    }
}

/// Returns the priority of a message, and its exact place on the scale where that is another one than that of the priority. A signal
/// has the word where the sender says neither.
pub fn scaled(
    said: Option<Priority>,
    exactly: Option<Urgency>,
    signal: Option<&Signal>,
) -> (Priority, Option<Urgency>) {
    if let Some(exactly) = exactly {
        let priority = exactly.priority();
        return (priority, (exactly != priority.urgency()).then_some(exactly));
    }
    (said.or_else(|| signal.map(Signal::priority)).unwrap_or_default(), None)
}

impl Priority {
    /// Returns its place on the scale.
    pub fn urgency(self) -> Urgency {
        Urgency(match self {
            Self::Low => 200,
            Self::Normal => 500,
            Self::High => 750,
            Self::Urgent => 950,
        })
    }
}

impl Serialize for Urgency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

/// A number outside of the scale, which the rules write nowhere, is its nearest end.
impl<'de> Deserialize<'de> for Urgency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        let number = if number.is_nan() { 0.5 } else { number.clamp(0.0, 1.0) };
        Ok(Self::new(number).unwrap_or(Self(500)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reaches_the_highest_priority_at_or_below_it() {
        for (number, priority) in [
            (0.0, Priority::Low),
            (0.2, Priority::Low),
            (0.499, Priority::Low),
            (0.5, Priority::Normal),
            (0.749, Priority::Normal),
            (0.749_999_999, Priority::Normal),
            (0.75, Priority::High),
            (0.8, Priority::High),
            (0.95, Priority::Urgent),
            (1.0, Priority::Urgent),
        ] {
            assert_eq!(Urgency::new(number).unwrap().priority(), priority, "{number}");
        }
        for priority in [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent] {
            assert_eq!(priority.urgency().priority(), priority);
        }
    }

    #[test]
    fn a_signal_has_the_word_where_the_sender_says_nothing() {
        let alarm = Signal::parse("alert").unwrap();
        let exactly = |number| Urgency::new(number);
        assert_eq!(scaled(None, None, Some(&alarm)), (Priority::High, None));
        assert_eq!(scaled(Some(Priority::Low), None, Some(&alarm)), (Priority::Low, None));
        assert_eq!(scaled(None, exactly(0.5), Some(&alarm)), (Priority::Normal, None));
        assert_eq!(scaled(None, exactly(0.8), None), (Priority::High, exactly(0.8)));
        assert_eq!(scaled(None, None, None), (Priority::Normal, None));
    }

    #[test]
    fn other_numbers_are_no_urgency() {
        for number in [-0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert_eq!(Urgency::new(number), None);
        }
    }

    #[test]
    fn every_step_reads_back_as_it_was_written() {
        for steps in 0..=1_000 {
            let urgency = Urgency(steps);
            let written = serde_json::to_string(&urgency).unwrap();
            assert_eq!(serde_json::from_str::<Urgency>(&written).unwrap(), urgency, "{written}");
        }
    }
}
