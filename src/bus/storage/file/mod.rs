//! The log in files: one directory that all processes of a project share, without a daemon.
//!
//! ```text
//! bus.json              the format and the id
//! lock                  flock'ed for a write; empty; another file once another keeps the order (see `keeper_change`), never deleted
//! log/<first-seq>.jsonl the segments
//! log/<first-seq>.failed marks a segment that could not be synced: it is replaced, and takes no more lines
//! snapshot/<seq>.json   the state at that seq; the newest two
//! agents.json           a view of the live members
//! presence/<session>    locked while that session lives; its time is the heartbeat
//! bell/<session>        touched by each append that concerns that session
//! tasks/<id>.jsonl      transcripts; nothing depends on them
//! blobs/<id>            long texts
//! ```
//!
//! Guarantees: an entry that `sync` has returned for survives the death of any process and a power cut; an entry is there completely
//! or not at all; no seq is used twice. It deliberately breaks no lock, and repairs only an unfinished last line.

mod bus_directory;
mod bus_json;
pub mod copying;
mod damage_report;
mod examine_bus;
mod file_log;
mod git_exclude;
mod io_failure;
mod log;
mod log_options;
mod long_texts;
mod mirror;
mod open_to_read;
mod origin;
mod presence_files;
#[cfg(test)]
mod simulated_disk;
#[cfg(test)]
mod tests;
pub mod upkeep;
mod wakeup_files;

pub(crate) use self::bus_directory::{TRANSCRIPTS, transcript_name};
pub(crate) use self::bus_json::BUS_JSON;
pub use self::examine_bus::{
    Examined, ExaminedBus, PresentState, SeenPresence, clear_left_presences, examine, read_state,
};
pub use self::file_log::FileLog;
pub use self::log::follower::{Follower, PresentBus, StoredTexts};
pub use self::log::line_format;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::log::snapshot::read_any as read_any_snapshot;
#[cfg(test)]
pub(crate) use self::log::snapshot::written as written_snapshot;
pub use self::log_options::{Networks, NewOrder, Options};
pub use self::origin::{Foreign, Origin, Proof, known_buses};
pub use self::wakeup_files::Listening;
