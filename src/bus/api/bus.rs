//! The handle that everyone uses: one replica of the state a process, one thread that brings appends to disk.
//!
//! A command is decided and appended, and the bells of those concerned are rung, on the thread that asks: waking another one first
//! would cost more than all of that; only when another process writes, another thread waits for the turn. A short sync is done there
//! as well, a long one by the bus thread, once for all the commands that wait; only after that they are acknowledged. Those that
//! merely mark progress wait for no sync. Bells and the replica's own changes show as a growing number
//! in [`Bus::changes`]; who waits for something looks at the state after each change.

#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::message_text::RequestTexts;
use crate::bus::background::bus_thread::{self, Job};
use crate::bus::background::heartbeats::{HeartbeatIntervals, ObservedSession};
use crate::bus::background::lasting_trouble::ReadTrouble;
use crate::bus::background::one_boot_at_a_time;
use crate::bus::background::waiting_commands::{self, Claim, Queued, Withdrawn};
use crate::bus::error::BusError;
use crate::bus::event::{Body, Event, RequestOpened};
use crate::bus::rules::{self, Command, Operation};
use crate::bus::state::{BodyRef, State};
use crate::bus::storage::{
    Appended, Durability, Hold, Log, LogError, LogPosition, Presence, Replica, Standing, WriteTurn,
};
use crate::domain::ids::{CallId, CommandId, SessionId, TaskId};
use crate::domain::limits;
use crate::domain::time::Now;
use crate::sys::random_ids;

/// What a command has done: its events, those that were merely due first.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// The events, in their order.
    pub events: Vec<Event>,
}

impl Receipt {
    /// Says whether all of it merely marks progress, which needs no sync of its own.
    pub(crate) fn is_progress(&self) -> bool {
        // One without events may repeat a command whose line is not on disk yet.
        !self.events.is_empty() && self.events.iter().all(Event::is_progress)
    }
}

/// The bus of one project, for one process. Cheap to clone.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<BusShared>,
}

/// What the handle, the bus thread and the bells share.
pub(crate) struct BusShared {
    core: Mutex<Core>,
    jobs: mpsc::Sender<Job>,
    changed: watch::Sender<u64>,
    durability: Arc<dyn Durability>,
    turn: Arc<dyn WriteTurn>,
    queue: Mutex<Option<mpsc::Sender<Queued>>>,
    /// What is wrong with the reading that nobody has asked for.
    pub(crate) trouble: ReadTrouble,
}

/// The log and the state read from it: always together.
pub(crate) struct Core {
    pub(crate) log: Box<dyn Log>,
    pub(crate) replica: Replica,
    /// The sessions whose bells this process listens to.
    attended: BTreeSet<SessionId>,
    /// The presences that this process holds.
    pub(crate) holds: Vec<(SessionId, Box<dyn Hold>)>,
    /// Whether this process is done with commands.
    closed: bool,
}

impl Bus {
    /// Opens a log and starts the bus thread.
    pub fn open(log: Box<dyn Log>) -> Result<Self, BusError> {
        Self::open_at(log, HeartbeatIntervals::default())
    }

    /// Does the same at a pace of its own.
    pub fn open_at(mut log: Box<dyn Log>, pace: HeartbeatIntervals) -> Result<Self, BusError> {
        let replica = log.open()?;
        one_boot_at_a_time::check(log.as_mut(), &replica.state)?;
        let (jobs, inbox) = mpsc::channel();
        let (changed, _) = watch::channel(replica.next_seq);
        let (durability, turn) = (log.durability(), log.turn());
        let core =
            Core { log, replica, attended: BTreeSet::new(), holds: Vec::new(), closed: false };
        let shared = Arc::new(BusShared {
            core: Mutex::new(core),
            jobs,
            changed,
            durability: Arc::clone(&durability),
            turn,
            queue: Mutex::default(),
            trouble: ReadTrouble::default(),
        });
        bus_thread::start(Arc::downgrade(&shared), inbox, durability, pace).map_err(no_thread)?;
        Ok(Self { shared })
    }

