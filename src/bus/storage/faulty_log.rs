//! A log that fails where a test needs it: any append, sync, text or read, once, several times, or until it is mended.
//!
//! It stands in front of a real log, and counts the uses of each fault point. An append counts only if it would write something: a
//! refusal and an empty decision pass. Like the log in memory it is also for tests of the whole program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{
    Appended, Decide, Durability, Hold, Log, LogError, LogPosition, OnWakeup, Presence, Replica,
    Standing, Verdict, WriteTurn,
};
use crate::bus::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::time::Now;
use crate::sys::mutex::lock;

/// An operation that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultPoint {
    /// Writing a command's events.
    Append,
    /// Syncing them: they are in the log, and the caller learns that the outcome is unknown.
    Sync,
    /// Storing a long text.
    Blob,
    /// Reading a text: an event at its position, or a long text.
    Read,
    /// Reading new entries.
    CatchUp,
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another process writes for too long. Nothing is written.
    Busy,
    /// The disk is full or does not answer. Nothing is written.
    Io,
    /// The operation is done, and its outcome reported as unknown.
    OutcomeUnknown,
}

/// Selects the appends that fail.
type Selects = Arc<dyn Fn(&Event) -> bool + Send + Sync>;

/// The planned failures of one fault point.
#[derive(Clone)]
struct Failing {
    /// The number of the first failing use, counted from one.
    from: u64,
    /// The number of the first use that succeeds again.
    until: u64,
    fault: Fault,
    /// The appends that fail; all without it.
    selects: Option<Selects>,
    /// How many selected appends there were.
    selected: u64,
}

#[derive(Default)]
struct Script {
    /// How often each fault point was used.
    uses: BTreeMap<FaultPoint, u64>,
    failing: BTreeMap<FaultPoint, Failing>,
    failed: u64,
}

/// The planned failures, shared by a test and its logs.
#[derive(Clone, Default)]
pub struct Faults {
    script: Arc<Mutex<Script>>,
}

impl Faults {
    /// Puts these faults in front of a log.
    pub fn before(&self, log: impl Log + 'static) -> FaultyLog {
        FaultyLog { log: Box::new(log), faults: self.clone() }
    }

    /// Fails `times` uses of a fault point, from the `nth` one on, where the next use is the first.
    pub fn fail(&self, point: FaultPoint, nth: u64, times: u64, fault: Fault) {
        let mut script = self.script();
        let from = script.uses.get(&point).copied().unwrap_or_default() + nth;
        let failing =
            Failing { from, until: from.saturating_add(times), fault, selects: None, selected: 0 };
        script.failing.insert(point, failing);
    }

    /// Fails the next `times` appends of a selected event.
    pub fn fail_at(
        &self,
        times: u64,
        fault: Fault,
        selects: impl Fn(&Event) -> bool + Send + Sync + 'static,
    ) {
        let failing = Failing {
            from: 1,
            until: 1 + times,
            fault,
            selects: Some(Arc::new(selects)),
            selected: 0,
        };
        self.script().failing.insert(FaultPoint::Append, failing);
    }

    /// Ends all failures.
    pub fn mend(&self) {
        self.script().failing.clear();
    }

    /// Returns how often a fault point was used.
    pub fn uses(&self, point: FaultPoint) -> u64 {
        self.script().uses.get(&point).copied().unwrap_or_default()
    }

    /// Returns the number of failures so far.
    pub fn failed(&self) -> u64 {
        self.script().failed
    }

    /// Counts a use of a fault point. Returns the fault if the use fails.
    fn count(&self, point: FaultPoint, events: &[Event]) -> Option<Fault> {
        let mut script = self.script();
        let uses = script.uses.entry(point).or_default();
        *uses += 1;
        let mut number = *uses;
        let failing = script.failing.get_mut(&point)?;
        if let Some(selects) = &failing.selects {
            if !events.iter().any(|event| selects(event)) {
                return None;
            }
            // Only the selected appends are numbered.
            failing.selected += 1;
            number = failing.selected;
        }
        let fault = failing.fault;
        let fails = (failing.from..failing.until).contains(&number);
        script.failed += u64::from(fails);
        fails.then_some(fault)
    }

    /// Fails if this use of a fault point other than an append is to fail.
    fn pass(&self, point: FaultPoint) -> Result<(), LogError> {
        self.count(point, &[]).map_or(Ok(()), |fault| Err(error(fault)))
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

/// A log with faults in front of it.
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
        // A repeated decision still belongs to the same append.
        let mut fate: Option<Option<Fault>> = None;
        let appended = self.log.append(replica, &mut |replica, now| {
            let proposal = match decide(replica, now) {
                Verdict::Append(proposal) => proposal,
                other => return other,
            };
            let fault =
                *fate.get_or_insert_with(|| faults.count(FaultPoint::Append, &proposal.events));
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

    fn last_alive_ms(&mut self, session: SessionId, running: Option<&TaskId>) -> Option<i64> {
        self.log.last_alive_ms(session, running)
    }

    fn clear_presences(
        &mut self,
        standing: &dyn Fn(SessionId) -> Standing,
    ) -> Result<(), LogError> {
        self.log.clear_presences(standing)
    }

    fn wake(&mut self, sessions: &BTreeSet<SessionId>) {
        self.log.wake(sessions);
    }

    fn listen(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        on_wakeup: OnWakeup,
    ) -> Result<(), LogError> {
        self.log.listen(sessions, on_wakeup)
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
    fn exactly_the_planned_appends_fail() {
        let faults = Faults::default();
        let (mut log, mut replica) = opened(&faults);
        append(&mut log, &mut replica, vec![joined(1)]).unwrap();
        faults.fail(FaultPoint::Append, 2, 2, Fault::Io);
        let mut fails = || append(&mut log, &mut replica, vec![joined(2)]).is_err();
        assert_eq!([fails(), fails(), fails(), fails()], [false, true, true, false]);
        assert_eq!((faults.uses(FaultPoint::Append), faults.failed()), (5, 2));
        assert_eq!(replica.next_seq, 4);
    }

    #[test]
    fn an_append_with_an_unknown_outcome_is_written() {
        let faults = Faults::default();
        let (mut log, mut replica) = opened(&faults);
        faults.fail(FaultPoint::Append, 1, 1, Fault::OutcomeUnknown);
        let outcome = append(&mut log, &mut replica, vec![joined(1)]);
        assert!(matches!(outcome, Err(LogError::OutcomeUnknown { .. })));
        assert_eq!(replica.next_seq, 2);
    }

    #[test]
    fn a_failure_may_select_events() {
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
