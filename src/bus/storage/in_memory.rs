//! A log in memory: for tests and model checks. Several handles on one shared store stand for several processes.
//!
//! Nothing survives the process. Otherwise it keeps the same contract as any log, and the same suite tests it.

use std::collections::btree_map::Entry as Entered;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use super::file::line_format;
use super::{
    Appended, Decide, Durability, Hold, Log, LogError, LogPosition, OnWakeup, Presence, Replica,
    Standing, Verdict, WriteTurn,
};
use crate::bus::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::time::Now;
use crate::sys::mutex::lock;

/// Where the time of a log in memory comes from.
pub type Clock = Arc<dyn Fn() -> Now + Send + Sync>;

#[derive(Default)]
struct SharedStore {
    entries: Vec<Entry>,
    blobs: BTreeMap<uuid::Uuid, String>,
    transcripts: BTreeMap<TaskId, String>,
    /// The presences that are held, each with the number of its beats.
    held: BTreeMap<SessionId, i128>,
    wakeups: Vec<(u64, BTreeSet<SessionId>, OnWakeup)>,
    view: String,
    handles: u64,
    /// The failures of the next reads of texts, before reads succeed again.
    failing: VecDeque<LogError>,
}

/// The store that several [`MemoryLog`]s share.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Mutex<SharedStore>>,
    clock: Clock,
}

/// One process's log over a shared store.
pub struct MemoryLog {
    store: Store,
    number: u64,
}

impl Store {
    /// Makes an empty store whose time comes from `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { shared: Arc::default(), clock }
    }

    /// Opens one more log on the store.
    pub fn log(&self) -> MemoryLog {
        let mut shared = self.lock();
        shared.handles += 1;
        MemoryLog { store: self.clone(), number: shared.handles }
    }

    /// Returns the view of members as it was last written.
    pub fn view(&self) -> String {
        self.lock().view.clone()
    }

    /// Fails the next reads of texts, one failure each.
    pub fn fail_reads(&self, failures: impl IntoIterator<Item = LogError>) {
        self.lock().failing.extend(failures);
    }

    fn lock(&self) -> MutexGuard<'_, SharedStore> {
        // Every change is a single step, so a panic elsewhere leaves nothing half-done.
        lock(&self.shared)
    }
}

impl MemoryLog {
    fn read_into(shared: &SharedStore, replica: &mut Replica) {
        let read = usize::try_from(replica.place.offset).unwrap_or(usize::MAX);
        for (offset, entry) in (replica.place.offset..).zip(shared.entries.iter().skip(read)) {
            replica.apply(entry);
            replica.place.offset = offset + 1;
        }
    }
}

impl Log for MemoryLog {
    fn now(&self) -> Now {
        (self.store.clock)()
    }

    fn open(&mut self) -> Result<Replica, LogError> {
        let mut replica = Replica { next_seq: 1, ..Replica::default() };
        self.catch_up(&mut replica)?;
        Ok(replica)
    }

    fn catch_up(&mut self, replica: &mut Replica) -> Result<(), LogError> {
        Self::read_into(&self.store.lock(), replica);
        Ok(())
    }

