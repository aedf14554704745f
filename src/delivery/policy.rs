//! The delivery policy for a running turn: which method delivers the agent's pending mail now. A pure function.
//!
//! Messages in flight are not considered: only unread messages are pending, and the bus has at most one delivery of each in flight.

use tokio::time::Instant;

use super::methods::{interrupt, steer};
use super::pending_mail::{PendingMail, RunningTurn};

/// What to do with pending mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailAction {
    /// Put it into the turn.
    Steer,
    /// End the turn for it.
    Interrupt,
    /// Decide again at this time.
    Later(Instant),
    /// Leave it: it is attached to a tool's result, the agent asks for it, or the next prompt carries it.
    Leave,
}

/// Decides about the pending mail of an agent in a turn.
pub fn mail_action(mail: &PendingMail, turn: &RunningTurn) -> MailAction {
    if interrupt::is_due(mail, turn) {
        return MailAction::Interrupt;
    }
    let due = turn.reach.steer.and_then(|when| steer::due(mail, when, turn));
    match due {
        Some(due) if due <= turn.now => MailAction::Steer,
        Some(due) => MailAction::Later(due),
        None => MailAction::Leave,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::delivery::capabilities::{Reach, SteerWhen};

    const NONE: PendingMail = PendingMail { newest: None, waking: None, urgent: None };
    const MAIL: PendingMail = PendingMail { newest: Some(7), waking: Some(7), urgent: None };
    const URGENT: PendingMail = PendingMail { newest: Some(9), waking: Some(9), urgent: Some(8) };

    fn steered(when: SteerWhen) -> RunningTurn {
        RunningTurn { reach: Reach { steer: Some(when), drains: false }, ..out_of_reach() }
    }

    fn out_of_reach() -> RunningTurn {
        RunningTurn {
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
    fn mail_is_steered_at_once_and_not_while_some_is_in_flight() {
        let busy = steered(SteerWhen::Always);
        assert_eq!(mail_action(&NONE, &busy), MailAction::Leave);
        assert_eq!(mail_action(&MAIL, &busy), MailAction::Steer);
        let in_flight = RunningTurn { steering: true, ..busy };
        assert_eq!(mail_action(&URGENT, &in_flight), MailAction::Leave);
        let later = busy.now + Duration::from_secs(1);
        let just_steered = RunningTurn { not_before: Some(later), ..busy };
        assert_eq!(mail_action(&MAIL, &just_steered), MailAction::Later(later));
        let then = RunningTurn { now: later, ..just_steered };
        assert_eq!(mail_action(&MAIL, &then), MailAction::Steer);
    }

    #[test]
    fn a_tool_call_that_steering_would_leave_is_left_alone_but_for_what_is_urgent() {
        let calling = |when| RunningTurn { calls: true, ..steered(when) };
        assert_eq!(mail_action(&MAIL, &calling(SteerWhen::Always)), MailAction::Steer);
        assert_eq!(mail_action(&MAIL, &calling(SteerWhen::BetweenCalls)), MailAction::Leave);
        assert_eq!(mail_action(&URGENT, &calling(SteerWhen::BetweenCalls)), MailAction::Steer);
        let asking = RunningTurn { asking: true, ..steered(SteerWhen::Always) };
        assert_eq!(mail_action(&MAIL, &asking), MailAction::Leave);
        assert_eq!(mail_action(&URGENT, &asking), MailAction::Steer);
    }

    #[test]
    fn only_what_is_urgent_ends_a_turn_and_only_where_nothing_else_gets_into_it() {
        let busy = out_of_reach();
        assert_eq!(mail_action(&MAIL, &busy), MailAction::Leave);
        assert_eq!(mail_action(&URGENT, &busy), MailAction::Interrupt);
        assert_eq!(mail_action(&URGENT, &steered(SteerWhen::Always)), MailAction::Steer);
        let drains = RunningTurn { reach: Reach { steer: None, drains: true }, ..busy };
        assert_eq!(mail_action(&URGENT, &drains), MailAction::Leave, "it asks for it itself");
        let interrupted = RunningTurn { interrupted: true, ..busy };
        assert_eq!(mail_action(&URGENT, &interrupted), MailAction::Leave);
    }
}
