//! The bus as the server sees it: one thread that owns the reader of the log, makes snapshots while somebody watches, and answers
//! questions. While nobody watches and asks, it sleeps, whatever happens on the bus.

mod ask_reader;
mod files_of_task;
mod gather_extra;
mod reading_thread;
mod walks;

pub(super) use self::ask_reader::{BusReader, NoAnswer, Watching};
pub(super) use self::files_of_task::ChangedFiles;
pub(super) use self::gather_extra::{has_live_words, last_turn};
