//! The keys of a profile that are one of a few words.

/// How words get into a running turn of an agent, apart from the results of our tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MidTurn {
    /// Steered at any time, where the agent says that it can be.
    Steer,
    /// The same, but while a tool call of it runs only what is urgent: it would leave the call alone.
    SteerBetweenCalls,
    /// It asks for them itself.
    Drain,
    Never,
}

impl MidTurn {
    /// All of them, as a file writes them.
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
    /// All of them, as a file writes them.
    pub(in crate::config) const WORDS: [(&'static str, Self); 2] =
        [("never", Self::Never), ("on_failure", Self::OnFailure)];
}
