//! Where the agent of a step is started, as far as its check knows.

use crate::team::Bridge;

pub(super) enum StepHost {
    /// Where the workflow runs.
    Here,
    /// By the bridge of another host.
    There(Box<Bridge>),
    /// Elsewhere, or it is not known where.
    Unknown,
}

impl StepHost {
    pub(super) fn is_elsewhere(&self) -> bool {
        !matches!(self, Self::Here)
    }

    /// Says whether another host starts agents of a profile.
    pub(super) fn has(&self, profile: &str) -> bool {
        matches!(self, Self::There(bridge) if bridge.offers(profile))
    }
}
