//! The `[workflows]` of a configuration: what becomes of interrupted ones.

/// What an orchestrator does about a workflow that nobody leads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// It tells its client, which may go on with it.
    #[default]
    Ask,
    /// It goes on with it by itself.
    Auto,
}

impl Resume {
    /// Returns what a word of the configuration means.
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "ask" => Some(Self::Ask),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}