    /// Does what a session asks for. `taken` are its earlier calls that its model is known to have taken.
    ///
    /// Cancel safe in the sense that a dropped future leaves a command that is either done whole or not at all. It occupies its
    /// thread while it decides and writes, and for a sync that is likely to be short; not while it waits for another process to
    /// write, or for a slow disk. A command that still waits for that after [`limits::BUSY_MS`] is withdrawn: the bus is busy.
    pub async fn submit(
        &self,
        by: Option<SessionId>,
        taken: Vec<CallId>,
        ask: Operation,
    ) -> Result<Receipt, BusError> {
        self.submit_as(random_ids::command(), by, taken, ask).await
    }

    /// Does the same under a given id: tried again with the same one, a command happens once, whatever came of the earlier tries.
    pub async fn submit_as(
        &self,
        id: CommandId,
        by: Option<SessionId>,
        taken: Vec<CallId>,
        ask: Operation,
    ) -> Result<Receipt, BusError> {
        let command = Command { id, by, taken, ask };
        let command = self.with_texts_stored(command).await?;
        let receipt = match self.shared.begin(&command)? {
            Some(receipt) => receipt,
            None => self.shared.queue(command).await?,
        };
        if !receipt.is_progress() {
            self.shared.sync().await?;
        }
        Ok(receipt)
    }

