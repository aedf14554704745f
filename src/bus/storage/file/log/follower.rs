//! Following a log as a reader that is not a member: the state as it changes, without a single write.
//!
//! It is for programs that show events. It has no presence, no wakeup file and no turn to write, and does not create a bus. Where
//! members wait for a wakeup, a follower watches `log/`, because an append may concern any member.

use std::path::Path;
use std::sync::Arc;

use notify::RecommendedWatcher;

use crate::bus::event::{Body, BodyRef, Entry};
use crate::bus::state::State;
use crate::bus::storage::file::mirror::machine_name;
use crate::bus::storage::file::open_to_read::{self, Opened};
use crate::bus::storage::file::{
    FileLog, Listening, Options, Origin, Proof, TRANSCRIPTS, long_texts, presence_files,
    transcript_name, wakeup_files,
};
use crate::bus::storage::stored_text::{
    RequestTexts, read_body, read_details, read_request, read_text,
};
use crate::bus::storage::{Log as _, LogError, LogPosition, OnWakeup, Presence, Replica};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::Host;
use crate::domain::time::Now;
use crate::sys::fs::disk::{Disk, RealDisk};

/// A reader of an existing bus.
pub struct Follower {
    log: FileLog,
    replica: Replica,
    /// Watches until it is dropped.
    _watcher: Option<RecommendedWatcher>,
    listening: Listening,
}

/// The bus of a directory, for a reader.
pub enum PresentBus {
    /// No bus yet: the next session that leads or joins creates it.
    Absent,
    /// A bus that was not created here, so it is not read.
    Foreign,
    Readable(Box<Follower>),
}

impl Follower {
    /// Opens the bus in a directory, if there is one, with the state of all present entries. From then on it calls `on_change` after
    /// every possible append.
    pub fn open(
        directory: &Path,
        origin: Origin,
        on_change: OnWakeup,
    ) -> Result<Option<Self>, LogError> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let options = Options { origin, ..Options::default() };
        let opened = FileLog::open_present(directory, &disk, options)?;
        opened.map_or(Ok(None), |log| Self::of(log, Some(on_change)))
    }

    /// Opens the bus in a directory likewise, and says why there is none to read. Without `on_change`, it does not listen.
    pub fn look_at(
        directory: &Path,
        proof: &Proof,
        on_change: Option<OnWakeup>,
    ) -> Result<PresentBus, LogError> {
        let log = match open_to_read::open(directory, proof)? {
            Opened::Absent => return Ok(PresentBus::Absent),
            Opened::Foreign => return Ok(PresentBus::Foreign),
            Opened::Log(log) => *log,
        };
        let follower = Self::of(log, on_change)?;
        Ok(follower.map_or(PresentBus::Absent, |follower| PresentBus::Readable(Box::new(follower))))
    }

    /// Reads the log; none if it has just been removed.
    fn of(mut log: FileLog, on_change: Option<OnWakeup>) -> Result<Option<Self>, LogError> {
        // Watch before the first read, so that no append falls between the two.
        let watcher =
            on_change.map(|on_change| wakeup_files::watch_log(&log.part("log", ""), on_change));
        let watcher = watcher.and_then(|watcher| match watcher {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "file notifications are unavailable; polling instead");
                None
            }
        });
        let replica = match log.load() {
            Err(LogError::Removed) => return Ok(None),
            outcome => outcome?,
        };
        Ok(Some(Self {
            listening: match watcher {
                Some(_) => Listening::Notified,
                None => Listening::Polled,
            },
            _watcher: watcher,
            replica,
            log,
        }))
    }

    /// Returns how the follower learns of changes. A polled one has to look by itself.
    pub fn listening(&self) -> Listening {
        self.listening
    }

    /// Reads new entries into the state. [`LogError::Removed`] means that the bus is gone.
    pub fn look(&mut self) -> Result<(), LogError> {
        if !self.log.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        self.log.catch_up(&mut self.replica)
    }

    /// Returns the state as of the last look.
    pub fn state(&self) -> &State {
        &self.replica.state
    }

    /// Returns the seq of the last event that the state has; zero for an empty log.
    pub fn seq(&self) -> u64 {
        self.replica.next_seq.saturating_sub(1)
    }

    /// Returns where the entries continue that the state does not have yet.
    pub fn position(&self) -> LogPosition {
        self.replica.place
    }

    /// Returns the number of lines that were passed over because they are damaged.
    pub fn damaged_lines(&self) -> u64 {
        self.replica.damaged_lines
    }

    /// Returns the time.
    pub fn now(&self) -> Now {
        self.log.now()
    }

    /// Says whether a process holds the presence of a session. One that cannot be checked counts as held, as do those of other hosts.
    pub fn is_held(&self, session: SessionId) -> bool {
        let host = self.replica.state.host_of(session);
        if host.is_some_and(|host| self.log.is_elsewhere(host)) {
            return true;
        }
        let path = self.log.part("presence", &session.to_string());
        presence_files::look(&path) == Presence::Held
    }

    /// Returns the host of this mirror; none on a bus that one machine has for itself.
    pub fn host(&self) -> Option<Host> {
        self.log.host()
    }

    /// Returns the name of this machine, as buses that several machines share have it.
    pub fn machine(&self) -> String {
        self.log.host().map_or_else(machine_name, |host| host.name)
    }

    /// Says whether a host is another one than this mirror is or was.
    pub fn is_elsewhere(&self, host: &Host) -> bool {
        self.log.is_elsewhere(host)
    }

    /// Returns the positions at which the parts of the log begin, oldest first.
    pub fn parts(&mut self) -> Result<Vec<LogPosition>, LogError> {
        self.log.parts()
    }

    /// Says whether a part of the log contains a text, which need not be the text of an event. Much faster than reading its entries.
    pub fn may_hold(&mut self, part: LogPosition, text: &str) -> Result<bool, LogError> {
        self.log.may_hold(part, text)
    }

    /// Reads at most `max` entries from a position on. Returns each with its position, and the position after the last.
    pub fn entries_after(
        &mut self,
        position: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError> {
        self.log.read_after(position, max)
    }

    /// Reads the text behind a header.
    pub fn text(&mut self, body: BodyRef) -> Result<String, LogError> {
        read_text(&mut self.log, body)
    }

    /// Returns the state, and beside it the texts that its headers name.
    pub fn state_and_texts(&mut self) -> (&State, StoredTexts<'_>) {
        (&self.replica.state, StoredTexts { log: &mut self.log })
    }
}

