//! The port: what the server asks of the program around it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::bus::Bus;
use crate::bus::storage::OnWakeup;
use crate::bus::storage::file::Follower;
use crate::bus::storage::file::upkeep::HistoryReader;
use crate::domain::act::Act;

/// What the server asks of the program around it.
pub trait Surroundings: Send + Sync + 'static {
    /// Opens the project's bus as a reader, which calls `on_change` after every possible append; none if there is no team yet.
    fn open(&self, on_change: Option<OnWakeup>) -> Result<Option<Box<Follower>>, OpenError>;

    /// Opens the history of the bus, to search it; none if there is no team yet.
    fn open_history(&self) -> Result<Option<Box<HistoryReader>>, OpenError>;

    /// Opens the bus, for programs that join its team through the server. Blocks until then.
    fn open_to_join(&self) -> Result<Bus, ActError>;

    /// Says where the project is, and what git needs to be asked about it.
    fn place(&self) -> ProjectPlace;

    /// Does what a person wants, and says what came of it. Blocks until then.
    fn act(&self, act: Act) -> Result<ActOutcome, ActError>;
}

/// Where the project is.
#[derive(Clone)]
pub struct ProjectPlace {
    pub root: PathBuf,
    /// The environment of this process.
    pub environment: Vec<(OsString, OsString)>,
}

/// Why a bus cannot be read, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct OpenError {
    pub words: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How an act has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActEnd {
    /// It has happened.
    Done,
    /// The wish stands on the bus, and will be fulfilled later.
    Pending,
    /// The process that has to act has not done so in time.
    Silent,
}

/// What came of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActOutcome {
    pub end: ActEnd,
    /// A sentence for people.
    pub words: String,
    /// The id of the message that was sent.
    pub message_id: Option<String>,
}

/// Why an act was refused, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct ActError {
    pub words: String,
    /// What to do about it.
    pub hint: Option<String>,
}
