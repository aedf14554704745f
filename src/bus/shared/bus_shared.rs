//! The part of a bus that its handle, its threads and the wakeup listener share.
//!
//! The core is locked while a command is decided and written, but never across an await or the sync that acknowledges it.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use tokio::sync::{oneshot, watch};

use super::core::{Core, ProposedCommand};
use super::jobs::{Job, Queued};
use super::read_trouble::ReadTrouble;
use super::receipt::Receipt;
use super::unsettled::Unsettled;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::replica::Replica;
use crate::bus::rules::Command;
use crate::bus::storage::{Durability, Log, LogError, SequencedLine, Sequencer, WriteTurn};
use crate::domain::ids::CommandId;
use crate::sys::mutex::lock;

/// The shared part of a bus.
pub(crate) struct BusShared {
    core: Mutex<Core>,
    jobs: mpsc::Sender<Job>,
    changed: watch::Sender<u64>,
    pub(crate) durability: Arc<dyn Durability>,
    pub(crate) turn: Arc<dyn WriteTurn>,
    /// The server that keeps the order, if the log is a mirror.
    pub(crate) order: Option<Arc<dyn Sequencer>>,
    /// The channel to the thread of waiting commands, once there is one.
    pub(crate) queue: Mutex<Option<mpsc::Sender<Queued>>>,
    /// Whether this process links its host to the others, or waits to.
    pub(crate) is_linking: AtomicBool,
    /// Whether this process has the turn to link its host to the others.
    pub(crate) is_keeper: AtomicBool,
    /// Whether other machines write between the acts of this process, so that it had better wait for its turn than race with them.
    pub(crate) is_crowded: AtomicBool,
    /// When the server last said that it serves nobody now, in milliseconds since the machine was started; 0 if never.
    pub(crate) server_down_ms: AtomicU64,
    /// What members may repeat, because a server has not acknowledged it.
    pub(crate) unsettled: Unsettled,
    /// The last failure to read the log that no command could report.
    pub(crate) trouble: ReadTrouble,
}

impl BusShared {
    pub(crate) fn new(log: Box<dyn Log>, replica: Replica, jobs: mpsc::Sender<Job>) -> Self {
        let (changed, _) = watch::channel(replica.next_seq);
        Self {
            durability: log.durability(),
            turn: log.turn(),
            order: log.sequencer(),
            core: Mutex::new(Core::new(log, replica)),
            jobs,
            changed,
            queue: Mutex::default(),
            is_linking: AtomicBool::new(false),
            is_keeper: AtomicBool::new(false),
            is_crowded: AtomicBool::new(false),
            server_down_ms: AtomicU64::new(0),
            unsettled: Unsettled::default(),
            trouble: ReadTrouble::default(),
        }
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        // After a panic of the holder the replica still stands at a whole entry: only `apply` changes it, and that does not panic.
        lock(&self.core)
    }

    /// Returns a number that grows with every change of the state.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Appends a command of this process. Returns none while another process writes.
    pub(crate) fn begin(&self, command: &Command) -> Result<Option<Receipt>, BusError> {
        let core = self.core();
        if core.closed {
            return Err(BusError::Closed);
        }
        if self.order.is_some() {
            return Ok(None);
        }
        self.append_in(core, command)
    }

    /// Appends a command, even of a closed bus. Returns none while another process writes.
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
        if let Ok(Some(receipt)) = &appended {
            self.show(&receipt.events);
        }
        appended
    }

    /// Has the view of members written anew, if these events change it.
    fn show(&self, events: &[Event]) {
        if events.iter().any(Event::changes_roster) {
            // An error means that the bus thread has ended, after it had written the view for the last time.
            let _ = self.jobs.send(Job::View);
        }
    }

    /// Does something in the turn to write to a mirror, for which the calling thread waits.
    pub(crate) fn in_turn<T>(
        &self,
        work: impl FnOnce() -> Result<T, BusError>,
    ) -> Result<T, BusError> {
        loop {
            self.turn.wait()?;
            if self.core().hold_turn(true)? {
                break;
            }
        }
        let done = work();
        self.core().hold_turn(false)?;
        done
    }

    /// Decides what a command is to append, in the turn to write.
    pub(crate) fn propose(&self, command: &Command) -> Result<ProposedCommand, BusError> {
        Ok(self.core().propose(command)?)
    }

    /// Takes lines that have their place, in the turn to write. Returns their events.
    pub(crate) fn take(&self, lines: &[SequencedLine]) -> Result<Vec<Event>, BusError> {
        let mut core = self.core();
        let events = core.take(lines)?;
        let seq = core.replica.next_seq;
        drop(core);
        self.publish(seq);
        self.show(&events);
        Ok(events)
    }

    /// Returns the events of a command that was done before (see `Core::events_of_done`).
    pub(crate) fn events_of_done(&self, command: CommandId) -> Result<Vec<Event>, LogError> {
        self.core().events_of_done(command)
    }

    /// Returns the seq of the next event, as far as this process knows, and the command of the last one.
    pub(crate) fn end_of_log(&self) -> (u64, Option<CommandId>) {
        let replica = &self.core().replica;
        (replica.next_seq.max(1), replica.state.last_command())
    }

    /// Makes this another host, after the former one was buried.
    pub(crate) fn begin_host_anew(&self) -> Result<(), LogError> {
        match self.core().log.mirror() {
            Some(mirror) => mirror.begin_anew(),
            None => Ok(()),
        }
    }

    /// Says whether a mirror has a long text.
    pub(crate) fn has_text(&self, id: uuid::Uuid) -> bool {
        self.core().log.mirror().is_some_and(|mirror| mirror.has_text(id))
    }

    /// Syncs the appended entries: on this thread if that is quick, else on the bus thread.
    pub(crate) async fn sync(&self) -> Result<(), BusError> {
        if let Some(synced) = self.durability.sync_if_quick() {
            return Ok(synced?);
        }
        let (reply, synced) = oneshot::channel();
        let answer = match self.jobs.send(Job::Sync { reply }) {
            Ok(()) => synced.await.ok(),
            Err(_) => None,
        };
        // The bus thread may have ended since the append. The entry is synced all the same.
        Ok(answer.unwrap_or_else(|| self.durability.sync())?)
    }

    /// Refuses further commands, and returns when the bus thread has done all earlier work.
    pub(crate) async fn close(&self) {
        let (reply, answer) = oneshot::channel();
        self.core().closed = true;
        if self.jobs.send(Job::Close { reply }).is_ok() {
            // An error means that the thread has ended already.
            let _ = answer.await;
        }
    }

    /// Reads the entries that other processes have appended.
    pub(crate) fn catch_up(&self) -> Result<(), LogError> {
        self.read_new(self.core())
    }

    /// Catches up after a wakeup, without waiting for the core: its holder may be waiting for the calling thread to begin listening
    /// for another session.
    pub(crate) fn on_wakeup(&self) -> Result<(), LogError> {
        match self.core.try_lock() {
            Ok(core) => self.read_new(core),
            Err(TryLockError::Poisoned(poisoned)) => self.read_new(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                // An error means that the bus thread has ended, and the bus with it.
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

    /// Notifies tasks that wait for a change of the state.
    fn publish(&self, seq: u64) {
        self.changed.send_if_modified(|known| std::mem::replace(known, seq) != seq);
    }
}
