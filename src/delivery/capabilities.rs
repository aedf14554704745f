//! The methods that get into a running turn of an agent, by its profile and its offers.

use crate::config::MidTurn;
use crate::domain::messaging::DeliveryMethod;

/// When a running turn may be steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteerWhen {
    Always,
    /// While no tool call runs; for urgent messages at any time.
    BetweenCalls,
}

/// The delivery methods into a running turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    pub steer: Option<SteerWhen>,
    /// The agent drains: it asks for messages.
    pub drains: bool,
}

/// The offers and actions of an agent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// It offers steering, and no attempt has proven otherwise.
    pub steers: bool,
    /// It has asked for messages in a turn.
    pub drains: bool,
}

impl Reach {
    /// Combines both: steering only where it is offered, draining where the profile says so or the agent has drained.
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

    /// Says whether any method gets into the turn.
    pub fn is_any(self) -> bool {
        self.steer.is_some() || self.drains
    }

    /// Returns the methods by which the bridge delivers messages: those into a running turn first.
    pub fn methods(self) -> Vec<DeliveryMethod> {
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
    fn an_agent_is_steered_only_if_it_offers_that_and_drained_if_it_asks() {
        let shown = |steers, drains| Shown { steers, drains };
        let methods = |profile, shown| {
            let methods = Reach::of(profile, shown).methods();
            methods.into_iter().map(DeliveryMethod::as_str).collect::<Vec<_>>()
        };
        let rest = ["prompt", "inject"];
        assert_eq!(methods(MidTurn::Steer, shown(false, false)), rest);
        assert_eq!(methods(MidTurn::Steer, shown(true, false)), ["steer", "prompt", "inject"]);
        assert_eq!(methods(MidTurn::Drain, shown(false, false)), ["drain", "prompt", "inject"]);
        assert_eq!(
            methods(MidTurn::SteerBetweenCalls, shown(true, true)),
            ["steer", "drain", "prompt", "inject"]
        );
        assert_eq!(methods(MidTurn::Never, shown(true, true)), rest);
    }
}
