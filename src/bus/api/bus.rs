//! The handle of a bus: one replica of the state for each process, and one thread that brings appends to disk.
//!
//! The calling thread decides and appends a command, and wakes the sessions concerned: handing that to another thread would cost
//! more than the work itself. Only while another process writes does another thread wait for the turn. The calling thread also does
//! a short sync; the bus thread does a long one, once for all waiting commands. A command is acknowledged after its sync; one that
//! merely marks progress needs none. [`Bus::changes`] is a number that grows with each change of the replica: a caller that waits
//! for something looks at the state after each change.

mod reading;
mod store_texts;

use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::sync::{Arc, MutexGuard, Weak};

use tokio::sync::watch;

use crate::bus::background::heartbeats::HeartbeatIntervals;
use crate::bus::background::{
    append_in_order, bus_thread, link_host, one_boot_at_a_time, wait_for_write_lock,
};
use crate::bus::error::BusError;
use crate::bus::rules::{Command, DeadSession, Operation};
use crate::bus::shared::{Act, BusShared, Core, Receipt, no_thread};
use crate::bus::state::State;
use crate::bus::storage::session_standing::standing;
use crate::bus::storage::{Log, LogError, Presence};
use crate::domain::ids::{CallId, CommandId, SessionId};
use crate::domain::member::Host;
use crate::domain::time::Now;
use crate::sys::random_ids;

/// The bus of one project, for one process. Cheap to clone.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<BusShared>,
}

impl Bus {
    /// Opens a log and starts the bus thread.
    pub fn open(log: Box<dyn Log>) -> Result<Self, BusError> {
        Self::open_at(log, HeartbeatIntervals::default())
    }

    /// Opens a log and starts the bus thread, with other intervals than the usual.
    pub fn open_at(mut log: Box<dyn Log>, pace: HeartbeatIntervals) -> Result<Self, BusError> {
        let replica = log.open()?;
        one_boot_at_a_time::check(log.as_mut(), &replica.state)?;
        let (jobs, inbox) = mpsc::channel();
        let durability = log.durability();
        let shared = Arc::new(BusShared::new(log, replica, jobs));
        bus_thread::start(Arc::downgrade(&shared), inbox, durability, pace).map_err(no_thread)?;
        Ok(Self { shared })
    }

    /// Performs an operation for a session. `received` are its earlier calls whose answers its model has certainly read.
    ///
    /// Cancel-safe in the sense that after a dropped future the command is either done completely or not at all. It occupies its
    /// thread while it decides and writes, and for a sync that is likely to be short, but not while it waits for another writing
    /// process or a slow disk. A command that still waits for another writer after
    /// [`BUS_BUSY`](crate::domain::wait_times::BUS_BUSY) is withdrawn: the bus is busy.
    pub async fn submit(
        &self,
        by: Option<SessionId>,
        received: Vec<CallId>,
        operation: Operation,
    ) -> Result<Receipt, BusError> {
        if self.shared.order.is_none() {
            return self.submit_in_files(by, received, operation).await;
        }
        // A server may not have acknowledged the same act, which then is the same command.
        let mut attempt = self.shared.unsettled.attempt(Act::of(by, &operation));
        let is_of_claims = operation.changes_what_is_owned();
        let outcome = self.submit_as(attempt.id(), by, received, operation).await;
        // After any other error its line may have its place: also if the server was away or this machine's disk was full.
        if matches!(outcome, Ok(_) | Err(BusError::Refused(_))) {
            attempt.settle();
        }
        if is_of_claims && outcome.is_ok() {
            self.shared.unsettled.forget_claims(by);
        }
        outcome
    }

