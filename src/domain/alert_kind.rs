//! What a user can be notified of outside of any window.

/// A kind of notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlertKind {
    /// An agent asks for permission.
    Permission,
    /// A step of a workflow waits for approval.
    Approval,
    /// A member has asked the user something.
    Question,
    /// Members disagree, and the user is asked to decide.
    Decision,
    /// An agent shows no sign of life, or does not end a cancelled turn.
    Stuck,
    /// A task has succeeded.
    Finished,
    /// A task has failed.
    Failed,
    /// A workflow has ended.
    Workflow,
}

impl AlertKind {
    /// All kinds, with their words.
    pub const WORDS: [(&'static str, Self); 8] = [
        ("permission", Self::Permission),
        ("approval", Self::Approval),
        ("question", Self::Question),
        ("decision", Self::Decision),
        ("stuck", Self::Stuck),
        ("finished", Self::Finished),
        ("failed", Self::Failed),
        ("workflow", Self::Workflow),
    ];

    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(word, _)| word)
    }

    /// Says whether somebody has to act before work goes on.
    pub fn needs_somebody(self) -> bool {
        matches!(
            self,
            Self::Permission | Self::Approval | Self::Question | Self::Decision | Self::Stuck
        )
    }
}
