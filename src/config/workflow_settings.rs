//! The `[workflows]` of a configuration: what an orchestrator does about interrupted workflows.

/// What an orchestrator does about a workflow whose leader is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// It notifies its client, which may resume it.
    Ask,
    /// It resumes the workflow by itself.
    Auto,
}

impl Resume {
    /// All variants, with their words in a file.
    pub(super) const WORDS: [(&'static str, Self); 2] = [("ask", Self::Ask), ("auto", Self::Auto)];
}
