//! The words for how much a message or a task matters, as tools take them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::messaging::Priority;

/// How much it matters.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum PriorityWord {
    Low,
    Normal,
    High,
    Urgent,
}

impl From<PriorityWord> for Priority {
    fn from(word: PriorityWord) -> Self {
        match word {
            PriorityWord::Low => Self::Low,
            PriorityWord::Normal => Self::Normal,
            PriorityWord::High => Self::High,
            PriorityWord::Urgent => Self::Urgent,
        }
    }
}
