//! A log that fails where a test wants it to: any append, sync, text or read, once, several times, or until it is mended.
//!
//! It stands in front of a real log, and counts what is asked of each of its doors. Only what would write something counts as an
//! append: a refusal and an empty decision pass. Like the log in memory it is for tests, of the program too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{
    Appended, Decide, Durability, Hold, Log, LogError, LogPosition, OnRing, Presence, Replica,
    Standing, Verdict, WriteTurn,
};
use crate::bus::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::time::Now;
use crate::sys::mutex::lock;

/// What may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultPoint {
    /// To write a command's events.
    Append,
    /// To bring them to disk: they are in the log, and whoever asked is told that this is unknown.
    Sync,
    /// To store a long text.
    Blob,
    /// To read a text: an event at its place, or a long text.
    Read,
    /// To read what is new.
    CatchUp,
}

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another process writes for too long; nothing is done.
    Busy,
    /// The disk is full, or does not answer; nothing is done.
    Io,
    /// It is done, and reported as unknown.
    OutcomeUnknown,
}

/// Says which appends a failure is for.
type Concerns = Arc<dyn Fn(&Event) -> bool + Send + Sync>;

/// What is to fail at one door.
#[derive(Clone)]
struct Failing {
    /// The number of the first that fails, counted from one.
    from: u64,
    /// The number of the first that does not fail any more.
    until: u64,
    fault: Fault,
    /// Those that it is for; any, where nothing is said.
    concerns: Option<Concerns>,
    /// How many of those there were.
    so_far: u64,
}

#[derive(Default)]
struct Script {
    /// How often each door was asked.
    asked: BTreeMap<FaultPoint, u64>,
    failing: BTreeMap<FaultPoint, Failing>,
    failed: u64,
}

/// What is to fail, shared by a test and its logs.
#[derive(Clone, Default)]
pub struct Faults {
    script: Arc<Mutex<Script>>,
}

impl Faults {
    /// Puts itself in front of a log.
    pub fn before(&self, log: impl Log + 'static) -> FaultyLog {
        FaultyLog { log: Box::new(log), faults: self.clone() }
    }

    /// Lets `times` of what is asked of a door from now on fail, beginning with the `nth`, where the next one is the first.
    pub fn fail(&self, door: FaultPoint, nth: u64, times: u64, fault: Fault) {
        let mut script = self.script();
        let from = script.asked.get(&door).copied().unwrap_or_default() + nth;
        let failing =
            Failing { from, until: from.saturating_add(times), fault, concerns: None, so_far: 0 };
        script.failing.insert(door, failing);
    }

    /// Lets the next appends fail that write such an event, so many times.
    pub fn fail_at(
        &self,
        times: u64,
        fault: Fault,
        concerns: impl Fn(&Event) -> bool + Send + Sync + 'static,
    ) {
        let failing = Failing {
            from: 1,
            until: 1 + times,
            fault,
            concerns: Some(Arc::new(concerns)),
            so_far: 0,
        };
        self.script().failing.insert(FaultPoint::Append, failing);
    }

    /// Lets everything succeed from now on.
    pub fn mend(&self) {
        self.script().failing.clear();
    }

    /// Returns how often a door was asked.
    pub fn asked(&self, door: FaultPoint) -> u64 {
        self.script().asked.get(&door).copied().unwrap_or_default()
    }

    /// Returns how often anything has failed.
    pub fn failed(&self) -> u64 {
        self.script().failed
    }

    /// Counts what is asked of a door, and says whether it fails.
    fn ask(&self, door: FaultPoint, events: &[Event]) -> Option<Fault> {
        let mut script = self.script();
        let asked = script.asked.entry(door).or_default();
        *asked += 1;
        let mut number = *asked;
        let failing = script.failing.get_mut(&door)?;
        if let Some(concerns) = &failing.concerns {
            if !events.iter().any(|event| concerns(event)) {
                return None;
            }
            // Here only those that it is for are counted.
            failing.so_far += 1;
            number = failing.so_far;
        }
        let fault = failing.fault;
        let fails = (failing.from..failing.until).contains(&number);
        script.failed += u64::from(fails);
        fails.then_some(fault)
    }

    /// Fails, if a door that writes nothing is to fail.
    fn pass(&self, door: FaultPoint) -> Result<(), LogError> {
        self.ask(door, &[]).map_or(Ok(()), |fault| Err(error(fault)))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }
}

fn error(fault: Fault) -> LogError {
    let full = || Arc::new(std::io::Error::from(std::io::ErrorKind::StorageFull));
    match fault {
        Fault::Busy => LogError::Busy { holder: "a test".to_owned() },
        Fault::Io => LogError::Io { action: "use", path: "log".into(), source: full() },
        Fault::OutcomeUnknown => LogError::OutcomeUnknown { source: full() },
    }
}

/// A log with faults before it.
pub struct FaultyLog {
    log: Box<dyn Log>,
    faults: Faults,
}

impl Log for FaultyLog {
    fn now(&self) -> Now {
        self.log.now()
    }

    fn open(&mut self) -> Result<Replica, LogError> {
        self.log.open()
    }

    fn catch_up(&mut self, replica: &mut Replica) -> Result<(), LogError> {
        self.faults.pass(FaultPoint::CatchUp)?;
        self.log.catch_up(replica)
    }

