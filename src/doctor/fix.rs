//! Mending what can be mended without losing anything. What others could have written, and what a person decided, is left to people.

use super::finding::{Finding, Fix};
use crate::bus::storage::file::{Proof, clear_left_presences};

/// Mends what a finding offers to, and says what came of it.
pub(super) fn apply(finding: &mut Finding, proof: &Proof) {
    let Some(Fix::LeftPresences(bus)) = &finding.fix else {
        return;
    };
    match clear_left_presences(bus, proof) {
        Ok(0) => add(finding, "they are too young to be removed yet"),
        Ok(removed) => {
            finding.is_fixed = true;
            add(finding, &format!("removed {removed}"));
        }
        Err(error) => add(finding, &format!("not removed: {error}")),
    }
}

fn add(finding: &mut Finding, words: &str) {
    finding.says = format!("{}; {words}", finding.says);
}
