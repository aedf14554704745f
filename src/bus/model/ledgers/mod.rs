//! What the ledger of the model keeps of single subjects.

mod answers_ledger;
mod conflict_ledger;
mod crossing_ledger;
mod lane_ledger;
mod lead_ledger;
mod pace_ledger;

pub(super) use self::answers_ledger::AnswersLedger;
pub(super) use self::conflict_ledger::ConflictLedger;
pub(super) use self::crossing_ledger::CrossingLedger;
pub(super) use self::lane_ledger::LaneLedger;
pub(super) use self::lead_ledger::LeadLedger;
pub(super) use self::pace_ledger::{PaceLedger, counts};
