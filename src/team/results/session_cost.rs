//! The cost of an agent's session, and the share of each turn.

use crate::domain::task::result::{Context, Money};

/// The cost of an agent's session: agents report one growing sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionCost {
    Nothing,
    Sum(Money),
    /// Not known: an earlier process had the session.
    Unknown,
}

/// Returns the initial context and cost of a process, given whether there was an earlier session to resume, and whether that
/// succeeded.
pub(crate) fn at_start_of_process(earlier: bool, resumed: bool) -> (Context, SessionCost) {
    match (earlier, resumed) {
        (_, true) => (Context::Resumed, SessionCost::Unknown),
        (true, false) => (Context::Lost, SessionCost::Nothing),
        (false, false) => (Context::New, SessionCost::Nothing),
    }
}

impl SessionCost {
    /// Updates the sum; returns what the turn added, if that is known.
    pub(crate) fn grow(&mut self, sum: Option<Money>) -> Option<Money> {
        let sum = sum?;
        let added = match self {
            Self::Nothing => Some(sum.clone()),
            Self::Sum(earlier) => sum.since(earlier),
            Self::Unknown => None,
        };
        *self = Self::Sum(sum);
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_costs_what_the_sum_of_its_session_grew_by() {
        let dollars = |amount| Money::of(amount, "USD");
        let mut session_cost = SessionCost::Nothing;
        assert_eq!(session_cost.grow(dollars(0.5)), dollars(0.5));
        assert_eq!(session_cost.grow(None), None);
        assert_eq!(session_cost.grow(dollars(0.75)), dollars(0.25));
        assert_eq!(session_cost.grow(dollars(0.1)), None, "the agent began anew");
        let mut resumed = SessionCost::Unknown;
        assert_eq!(resumed.grow(dollars(3.0)), None);
        assert_eq!(resumed.grow(dollars(4.0)), dollars(1.0));
    }
}