    fn append(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Appended, LogError> {
        let faults = self.faults.clone();
        // A decision may be made again: it is one append all the same.
        let mut fate: Option<Option<Fault>> = None;
        let appended = self.log.append(replica, &mut |replica, now| {
            let proposal = match decide(replica, now) {
                Verdict::Append(proposal) => proposal,
                other => return other,
            };
            let fault =
                *fate.get_or_insert_with(|| faults.ask(FaultPoint::Append, &proposal.events));
            let writes = matches!(fault, None | Some(Fault::OutcomeUnknown));
            if writes { Verdict::Append(proposal) } else { Verdict::Nothing }
        })?;
        match fate.flatten() {
            Some(Fault::OutcomeUnknown) if !matches!(appended, Appended::Written(_)) => {
                Ok(appended)
            }
            Some(fault) => Err(error(fault)),
            None => Ok(appended),
        }
    }

    fn turn(&self) -> Arc<dyn WriteTurn> {
        self.log.turn()
    }

    fn durability(&self) -> Arc<dyn Durability> {
        Arc::new(Faulty { durability: self.log.durability(), faults: self.faults.clone() })
    }

    fn read_after(
        &mut self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError> {
        self.log.read_after(place, max)
    }

    fn oldest(&mut self) -> Result<LogPosition, LogError> {
        self.log.oldest()
    }

    fn event_at(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError> {
        self.faults.pass(FaultPoint::Read)?;
        self.log.event_at(place, index)
    }

    fn get_blob(&mut self, id: uuid::Uuid) -> Result<String, LogError> {
        self.faults.pass(FaultPoint::Read)?;
        self.log.get_blob(id)
    }

    fn transcript(&mut self, task: &TaskId, line: &str) -> Result<(), LogError> {
        self.log.transcript(task, line)
    }

    fn hold(&mut self, session: SessionId) -> Result<Box<dyn Hold>, LogError> {
        self.log.hold(session)
    }

    fn held(&mut self, session: SessionId) -> Presence {
        self.log.held(session)
    }

    fn heartbeat(&mut self, session: SessionId) -> Option<i128> {
        self.log.heartbeat(session)
    }

    fn clear_presences(
        &mut self,
        standing: &dyn Fn(SessionId) -> Standing,
    ) -> Result<(), LogError> {
        self.log.clear_presences(standing)
    }

    fn ring(&mut self, sessions: &BTreeSet<SessionId>) {
        self.log.ring(sessions);
    }

    fn listen(&mut self, sessions: &BTreeSet<SessionId>, on_ring: OnRing) -> Result<(), LogError> {
        self.log.listen(sessions, on_ring)
    }

    fn put_view(&mut self, json: &str) -> Result<(), LogError> {
        self.log.put_view(json)
    }
}

struct Faulty {
    durability: Arc<dyn Durability>,
    faults: Faults,
}

impl Durability for Faulty {
    fn sync(&self) -> Result<(), LogError> {
        self.durability.sync()?;
        self.faults.pass(FaultPoint::Sync)
    }

    fn sync_if_quick(&self) -> Option<Result<(), LogError>> {
        Some(self.sync())
    }

    fn put_blob(&self, id: uuid::Uuid, text: &str) -> Result<(), LogError> {
        self.faults.pass(FaultPoint::Blob)?;
        self.durability.put_blob(id, text)
    }

    fn read_transcript(&self, task: &TaskId) -> Result<String, LogError> {
        self.durability.read_transcript(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::storage::contract::{append, contract, joined, sent};
    use crate::bus::storage::in_memory::Store;
    use crate::sys::clock;

    fn opened(faults: &Faults) -> (FaultyLog, Replica) {
        let mut log = faults.before(Store::new(Arc::new(clock::now)).log());
        let replica = log.open().unwrap();
        (log, replica)
    }

    #[test]
    fn without_faults_it_keeps_the_contract() {
        let store = Store::new(Arc::new(clock::now));
        let faults = Faults::default();
        contract(&|| Box::new(faults.before(store.log())));
        assert_eq!(faults.failed(), 0);
    }

    #[test]
    fn exactly_what_is_wanted_fails() {
        let faults = Faults::default();
        let (mut log, mut replica) = opened(&faults);
        append(&mut log, &mut replica, vec![joined(1)]).unwrap();
        faults.fail(FaultPoint::Append, 2, 2, Fault::Io);
        let mut fails = || append(&mut log, &mut replica, vec![joined(2)]).is_err();
        assert_eq!([fails(), fails(), fails(), fails()], [false, true, true, false]);
        assert_eq!((faults.asked(FaultPoint::Append), faults.failed()), (5, 2));
        assert_eq!(replica.next_seq, 4);
    }

    #[test]
    fn what_is_unknown_is_written() {
        let faults = Faults::default();
        let (mut log, mut replica) = opened(&faults);
        faults.fail(FaultPoint::Append, 1, 1, Fault::OutcomeUnknown);
        let told = append(&mut log, &mut replica, vec![joined(1)]);
        assert!(matches!(told, Err(LogError::OutcomeUnknown { .. })));
        assert_eq!(replica.next_seq, 2);
    }

    #[test]
    fn a_failure_may_be_for_some_events_only() {
        let faults = Faults::default();
        let (mut log, mut replica) = opened(&faults);
        faults.fail_at(1, Fault::Busy, |event| matches!(event, Event::MessageSent(_)));
        append(&mut log, &mut replica, vec![joined(1)]).unwrap();
        assert!(append(&mut log, &mut replica, vec![sent(1, "a")]).is_err());
        append(&mut log, &mut replica, vec![joined(2)]).unwrap();
        append(&mut log, &mut replica, vec![sent(1, "a")]).unwrap();
        faults.fail(FaultPoint::Append, 1, u64::MAX, Fault::Busy);
        assert!(append(&mut log, &mut replica, vec![joined(3)]).is_err());
        faults.mend();
        append(&mut log, &mut replica, vec![joined(3)]).unwrap();
    }
}
