//! How many steps are in each state, in words.

use std::collections::BTreeMap;

use crate::domain::workflow::StepStatus;

/// Returns the number of steps in each state, in the order in which a step reaches the states.
pub fn status_counts(statuses: impl Iterator<Item = StepStatus>) -> String {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for status in statuses {
        let key = (order(status), status.as_str());
        *counts.entry(key).or_default() += 1;
    }
    let counts = counts.iter();
    let counts = counts.map(|((_, word), count)| format!("{count} {word}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn order(status: StepStatus) -> usize {
    match status {
        StepStatus::Done => 0,
        StepStatus::Failed => 1,
        StepStatus::Running => 3,
        StepStatus::Asking => 4,
        StepStatus::Waiting => 5,
        _ => 2,
    }
}