    /// Performs an operation on a log in files. If an earlier attempt at the same act may have been stored, it is the same command.
    async fn submit_in_files(
        &self,
        by: Option<SessionId>,
        received: Vec<CallId>,
        operation: Operation,
    ) -> Result<Receipt, BusError> {
        let unsettled = &self.shared.unsettled;
        // Nearly always there is none, and no hash to make.
        let known = if unsettled.is_empty() { None } else { Act::of(by, &operation) };
        let before = known.and_then(|act| unsettled.take(&act));
        let id = before.unwrap_or_else(random_ids::command);
        let same = Box::new(operation.clone());
        let outcome = self.submit_as(id, by, received, operation).await;
        if outcome.is_ok() && same.changes_what_is_owned() && !unsettled.is_empty() {
            unsettled.forget_claims(by);
        }
        let is_unknown = matches!(outcome, Err(BusError::Log(LogError::OutcomeUnknown { .. })));
        match outcome {
            Ok(receipt) if before.is_some() && receipt.events.is_empty() => {
                Ok(Receipt { events: self.shared.events_of_done(id)? })
            }
            Err(error) if is_unknown || before.is_some() => {
                if let Some(act) =
                    Act::of(by, &same).filter(|_| !matches!(error, BusError::Refused(_)))
                {
                    unsettled.keep(act, id);
                }
                Err(error)
            }
            outcome => outcome,
        }
    }

