//! Cleaning up once a snapshot is on disk: old segments and transcripts each time, and once a day the long texts that no event names.
//!
//! A failure is only logged: a later snapshot tries again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use super::retention::{self, Parts};
use super::{snapshot, unused_blobs};
use crate::bus::replica::StillNeeded;
use crate::sys::fs::disk::Disk;

/// Cleans up one bus. Cheap to clone.
#[derive(Clone)]
pub(crate) struct CleanUp {
    disk: Arc<dyn Disk>,
    parts: Arc<Parts>,
    /// When this process last looked for long texts that no event names.
    swept_ms: Arc<AtomicI64>,
}

impl CleanUp {
    pub(crate) fn new(disk: Arc<dyn Disk>, parts: Parts) -> Self {
        let swept_ms = Arc::new(AtomicI64::new(unused_blobs::NEVER));
        Self { disk, parts: Arc::new(parts), swept_ms }
    }

    /// Removes unneeded history. `now_ms` is the wall time as the log has seen it.
    pub(crate) fn run(&self, needed: &StillNeeded, now_ms: i64) {
        match self.remove_history(needed, now_ms) {
            Ok(0) => {}
            Ok(segments) => tracing::debug!(segments, "removed old segments"),
            Err(error) => {
                tracing::warn!(%error, "failed to remove an old segment; the next snapshot will \
                    retry");
            }
        }
        if !unused_blobs::is_due(&self.swept_ms, now_ms) {
            return;
        }
        match unused_blobs::remove(&*self.disk, &self.parts, needed, now_ms) {
            Ok(0) => {}
            Ok(texts) => tracing::debug!(texts, "removed unreferenced long texts"),
            Err(error) => {
                tracing::warn!(%error, "failed to remove unreferenced long texts; will retry \
                    another day");
            }
        }
    }

    /// Removes old transcripts and segments. Returns the number of removed segments.
    fn remove_history(&self, needed: &StillNeeded, now_ms: i64) -> io::Result<usize> {
        retention::remove_transcripts(&self.parts, needed, now_ms);
        match snapshot::older_position(&*self.disk, &self.parts.snapshot)? {
            Some(older) => {
                retention::remove_segments(&*self.disk, &self.parts, needed, older, now_ms)
            }
            None => Ok(0),
        }
    }
}