    /// Looks at the state as this process knows it.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.core().replica.state)
    }

    /// Returns the time.
    pub fn now(&self) -> Now {
        self.core().log.now()
    }

    /// Reads what others have appended.
    pub fn refresh(&self) -> Result<(), BusError> {
        self.shared.catch_up().map_err(BusError::Log)
    }

    /// Returns a number that grows with every change of the state.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Holds the presence of a new session, so that others see that it lives.
    pub fn hold(&self, session: SessionId) -> Result<(), BusError> {
        let mut core = self.core();
        let hold = core.log.hold(session)?;
        core.holds.push((session, hold));
        Ok(())
    }

    /// Returns another handle to a presence that is held here, for a child process: the presence is free when both are closed.
    pub fn share(&self, session: SessionId) -> Option<OwnedFd> {
        let core = self.core();
        let held = core.holds.iter().find(|(held, _)| *held == session);
        held.and_then(|(_, hold)| hold.share())
    }

    /// Removes the presence of a session that has left.
    pub fn release(&self, session: SessionId) {
        let mut core = self.core();
        core.holds.retain(|(held, hold)| {
            if *held == session {
                hold.remove();
            }
            *held != session
        });
    }

    /// Listens to the bell of a session.
    pub fn attend(&self, session: SessionId) -> Result<(), BusError> {
        let mut core = self.core();
        core.attended.insert(session);
        let weak: Weak<BusShared> = Arc::downgrade(&self.shared);
        let on_ring = Arc::new(move || {
            if let Some(shared) = weak.upgrade()
                && let Err(error) = shared.hear()
            {
                shared.trouble.tell(&error);
            }
        });
        let sessions = core.attended.clone();
        core.log.listen(&sessions, on_ring)?;
        Ok(())
    }

    /// Writes that sessions are dead whose presence nobody holds.
    pub async fn bury_the_dead(&self) -> Result<(), BusError> {
        self.refresh()?;
        let dead = self.core().dead();
        if !dead.is_empty() {
            self.submit(None, Vec::new(), Operation::Reap(dead)).await?;
        }
        Ok(())
    }

    /// Removes what dead sessions have left of presences and bells.
    pub fn clear_presences(&self) -> Result<(), BusError> {
        let mut core = self.core();
        let Core { log, replica, .. } = &mut *core;
        let state = &replica.state;
        log.clear_presences(&|session| {
            if state.session(session).is_some() {
                Standing::Live
            } else if state.departed().any(|departed| departed.session == session) {
                Standing::Left
            } else {
                Standing::Unknown
            }
        })?;
        Ok(())
    }

    /// Says whether anybody holds the presence of a session.
    pub fn is_held(&self, session: SessionId) -> bool {
        self.core().log.held(session) == Presence::Held
    }

    /// Makes a text ready to be asked for with: a long one is stored when it is, and when it is not refused.
    pub fn body(text: String) -> Body {
        // Over the limit the rules refuse it by its length alone.
        if text.len() > limits::MAX_CONTENT_BYTES {
            return Body::Blob { id: uuid::Uuid::nil(), bytes: text.len() as u64 };
        }
        Body::Text(text)
    }

    /// Stores a text that is long at once: for what nobody refuses, as the output of a task.
    pub async fn long_body(&self, text: String) -> Result<Body, BusError> {
        let mut body = Body::Text(text);
        if let Some(long) = texts::set_aside(&mut body) {
            self.store(long).await?;
        }
        Ok(body)
    }

    /// Reads the text behind a header: of a message, a request, or a task's prompt or output.
    pub fn text(&self, body: BodyRef) -> Result<String, BusError> {
        let mut core = self.core();
        Ok(read_text(core.log.as_mut(), body)?)
    }

    /// Reads the details of a task's end, which stand in the event of its output; none when it has none.
    pub fn details(&self, output: BodyRef) -> Result<Option<String>, BusError> {
        self.with_log(|log| match log.event_at(output.place, output.index)? {
            Event::TaskFinished(finished) => {
                let details = finished.report.details;
                details.map(|details| whole(log, details)).transpose()
            }
            _ => Err(LogError::Gone),
        })
    }

    /// Reads what a request says, each text by itself.
    pub fn request_texts(&self, body: BodyRef) -> Result<RequestTexts, BusError> {
        self.with_log(|log| match log.event_at(body.place, body.index)? {
            Event::RequestOpened(opened) => request_texts(log, opened),
            _ => Err(LogError::Gone),
        })
    }

    /// Reads entries from a place on.
    pub fn read_after(
        &self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, crate::bus::event::Entry)>, LogPosition), BusError> {
        self.with_log(|log| log.read_after(place, max))
    }

    /// Returns the place of the oldest entry.
    pub fn oldest(&self) -> Result<LogPosition, BusError> {
        self.with_log(|log| log.oldest())
    }

    /// Returns those parts of the log in which a text may stand, oldest first. Between any two of them others may use the bus.
    pub(crate) fn parts_with(&self, text: &str) -> Result<Vec<LogPosition>, BusError> {
        let mut found = Vec::new();
        for part in self.with_log(|log| log.parts())? {
            if self.with_log(|log| log.may_hold(part, text))? {
                found.push(part);
            }
        }
        Ok(found)
    }

    /// Adds a line to a transcript. Failing is a warning: a transcript is for reading only.
    pub fn transcript(&self, task: &TaskId, line: &str) {
        if let Err(error) = self.core().log.transcript(task, line) {
            tracing::warn!("failed to write the transcript of {task}: {error}");
        }
    }

    /// Reads a transcript, and does something with it that may take as long: on another thread, and without holding anything.
    pub async fn read_transcript<T: Send + 'static>(
        &self,
        task: &TaskId,
        read: impl FnOnce(&str) -> T + Send + 'static,
    ) -> Result<T, BusError> {
        let (durability, task) = (Arc::clone(&self.shared.durability), task.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let text = durability.read_transcript(&task)?;
            Ok::<_, LogError>(read(&text))
        });
        Ok(reading.await.map_err(|_| BusError::Closed)??)
    }

    /// Ends the bus thread once everything asked for before is done.
    pub async fn close(&self) {
        let (reply, answer) = oneshot::channel();
        self.core().closed = true;
        if self.shared.jobs.send(Job::Close { reply }).is_ok() {
            // An error means that the thread has ended already.
            let _ = answer.await;
        }
    }

    /// Runs something on the log. It touches files for microseconds and never syncs, so it runs where it is called.
    fn with_log<T>(
        &self,
        work: impl FnOnce(&mut dyn Log) -> Result<T, LogError>,
    ) -> Result<T, BusError> {
        Ok(work(self.core().log.as_mut())?)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.shared.core()
    }
}