/// The texts of a bus.
pub struct StoredTexts<'a> {
    log: &'a mut FileLog,
}

impl StoredTexts<'_> {
    /// Reads the text behind a header.
    pub fn text(&mut self, body: BodyRef) -> Result<String, LogError> {
        read_text(self.log, body)
    }

    /// Reads the texts of a request.
    pub fn request(&mut self, request: BodyRef) -> Result<RequestTexts, LogError> {
        read_request(self.log, request)
    }

    /// Reads a text of an event.
    pub fn text_of(&mut self, body: &Body) -> Result<String, LogError> {
        read_body(self.log, body.clone())
    }

    /// Reads the details of a task's end.
    pub fn details(&mut self, output: BodyRef) -> Result<Option<String>, LogError> {
        read_details(self.log, output)
    }

    /// Reads the transcript of a task, which may be long.
    pub fn transcript(&mut self, task: &TaskId) -> Result<String, LogError> {
        self.log.durability().read_transcript(task)
    }

    /// Reads the last lines of a task's transcript, at most so many bytes.
    pub fn last_of_transcript(&self, task: &TaskId, most: u64) -> Result<String, LogError> {
        long_texts::read_last_lines(&self.log.part(TRANSCRIPTS, &transcript_name(task)), most)
    }

    /// Reads whole lines of a task's transcript from an offset on, at least one if there is one. Returns them, and the offset after them.
    pub fn transcript_after(
        &mut self,
        task: &TaskId,
        from: u64,
    ) -> Result<(String, u64), LogError> {
        long_texts::lines_after(&self.log.part(TRANSCRIPTS, &transcript_name(task)), from)
    }
}
