//! How the doctor tells what it is doing meanwhile.

use std::sync::Arc;

use super::finding::{Level, Subject};

/// What happens to the look at a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Begins,
    /// It is over, and the worst that was found is this.
    Ends(Level),
}

/// Hears of each step.
pub type OnStep = Arc<dyn Fn(&Subject, Step) + Send + Sync>;
