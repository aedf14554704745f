//! The answers that a person may give to a question for permission, and to a step that waits for approval, in words.

use crate::domain::permission::Decision;
use crate::view::PermissionRow;

/// A possible answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PossibleAnswer {
    pub words: &'static str,
    pub decision: Decision,
}

const DENY: PossibleAnswer = PossibleAnswer { words: "Deny", decision: Decision::Reject };
const NEVER: PossibleAnswer =
    PossibleAnswer { words: "Always deny", decision: Decision::RejectAlways };
const ONCE: PossibleAnswer = PossibleAnswer { words: "Allow once", decision: Decision::AllowOnce };
const ALWAYS: PossibleAnswer =
    PossibleAnswer { words: "Always allow", decision: Decision::AllowAlways };

impl PermissionRow {
    /// Returns the possible answers. A no comes first, which a careless hand gives.
    pub fn answers(&self) -> Vec<PossibleAnswer> {
        let is_offered = |answer: &PossibleAnswer| {
            self.offers.iter().any(|offer| offer == answer.decision.as_str())
        };
        [DENY, NEVER].into_iter().chain([ONCE, ALWAYS].into_iter().filter(is_offered)).collect()
    }
}
