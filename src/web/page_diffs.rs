//! The differences of an agent's files, for the pages that show them: asked of git one page at a time, and not twice within some seconds.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::acts::Surroundings;
use super::bus_reader::gather_extra;
use super::pages::{Extra, View};
use crate::bus::storage::file::Follower;
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::reader::WholeTask;
use crate::team::{DiffsWanted, FileDiff, file_diffs};

/// The files that a task has changed, and where its agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedFiles {
    cwd: PathBuf,
    paths: Vec<String>,
}

impl ChangedFiles {
    /// Returns those of a task; none if it has changed none, or nobody knows where its agent works.
    pub(super) fn of(bus: &Follower, task: &WholeTask) -> Option<Self> {
        let files = &task.details.as_ref()?.files;
        let agent = Name::parse(&task.row.agent).ok()?;
        let live = bus.state().live(&agent).and_then(|session| session.cwd.clone());
        let past = || bus.state().past_agent(&agent).map(|(_, past)| past.cwd.clone());
        let cwd = live.or_else(past)?.into();
        let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
        (!paths.is_empty()).then_some(Self { cwd, paths })
    }
}

/// Reads what a page needs besides the snapshot, and which files git is to be asked about.
pub(super) fn gather_with_files(
    bus: &mut Follower,
    view: &View,
    before: Option<u64>,
) -> (Extra, Option<ChangedFiles>) {
    let extra = gather_extra(bus, view, before);
    let files = extra.task.as_ref().and_then(|task| ChangedFiles::of(bus, task));
    (extra, files)
}

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
