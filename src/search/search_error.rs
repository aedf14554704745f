//! Why a search failed.

use std::io;

use crate::bus::storage::LogError;

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The history cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The index cannot be used, not even a new one.
    #[error("cannot use the index of searches: {0}")]
    Index(#[from] rusqlite::Error),
    /// The place of the index cannot be used.
    #[error("cannot use the index of searches: {0}")]
    Place(#[from] io::Error),
    /// Another search has used the index for too long.
    #[error("another search has been using the index of this bus for too long")]
    Busy,
}