    /// Performs an operation under a given id. A command happens once per id, however earlier attempts ended.
    pub async fn submit_as(
        &self,
        id: CommandId,
        by: Option<SessionId>,
        received: Vec<CallId>,
        operation: Operation,
    ) -> Result<Receipt, BusError> {
        let command = Command { id, by, received, operation };
        let command = self.with_texts_stored(command).await?;
        let receipt = match self.shared.begin(&command)? {
            Some(receipt) => receipt,
            None => wait_for_write_lock::wait_for_turn(&self.shared, command).await?,
        };
        // What a server has acknowledged is durable there: a mirror that loses its end fetches it anew.
        if self.shared.order.is_none() && !receipt.is_progress() {
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

    /// Reads the entries that other processes have appended.
    pub fn refresh(&self) -> Result<(), BusError> {
        self.shared.catch_up().map_err(BusError::Log)
    }

    /// Brings the mirror of a bus that several machines share up to what its server has. Returns the number of all events. Blocks.
    pub fn fetch(&self) -> Result<u64, BusError> {
        append_in_order::fetch(&self.shared)?;
        Ok(self.last_seq())
    }

    /// Brings a mirror up to date without taking part: nothing else is written. Blocks.
    pub fn fetch_once(mut log: Box<dyn Log>) -> Result<(), BusError> {
        let replica = log.open()?;
        let (jobs, _) = mpsc::channel();
        append_in_order::fetch(&BusShared::new(log, replica, jobs))
    }

    /// Returns the number of the last event that is known here.
    pub fn last_seq(&self) -> u64 {
        self.shared.end_of_log().0 - 1
    }

    /// Returns a number that grows with every change of the state.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes()
    }

    /// Holds the presence of a new session, which shows other processes that it lives.
    pub fn hold(&self, session: SessionId) -> Result<(), BusError> {
        let mut core = self.core();
        let hold = core.log.hold(session)?;
        core.holds.push((session, hold));
        drop(core);
        link_host::start_once(&self.shared)
    }

    /// Returns the host of this process, on a bus that several machines share.
    pub fn host(&self) -> Option<Host> {
        self.core().log.host()
    }

    /// Says whether this host is cut off from the team (see `link_host::is_cut_off`). None if it has no contact yet, or needs none.
    pub fn is_cut_off(&self) -> Option<bool> {
        link_host::is_cut_off(&self.shared)
    }

    /// Says whether a session's processes can be looked at from here: those of another host cannot.
    pub fn is_of_this_host(&self, session: SessionId) -> bool {
        let core = self.core();
        let host = core.replica.state.host_of(session);
        !host.is_some_and(|host| core.log.is_elsewhere(host))
    }

    /// Returns another handle to a presence that this process holds, for a child: the presence is free once both are closed.
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

    /// Listens for wakeups of a session.
    pub fn attend(&self, session: SessionId) -> Result<(), BusError> {
        let mut core = self.core();
        core.attended.insert(session);
        let weak: Weak<BusShared> = Arc::downgrade(&self.shared);
        let on_wakeup = Arc::new(move || {
            if let Some(shared) = weak.upgrade()
                && let Err(error) = shared.on_wakeup()
            {
                shared.trouble.report(&error);
            }
        });
        let sessions = core.attended.clone();
        core.log.listen(&sessions, on_wakeup)?;
        Ok(())
    }

    /// Records the death of live sessions whose presence is free.
    pub async fn reap_dead_sessions(&self) -> Result<(), BusError> {
        self.refresh()?;
        let dead = self.core().dead();
        if !dead.is_empty() {
            self.submit(None, Vec::new(), Operation::Reap(dead)).await?;
        }
        Ok(())
    }

    /// Removes the presence and wakeup files of dead sessions.
    pub fn clear_presences(&self) -> Result<(), BusError> {
        let mut core = self.core();
        let Core { log, replica, .. } = &mut *core;
        let state = &replica.state;
        log.clear_presences(&|session| standing(state, session))?;
        Ok(())
    }

    /// Says whether any process holds the presence of a session.
    pub fn is_held(&self, session: SessionId) -> bool {
        self.core().log.held(session) == Presence::Held
    }

    /// Finds the live sessions, if no process holds the presence of any.
    pub(super) fn dead_if_all_are(&self) -> Option<Vec<DeadSession>> {
        self.core().dead_if_all_are()
    }

    /// Finds those of these live sessions whose presence no process holds.
    pub(super) fn dead_of(&self, sessions: &[SessionId]) -> Vec<DeadSession> {
        self.core().dead_of(sessions)
    }

    /// Ends the bus thread after all earlier work.
    pub async fn close(&self) {
        self.shared.close().await;
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.shared.core()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::bus::storage::faulty_log::{Fault, FaultPoint, Faults};
    use crate::bus::storage::in_memory::Store;
    use crate::domain::name::Name;
    use crate::domain::time::Tick;
    use crate::domain::wait_times;
    use crate::sys::clock;

    /// What an append and a sync do that fail with an unknown outcome: the line is there.
    #[tokio::test]
    async fn what_is_repeated_because_its_outcome_was_unknown_happens_once() {
        for point in [FaultPoint::Append, FaultPoint::Sync] {
            let faults = Faults::default();
            // So far apart that the same words are no double.
            let passed = Arc::new(AtomicU64::new(0));
            let later = Arc::clone(&passed);
            let store = Store::new(Arc::new(move || {
                let now = clock::now();
                let ms = now.tick.ms + later.load(Ordering::Relaxed);
                Now { tick: Tick { ms, ..now.tick }, ..now }
            }));
            let bus = Bus::open(Box::new(faults.before(store.log()))).unwrap();
            let (ann, _ben) = (bus.join_peer("ann").await, bus.join_peer("ben").await);
            let tell = async |text: &str| {
                let mut call = ann.call();
                let sent = call.send("ben".to_owned(), text.to_owned(), None).await;
                call.answered().await;
                sent
            };
            let unread = || bus.look(|state| state.unread(&Name::parse("ben").unwrap()).count());
            let before = unread();
            faults.fail(point, 1, 1, Fault::OutcomeUnknown);
            let unknown = tell("one").await.unwrap_err();
            assert!(unknown.to_string().starts_with("it is unknown whether"), "{unknown}");
            passed.fetch_add(2 * wait_times::DOUBLE_MS, Ordering::Relaxed);
            let sent = tell("one").await.unwrap();
            assert_eq!(unread(), before + 1, "{point:?}");
            // What is known to have happened is done again when it is asked for again.
            passed.fetch_add(2 * wait_times::DOUBLE_MS, Ordering::Relaxed);
            let another = tell("one").await.unwrap();
            assert_ne!(sent.id, another.id);
            assert_eq!(unread(), before + 2);
        }
    }
}
