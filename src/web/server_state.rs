//! What all parts of the server share.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::acts::Surroundings;
use super::api::KeptAnswers;
use super::bus_reader::BusReader;
use super::gate::{AllowedHosts, BasePath, CallerRates, EntryKeys, KnownKeys, OneAtATime};
use super::page_diffs::PageDiffs;
use super::pages::PageContext;
use super::programs::JoinedPrograms;
use crate::sys::clock;
use crate::view::Moment;

/// What the server allows.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// The port; a free one if none is given.
    pub port: Option<u16>,
    /// The name of the project.
    pub project: String,
    /// The path below which the pages stand.
    pub base_path: BasePath,
    /// Whether messages, stops and cancels are allowed.
    pub can_write: bool,
    /// Whether questions may be answered.
    pub can_answer: bool,
}

/// What all parts of the server share.
#[derive(Clone)]
pub(super) struct ServerState(Arc<Shared>);

pub(super) struct Shared {
    pub(super) settings: WebSettings,
    pub(super) hosts: AllowedHosts,
    pub(super) keys: EntryKeys,
    pub(super) rates: CallerRates,
    pub(super) reader: BusReader,
    pub(super) surroundings: Arc<dyn Surroundings>,
    pub(super) diffs: PageDiffs,
    /// The programs that are members through the API.
    pub(super) programs: JoinedPrograms,
    /// The places of event streams.
    pub(super) streams: Arc<Semaphore>,
    /// Those of programs, apart from the pages of a person.
    pub(super) program_streams: Arc<Semaphore>,
    pub(super) known_keys: KnownKeys,
    pub(super) expensive_reads: OneAtATime,
    pub(super) kept_answers: KeptAnswers,
    /// Cancelled when the server ends.
    pub(super) ending: CancellationToken,
    /// What came of the last act, for the next page.
    pub(super) notice: Mutex<Option<String>>,
}

impl ServerState {
    pub(super) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }
}

impl Deref for ServerState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// Returns who looks, and what is allowed.
    pub(super) fn context<'a>(&'a self, notice: Option<&'a str>) -> PageContext<'a> {
        PageContext {
            project: &self.settings.project,
            can_write: self.settings.can_write,
            can_answer: self.settings.can_answer,
            now: Moment(clock::now().wall_ms),
            form_token: self.keys.form_token(),
            back: "./",
            notice,
        }
    }
}
