//! The keys of a profile that have a few words as values.

use crate::domain::messaging::Priority;

/// How messages get into a running turn of an agent, apart from the results of our tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MidTurn {
    /// Steered at any time, if the agent offers that.
    Steer,
    /// Steered, but only urgent messages while one of its tool calls runs: the agent would abandon the call.
    SteerBetweenCalls,
    /// The agent asks for them.
    Drain,
    Never,
}

impl MidTurn {
    /// All variants, with their words in a file.
    pub(in crate::config) const WORDS: [(&'static str, Self); 4] = [
        ("steer", Self::Steer),
        ("steer_between_calls", Self::SteerBetweenCalls),
        ("drain", Self::Drain),
        ("never", Self::Never),
    ];
}

/// The messages that interrupt an agent at work: its turn where no method gets into it, or a tool call that it would abandon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// High and urgent ones.
    High,
    Urgent,
    Never,
}

impl Interrupt {
    /// All variants, with their words in a file.
    pub(in crate::config) const WORDS: [(&'static str, Self); 3] =
        [("high", Self::High), ("urgent", Self::Urgent), ("never", Self::Never)];

    /// Says whether a message of this priority interrupts.
    pub fn is_by(self, priority: Priority) -> bool {
        match self {
            Self::High => priority >= Priority::High,
            Self::Urgent => priority >= Priority::Urgent,
            Self::Never => false,
        }
    }
}

/// What to do when an agent's process ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    Never,
    /// It is started again, unless that happens too often.
    OnFailure,
}

impl Restart {
    /// All variants, with their words in a file.
    pub(in crate::config) const WORDS: [(&'static str, Self); 2] =
        [("never", Self::Never), ("on_failure", Self::OnFailure)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_says_from_which_priority_on_messages_interrupt() {
        let interrupting = |by: Interrupt| {
            let all = [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent];
            all.into_iter().filter(|priority| by.is_by(*priority)).count()
        };
        assert_eq!(interrupting(Interrupt::High), 2);
        assert_eq!(interrupting(Interrupt::Urgent), 1);
        assert_eq!(interrupting(Interrupt::Never), 0);
    }
}
