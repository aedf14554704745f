//! The keys of a profile that have a few words as values.

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