    fn append(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Appended, LogError> {
        let now = self.now();
        // Compare and append: decided without the lock, and again if anything has come meanwhile.
        let (mut shared, proposal) = loop {
            self.catch_up(replica)?;
            let proposal = match decide(replica, now) {
                Verdict::Refused => return Ok(Appended::Refused),
                Verdict::Nothing => return Ok(Appended::Nothing),
                Verdict::Append(proposal) => proposal,
            };
            let shared = self.store.lock();
            if shared.entries.len() as u64 == replica.place.offset {
                break (shared, proposal);
            }
        };
        let entry = Entry {
            seq: replica.next_seq,
            ts: now.wall_ms,
            tick: now.tick,
            id: proposal.id,
            by: proposal.by,
            events: proposal.events,
        };
        let bytes = line_format::encode(&entry).len();
        if bytes > line_format::MAX_LINE_BYTES {
            return Err(LogError::TooLong { bytes, limit: line_format::MAX_LINE_BYTES });
        }
        shared.entries.push(entry.clone());
        Self::read_into(&shared, replica);
        Ok(Appended::Written(entry))
    }

    fn turn(&self) -> Arc<dyn WriteTurn> {
        Arc::new(Always)
    }

    fn durability(&self) -> Arc<dyn Durability> {
        Arc::new(InMemory { store: self.store.clone() })
    }

    fn read_after(
        &mut self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError> {
        let shared = self.store.lock();
        let from = usize::try_from(place.offset).unwrap_or(usize::MAX);
        let found: Vec<_> = (place.offset..)
            .zip(shared.entries.iter().skip(from).take(max))
            .map(|(offset, entry)| (LogPosition { segment: 0, offset }, entry.clone()))
            .collect();
        let next = LogPosition { segment: 0, offset: place.offset + found.len() as u64 };
        Ok((found, next))
    }

    fn oldest(&mut self) -> Result<LogPosition, LogError> {
        Ok(LogPosition::default())
    }

    fn event_at(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError> {
        let mut shared = self.store.lock();
        if let Some(failure) = shared.failing.pop_front() {
            return Err(failure);
        }
        let entry = usize::try_from(place.offset).ok().and_then(|at| shared.entries.get(at));
        let event = entry.and_then(|entry| entry.events.get(usize::from(index)));
        event.cloned().ok_or(LogError::Gone)
    }

    fn get_blob(&mut self, id: uuid::Uuid) -> Result<String, LogError> {
        self.store.lock().blobs.get(&id).cloned().ok_or(LogError::Gone)
    }

    fn transcript(&mut self, task: &TaskId, line: &str) -> Result<(), LogError> {
        let mut shared = self.store.lock();
        let text = shared.transcripts.entry(task.clone()).or_default();
        text.push_str(line.trim_end_matches('\n'));
        text.push('\n');
        Ok(())
    }

    fn hold(&mut self, session: SessionId) -> Result<Box<dyn Hold>, LogError> {
        match self.store.lock().held.entry(session) {
            Entered::Vacant(free) => free.insert(0),
            Entered::Occupied(_) => {
                return Err(LogError::Busy { holder: format!("the session {session}") });
            }
        };
        Ok(Box::new(Held { store: self.store.clone(), session }))
    }

    fn held(&mut self, session: SessionId) -> Presence {
        if self.store.lock().held.contains_key(&session) { Presence::Held } else { Presence::Free }
    }

    fn heartbeat(&mut self, session: SessionId) -> Option<i128> {
        self.store.lock().held.get(&session).copied()
    }

    /// The beats in memory are counted, not timed.
    fn last_alive_ms(&mut self, _session: SessionId, _running: Option<&TaskId>) -> Option<i64> {
        None
    }

    /// Sessions without a presence leave nothing in memory.
    fn clear_presences(
        &mut self,
        _standing: &dyn Fn(SessionId) -> Standing,
    ) -> Result<(), LogError> {
        Ok(())
    }

    fn wake(&mut self, sessions: &BTreeSet<SessionId>) {
        let mut woken: Vec<OnWakeup> = Vec::new();
        for (number, listened, on_wakeup) in &self.store.lock().wakeups {
            if *number != self.number && !listened.is_disjoint(sessions) {
                woken.push(Arc::clone(on_wakeup));
            }
        }
        for on_wakeup in woken {
            on_wakeup();
        }
    }

    fn listen(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        on_wakeup: OnWakeup,
    ) -> Result<(), LogError> {
        let mut shared = self.store.lock();
        shared.wakeups.retain(|(number, _, _)| *number != self.number);
        shared.wakeups.push((self.number, sessions.clone(), on_wakeup));
        Ok(())
    }

    fn put_view(&mut self, json: &str) -> Result<(), LogError> {
        json.clone_into(&mut self.store.lock().view);
        Ok(())
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        self.store.lock().wakeups.retain(|(number, _, _)| *number != self.number);
    }
}

/// A store in memory needs no sync.
struct InMemory {
    store: Store,
}

/// The turn to write is always free here.
struct Always;

impl WriteTurn for Always {
    fn wait(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn release(&self) {}

    fn holder(&self) -> String {
        "no process".to_owned()
    }
}

impl Durability for InMemory {
    fn sync(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn sync_if_quick(&self) -> Option<Result<(), LogError>> {
        Some(Ok(()))
    }

    fn put_blob(&self, id: uuid::Uuid, text: &str) -> Result<(), LogError> {
        self.store.lock().blobs.insert(id, text.to_owned());
        Ok(())
    }

    fn read_transcript(&self, task: &TaskId) -> Result<String, LogError> {
        let shared = self.store.lock();
        shared.transcripts.get(task).cloned().ok_or(LogError::Gone)
    }
}

struct Held {
    store: Store,
    session: SessionId,
}

impl Hold for Held {
    fn beat(&self) {
        if let Some(beats) = self.store.lock().held.get_mut(&self.session) {
            *beats += 1;
        }
    }

    fn remove(&self) {
        self.store.lock().held.remove(&self.session);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::storage::contract;
    use crate::sys::clock;

    #[test]
    fn the_log_in_memory_keeps_the_contract() {
        let store = Store::new(Arc::new(clock::now));
        contract::contract(&|| Box::new(store.log()));
    }
}