impl BusShared {
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        // A panic while it was held left the replica at a whole entry: it changes by `apply` alone, which does not panic.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a command of this process.
    fn begin(&self, command: &Command) -> Result<Option<Receipt>, BusError> {
        let core = self.core();
        if core.closed {
            return Err(BusError::Closed);
        }
        self.append_in(core, command)
    }

    /// Lets a command wait for its turn.
    async fn queue(self: &Arc<Self>, command: Command) -> Result<Receipt, BusError> {
        let claim = Arc::new(Claim::default());
        let (reply, mut answer) = oneshot::channel();
        // Whoever drops this future has no use for the command any more.
        let _withdrawn = Withdrawn(Arc::clone(&claim));
        let queued = Queued { command, claim: Arc::clone(&claim), reply };
        self.queue_thread()?.send(queued).map_err(|_| BusError::Closed)?;
        let patience = Duration::from_millis(limits::BUSY_MS);
        let answered = match tokio::time::timeout(patience, &mut answer).await {
            Ok(answered) => answered,
            Err(_) if claim.withdraw() => {
                let holder = self.turn.holder();
                return Err(LogError::Busy { holder }.into());
            }
            // It is being done, and waits for nobody.
            Err(_) => answer.await,
        };
        answered.map_err(|_| BusError::Closed)?
    }

    /// Returns the way to the thread that waits for turns, which is started when one is first waited for.
    fn queue_thread(self: &Arc<Self>) -> Result<mpsc::Sender<Queued>, BusError> {
        let mut thread = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*thread {
            return Ok(sender.clone());
        }
        let started = waiting_commands::start(Arc::downgrade(self), Arc::clone(&self.turn));
        let sender = started.map_err(no_thread)?;
        *thread = Some(sender.clone());
        Ok(sender)
    }

    /// Brings to disk what has been appended: here, where that is quick, else on the bus thread.
    async fn sync(&self) -> Result<(), BusError> {
        if let Some(synced) = self.durability.sync_if_quick() {
            return Ok(synced?);
        }
        let (reply, synced) = oneshot::channel();
        let answer = match self.jobs.send(Job::Sync { reply }) {
            Ok(()) => synced.await.ok(),
            Err(_) => None,
        };
        // The bus thread may have ended since the append: what is in the log is brought to disk all the same.
        Ok(answer.unwrap_or_else(|| self.durability.sync())?)
    }

    /// Appends a command, of the other threads of the bus too; nothing when another process writes.
    pub(crate) fn append(&self, command: &Command) -> Result<Option<Receipt>, BusError> {
        self.append_in(self.core(), command)
    }

    fn append_in(
        &self,
        mut core: MutexGuard<'_, Core>,
        command: &Command,
    ) -> Result<Option<Receipt>, BusError> {
        let appended = core.append(command);
        let seq = core.replica.next_seq;
        drop(core);
        self.publish(seq);
        if let Ok(Some(receipt)) = &appended
            && receipt.events.iter().any(Event::changes_roster)
        {
            // An error means that the bus thread has ended: it wrote the view for the last time.
            let _ = self.jobs.send(Job::View);
        }
        appended
    }

    pub(crate) fn catch_up(&self) -> Result<(), LogError> {
        self.read_new(self.core())
    }

    /// Catches up after a bell, and never waits for the core: whoever holds it may be waiting for the thread that heard the bell,
    /// to listen to one more.
    fn hear(&self) -> Result<(), LogError> {
        match self.core.try_lock() {
            Ok(core) => self.read_new(core),
            Err(TryLockError::Poisoned(poisoned)) => self.read_new(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                // An error means that the bus thread has ended, and with it the use of this bus.
                let _ = self.jobs.send(Job::Look);
                Ok(())
            }
        }
    }

