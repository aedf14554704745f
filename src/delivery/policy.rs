//! The ladder in a running turn: by which way its agent's mail goes there now. A pure function.
//!
//! Who has mail in its hands already is not asked here: only unread messages are mail, and each is handed over once, on the bus.

use tokio::time::Instant;

use super::capabilities::Reach;
use super::methods::wake_idle::Tried;
use super::methods::{interrupt, steer, wake_idle};
use crate::bus::state::State;
use crate::domain::messaging::Priority;
use crate::domain::name::Name;

/// The unread messages of an agent that are worth a turn, or getting into one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// The place of the newest.
    pub newest: Option<u64>,
    /// The place of the newest that is urgent.
    pub urgent: Option<u64>,
}

/// A running turn, as far as its mail is concerned.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub struct Busy {
    /// The time.
    pub now: Instant,
    /// What can carry words into it.
    pub reach: Reach,
    /// Whether the agent has not yet said what became of the last ones.
    pub steering: bool,
    /// Before when none are put there.
    pub not_before: Option<Instant>,
    /// Whether a tool call runs.
    pub calls: bool,
    /// Whether it waits for permission.
    pub asking: bool,
    /// Whether it is being ended for a message already.
    pub interrupted: bool,
}

/// What to do with the mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailAction {
    /// Put it into the turn.
    Steer,
    /// End the turn for it.
    Interrupt,
    /// Look again then.
    Later(Instant),
    /// Leave it: a tool's result takes it along, the agent asks for it, or the next prompt has it.
    Leave,
}

impl Mail {
    /// Reads it off the state, but for what wakes that failed have tried.
    pub fn of(state: &State, name: &Name, tried: &Tried) -> Self {
        let urgent = wake_idle::waking(state, name, tried)
            .filter(|message| message.priority == Priority::Urgent)
            .map(|message| message.seq);
        Self { newest: wake_idle::worth_a_turn(state, name, tried), urgent: urgent.max() }
    }
}

/// Decides about the mail of an agent that is in a turn.
pub fn rung(mail: &Mail, busy: &Busy) -> MailAction {
    if interrupt::is_due(mail, busy) {
        return MailAction::Interrupt;
    }
    let due = busy.reach.steer.and_then(|when| steer::due(mail, when, busy));
    match due {
        Some(due) if due <= busy.now => MailAction::Steer,
        Some(due) => MailAction::Later(due),
        None => MailAction::Leave,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::delivery::capabilities::SteerWhen;

    const NONE: Mail = Mail { newest: None, urgent: None };
    const MAIL: Mail = Mail { newest: Some(7), urgent: None };
    const URGENT: Mail = Mail { newest: Some(9), urgent: Some(8) };

    fn steered(when: SteerWhen) -> Busy {
        Busy { reach: Reach { steer: Some(when), drains: false }, ..out_of_reach() }
    }

    fn out_of_reach() -> Busy {
        Busy {
            now: Instant::now(),
            reach: Reach::default(),
            steering: false,
            not_before: None,
            calls: false,
            asking: false,
            interrupted: false,
        }
    }

    #[test]
    fn mail_is_steered_at_once_and_not_while_some_is_on_its_way() {
        let busy = steered(SteerWhen::Always);
        assert_eq!(rung(&NONE, &busy), MailAction::Leave);
        assert_eq!(rung(&MAIL, &busy), MailAction::Steer);
        let on_its_way = Busy { steering: true, ..busy };
        assert_eq!(rung(&URGENT, &on_its_way), MailAction::Leave);
        let later = busy.now + Duration::from_secs(1);
        let just_steered = Busy { not_before: Some(later), ..busy };
        assert_eq!(rung(&MAIL, &just_steered), MailAction::Later(later));
        let then = Busy { now: later, ..just_steered };
        assert_eq!(rung(&MAIL, &then), MailAction::Steer);
    }

    #[test]
    fn a_tool_call_that_steering_would_leave_is_left_alone_but_for_what_is_urgent() {
        let calling = |when| Busy { calls: true, ..steered(when) };
        assert_eq!(rung(&MAIL, &calling(SteerWhen::Always)), MailAction::Steer);
        assert_eq!(rung(&MAIL, &calling(SteerWhen::BetweenCalls)), MailAction::Leave);
        assert_eq!(rung(&URGENT, &calling(SteerWhen::BetweenCalls)), MailAction::Steer);
        let asking = Busy { asking: true, ..steered(SteerWhen::Always) };
        assert_eq!(rung(&MAIL, &asking), MailAction::Leave);
        assert_eq!(rung(&URGENT, &asking), MailAction::Steer);
    }

    #[test]
    fn only_what_is_urgent_ends_a_turn_and_only_where_nothing_else_gets_into_it() {
        let busy = out_of_reach();
        assert_eq!(rung(&MAIL, &busy), MailAction::Leave);
        assert_eq!(rung(&URGENT, &busy), MailAction::Interrupt);
        assert_eq!(rung(&URGENT, &steered(SteerWhen::Always)), MailAction::Steer);
        let drains = Busy { reach: Reach { steer: None, drains: true }, ..busy };
        assert_eq!(rung(&URGENT, &drains), MailAction::Leave, "it asks for it itself");
        let interrupted = Busy { interrupted: true, ..busy };
        assert_eq!(rung(&URGENT, &interrupted), MailAction::Leave);
    }
}
