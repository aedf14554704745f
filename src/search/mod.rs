//! Search: finds words in the whole history of a bus, newest first.
//!
//! The index is a cache in the user's cache directory, one database (SQLite with FTS5) for each bus. It holds words and places, and no
//! texts: what is shown is read from the bus itself, so nothing is shown that retention has removed. It may be deleted at any time, and
//! each search brings it up to date first. One search at a time uses it; a second one waits.

mod bring_up_to_date;
mod excerpt;
mod find_hits;
mod found_places;
mod index_file;
mod indexed_event;
mod indexed_transcript;
mod query_words;
mod search_error;
mod search_hit;
#[cfg(test)]
mod tests;
mod word_index;
mod word_sections;

pub use self::bring_up_to_date::Progress;
pub use self::find_hits::{Found, Search, search};
pub use self::index_file::IndexPlace;
pub use self::query_words::{NoWords, Query};
pub use self::search_error::SearchError;
pub use self::search_hit::{HitKind, SearchHit};
