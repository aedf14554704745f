//! Care for a whole bus, for its user: verifying all of it, exporting its history, and pruning what is no longer needed.
//!
//! Verifying and exporting only read. Neither needs a snapshot or a state that can be loaded, so both work on a damaged bus.

mod bus_finding;
mod event_subject;
mod export_history;
pub(super) mod history_lines;
mod history_reader;
mod prune_history;
#[cfg(test)]
mod tests;
mod verify_bus;
mod verify_files;
mod verify_lines;
mod verify_snapshots;

pub use self::bus_finding::{BusFinding, BusReport, FindingKind, Severity};
pub use self::export_history::{Export, ExportOptions, Exported, export};
pub use self::history_reader::{History, HistoryEntry, HistoryReader, TranscriptFile};
pub use self::prune_history::{PruneOptions, Pruned, Pruning, prune};
pub use self::verify_bus::{Verified, verify};
