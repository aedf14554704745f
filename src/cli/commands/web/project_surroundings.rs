//! What the server asks of the program around it: the project's bus, and acts of the person at a page.

use std::path::PathBuf;

use crate::bus::Bus;
use crate::bus::storage::OnWakeup;
use crate::bus::storage::file::Follower;
use crate::bus::storage::file::upkeep::{History, HistoryReader};
use crate::cli::commands::look::{foreign, open_project, unusable, whose};
use crate::cli::steer::{Ended, open_to_join, perform};
use crate::cli::{Failure, find_project, words_and_hint};
use crate::domain::act::Act;
use crate::web::{ActEnd, ActError, ActOutcome, OpenError, ProjectPlace, Surroundings};

/// A project.
pub(super) struct ProjectSurroundings {
    root: PathBuf,
}

impl ProjectSurroundings {
    pub(super) fn of(root: PathBuf) -> Self {
        Self { root }
    }

    fn history(&self) -> Result<Option<Box<HistoryReader>>, Failure> {
        let directory = find_project::find(Some(&self.root))?.bus_directory();
        match HistoryReader::open(&directory, &whose()).map_err(unusable)? {
            History::Readable(history) => Ok(Some(history)),
            History::Foreign => Err(foreign(&directory)),
            History::Absent => Ok(None),
        }
    }
}

impl Surroundings for ProjectSurroundings {
    fn open(&self, on_change: Option<OnWakeup>) -> Result<Option<Box<Follower>>, OpenError> {
        let opened = open_project(Some(&self.root), on_change).map_err(|error| why(&error))?;
        Ok(opened.bus)
    }

    fn open_history(&self) -> Result<Option<Box<HistoryReader>>, OpenError> {
        self.history().map_err(|error| why(&error))
    }

    fn open_to_join(&self) -> Result<Bus, ActError> {
        open_to_join(&self.root).map_err(|error| why_not_done(&error))
    }

    fn place(&self) -> ProjectPlace {
        ProjectPlace { root: self.root.clone(), environment: std::env::vars_os().collect() }
    }

    fn act(&self, act: Act) -> Result<ActOutcome, ActError> {
        let done = perform(&self.root, act).map_err(|error| why_not_done(&error))?;
        let end = match done.ended {
            Ended::Done => ActEnd::Done,
            Ended::Pending => ActEnd::Pending,
            Ended::Silent => ActEnd::Silent,
        };
        Ok(ActOutcome { end, words: done.words, message_id: done.message_id })
    }
}

fn why(failure: &Failure) -> OpenError {
    let (words, hint) = words_and_hint(&**failure);
    OpenError { words, hint }
}

fn why_not_done(failure: &Failure) -> ActError {
    let OpenError { words, hint } = why(failure);
    ActError { words, hint }
}
