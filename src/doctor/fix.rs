//! Fixes problems that can be fixed without losing anything. Decisions of the user are left alone.

use super::finding::{Finding, Fix};
use crate::bus::storage::file::{Proof, clear_left_presences};

/// Applies the fix that a finding offers, and adds the outcome to its text.
pub(super) fn apply(finding: &mut Finding, proof: &Proof) {
    let Some(Fix::LeftPresences(bus)) = &finding.fix else {
        return;
    };
    match clear_left_presences(bus, proof) {
        Ok(0) => add(finding, "the next session that opens the bus removes them"),
        Ok(removed) => {
            finding.is_fixed = true;
            add(finding, &format!("removed {removed}"));
        }
        Err(error) => add(finding, &format!("not removed: {error}")),
    }
}

fn add(finding: &mut Finding, outcome: &str) {
    finding.says = format!("{}; {outcome}", finding.says);
}