    fn read_new(&self, mut core: MutexGuard<'_, Core>) -> Result<(), LogError> {
        let Core { log, replica, .. } = &mut *core;
        log.catch_up(replica)?;
        let seq = replica.next_seq;
        drop(core);
        self.trouble.is_over();
        self.publish(seq);
        Ok(())
    }

    /// Tells those who wait that the state has changed.
    pub(crate) fn publish(&self, seq: u64) {
        self.changed.send_if_modified(|known| std::mem::replace(known, seq) != seq);
    }
}

impl Core {
    /// Decides and appends a command, and rings for those whom it concerns; nothing when another process writes.
    fn append(&mut self, command: &Command) -> Result<Option<Receipt>, BusError> {
        let Self { log, replica, .. } = self;
        let mut receipt = Receipt::default();
        loop {
            let appended =
                log.append(replica, &mut |state, now| rules::decide(state, now, command))?;
            let entry = match appended {
                Appended::Written(entry) => entry,
                Appended::Nothing => return Ok(Some(receipt)),
                Appended::Refused(refusal) => return Err(refusal.into()),
                Appended::Contended => return Ok(None),
            };
            log.ring(&rules::concerned(&replica.state, &entry.events));
            receipt.events.extend(entry.events);
            // Else it was what is due alone, and the command has room behind it.
            if entry.id == command.id {
                return Ok(Some(receipt));
            }
        }
    }

    /// Looks at the heartbeats of sessions.
    pub(crate) fn heartbeats(&mut self, of: &[SessionId]) -> Vec<ObservedSession> {
        let Self { log, replica, .. } = self;
        let live = of.iter().filter_map(|id| replica.state.session(*id));
        let look = |session: &crate::bus::state::Session| ObservedSession {
            session: session.id,
            beat: log.heartbeat(session.id),
            hung: session.hung,
        };
        live.map(look).collect()
    }

    /// Finds those of these sessions whose presence nobody holds, the longest here first.
    pub(crate) fn dead_of(&mut self, sessions: &[SessionId]) -> Vec<SessionId> {
        let Self { log, replica, .. } = self;
        let live = sessions.iter().filter_map(|id| replica.state.session(*id));
        let dead = live.filter(|session| log.held(session.id) == Presence::Free);
        let mut dead: Vec<_> = dead.map(|dead| (dead.since_seq, dead.id)).collect();
        dead.sort_unstable();
        dead.into_iter().map(|(_, id)| id).collect()
    }

    /// Finds the live sessions whose presence nobody holds.
    pub(crate) fn dead(&mut self) -> Vec<SessionId> {
        let live: Vec<_> = self.replica.state.session_ids().collect();
        self.dead_of(&live)
    }
}

fn no_thread(source: io::Error) -> LogError {
    LogError::Io { action: "start a thread for", path: "bus".into(), source: source.into() }
}

/// Reads the text that an event at a place carries.
pub(crate) fn read_text(log: &mut dyn Log, body: BodyRef) -> Result<String, LogError> {
    match log.event_at(body.place, body.index)? {
        Event::RequestOpened(opened) => Ok(request_texts(log, opened)?.whole()),
        event => match event.bodies().first() {
            Some(text) => whole(log, (*text).clone()),
            None => Err(LogError::Gone),
        },
    }
}

/// Reads both texts of a request.
fn request_texts(log: &mut dyn Log, opened: RequestOpened) -> Result<RequestTexts, LogError> {
    Ok(RequestTexts {
        description: whole(log, opened.description)?,
        context: opened.context.map(|context| whole(log, context)).transpose()?,
    })
}

/// Returns a body's text, wherever it is.
fn whole(log: &mut dyn Log, body: Body) -> Result<String, LogError> {
    match body {
        Body::Text(text) => Ok(text),
        Body::Blob { id, .. } => log.get_blob(id),
    }
}
