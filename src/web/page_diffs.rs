//! The differences of an agent's files, for the pages that show them: asked of git one page at a time, and not twice within some seconds.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::acts::Surroundings;
use super::bus_reader::ChangedFiles;
use crate::domain::wait_times;
use crate::team::{DiffsWanted, FileDiff, file_diffs};

/// The differences that were shown last. Whoever asks git holds them meanwhile.
pub(super) struct PageDiffs {
    surroundings: Arc<dyn Surroundings>,
    kept: Arc<Mutex<Vec<Kept>>>,
}

struct Kept {
    files: ChangedFiles,
    at: Instant,
    diffs: Vec<FileDiff>,
}

impl PageDiffs {
    pub(super) fn none_yet(surroundings: Arc<dyn Surroundings>) -> Self {
        Self { surroundings, kept: Arc::default() }
    }

    /// Returns how files differ, within a time: of files that git has not compared by then, it says so.
    pub(super) async fn of(&self, files: &ChangedFiles) -> Vec<FileDiff> {
        let late = || {
            let why = "git has not compared it in time: load the page again";
            let late = |path: &String| FileDiff {
                path: path.clone(),
                diff: Err(why.to_owned()),
                is_cut: false,
            };
            files.paths.iter().map(late).collect()
        };
        let until = Instant::now() + wait_times::WEB_DIFFS + wait_times::WEB_DIFFS / 4;
        let Ok(mut kept) = timeout_at(until, Arc::clone(&self.kept).lock_owned()).await else {
            return late();
        };
        kept.retain(|one| one.at.elapsed() < wait_times::WEB_DIFFS_KEPT);
        if let Some(known) = kept.iter().find(|one| one.files == *files) {
            return known.diffs.clone();
        }
        let (files, place) = (files.clone(), self.surroundings.place());
        // A task of its own: a disk that hangs keeps its place, so that no second one is asked, and this page goes on.
        let asking = tokio::spawn(async move {
            let wanted = DiffsWanted {
                cwd: files.cwd.clone(),
                project: place.root,
                paths: files.paths.clone(),
                environment: place.environment,
            };
            let diffs = file_diffs(wanted).await;
            kept.push(Kept { files, at: Instant::now(), diffs: diffs.clone() });
            diffs
        });
        match timeout_at(until, asking).await {
            Ok(Ok(diffs)) => diffs,
            Ok(Err(_)) | Err(_) => late(),
        }
    }
}
