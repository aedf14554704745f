//! What can carry words into a running turn of an agent, as its profile and the agent itself say.

use crate::config::MidTurn;
use crate::domain::messaging::DeliveryMethod;

/// When words may be put into a running turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteerWhen {
    /// At any time.
    Always,
    /// While no tool call runs; what is urgent at any time.
    BetweenCalls,
}

/// What can carry words into a running turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The bridge puts them there.
    pub steer: Option<SteerWhen>,
    /// The agent asks for them.
    pub drains: bool,
}

/// What an agent has shown so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// It says that it can be steered, and no attempt has proven otherwise.
    pub steers: bool,
    /// It has asked for messages in a turn.
    pub drains: bool,
}

impl Reach {
    /// Tells what there is: steering only where it is offered, draining where it is known of such an agent or was seen.
    pub fn of(profile: MidTurn, shown: Shown) -> Self {
        let when = match profile {
            MidTurn::Steer | MidTurn::Drain => Some(SteerWhen::Always),
            MidTurn::SteerBetweenCalls => Some(SteerWhen::BetweenCalls),
            MidTurn::Never => return Self::default(),
        };
        Self {
            steer: when.filter(|_| shown.steers),
            drains: profile == MidTurn::Drain || shown.drains,
        }
    }

    /// Says whether there is anything.
    pub fn is_any(self) -> bool {
        self.steer.is_some() || self.drains
    }

    /// Returns the ways by which the bridge hands over messages: those into a running turn first.
    pub fn ways(self) -> Vec<DeliveryMethod> {
        let steer = self.steer.map(|_| DeliveryMethod::Steer);
        let drain = self.drains.then_some(DeliveryMethod::Drain);
        let others = [DeliveryMethod::Prompt, DeliveryMethod::Inject];
        steer.into_iter().chain(drain).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_steered_only_where_it_says_so_and_drained_where_it_asks() {
        let shown = |steers, drains| Shown { steers, drains };
        let ways = |profile, shown| {
            let ways = Reach::of(profile, shown).ways();
            ways.into_iter().map(DeliveryMethod::as_str).collect::<Vec<_>>()
        };
        let rest = ["prompt", "inject"];
        assert_eq!(ways(MidTurn::Steer, shown(false, false)), rest);
        assert_eq!(ways(MidTurn::Steer, shown(true, false)), ["steer", "prompt", "inject"]);
        assert_eq!(ways(MidTurn::Drain, shown(false, false)), ["drain", "prompt", "inject"]);
        assert_eq!(
            ways(MidTurn::SteerBetweenCalls, shown(true, true)),
            ["steer", "drain", "prompt", "inject"]
        );
        assert_eq!(ways(MidTurn::Never, shown(true, true)), rest);
    }
}
