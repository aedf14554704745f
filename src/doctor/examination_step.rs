//! How the doctor reports its progress.

use std::sync::Arc;

use super::finding::{Level, Subject};

/// A step in the examination of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Begins,
    /// It has ended, and this is the worst level of its findings.
    Ends(Level),
}

/// Is called at each step.
pub type OnStep = Arc<dyn Fn(&Subject, Step) + Send + Sync>;
