//! The thread that reads the bus: on demand, and while somebody watches at every change, but at most some times a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Instant;

use tokio::sync::watch;

use super::walks::Kept;
use crate::bus::storage::file::{Follower, Listening};
use crate::bus::storage::{LogError, OnWakeup};
use crate::domain::{limits, wait_times};
use crate::reader::{History, board_again};
use crate::view::KnownWords;
use crate::web::acts::Surroundings;
use crate::web::team_snapshot::{BusState, Snapshot};

/// What the thread is told.
pub(super) enum Order {
    /// Something may have changed, or somebody watches.
    Look,
    Answer(Box<dyn FnOnce(&mut Reading) + Send>),
    End,
}

/// The thread: its orders, and what it reads.
pub(super) struct ReadingThread {
    orders: Receiver<Order>,
    reading: Reading,
}

/// The bus as far as it was read.
pub(super) struct Reading {
    surroundings: Arc<dyn Surroundings>,
    ring: SyncSender<Order>,
    /// Whether a change was reported that has not been looked at.
    has_rung: Arc<AtomicBool>,
    sender: watch::Sender<Arc<Snapshot>>,
    watchers: Arc<AtomicUsize>,
    open: Option<OpenBus>,
    /// When the board was last made.
    made: Option<Instant>,
}

/// An open bus.
struct OpenBus {
    bus: Box<Follower>,
    history: History,
    known: KnownWords,
    kept: Kept,
}

impl ReadingThread {
    pub(super) fn new(
        surroundings: Arc<dyn Surroundings>,
        orders: Receiver<Order>,
        ring: SyncSender<Order>,
        sender: watch::Sender<Arc<Snapshot>>,
        watchers: Arc<AtomicUsize>,
    ) -> Self {
        let reading = Reading {
            surroundings,
            ring,
            has_rung: Arc::new(AtomicBool::new(false)),
            sender,
            watchers,
            open: None,
            made: None,
        };
        Self { orders, reading }
    }

    pub(super) fn run(mut self) {
        let mut looked = None::<Instant>;
        loop {
            let now = Instant::now();
            // Without watchers nothing is due.
            let due = self.reading.is_watched().then(|| self.reading.due(looked, now));
            if due.is_some_and(|due| due <= now) {
                self.reading.refresh();
                looked = Some(Instant::now());
                continue;
            }
            let order = match due {
                None => self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => self.orders.recv_timeout(due.saturating_duration_since(now)),
            };
            match order {
                Ok(Order::Answer(answer)) => answer(&mut self.reading),
                Ok(Order::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

impl Reading {
    fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Acquire) > 0
    }

    /// Returns when somebody who watches wants the next look.
    fn due(&self, looked: Option<Instant>, now: Instant) -> Instant {
        let Some(looked) = looked else { return now };
        let pause = if self.has_rung.load(Ordering::Acquire) {
            wait_times::WINDOW_PICTURE
        } else {
            match self.open.as_ref().map(|open| open.bus.listening()) {
                Some(Listening::Notified) | None => wait_times::LOOK_AROUND,
                Some(Listening::Polled) => wait_times::LONGEST_POLL,
            }
        };
        looked + pause
    }

    /// Returns what reports a change: once, until it is looked at, and only while somebody watches.
    fn bell(&self) -> OnWakeup {
        let (ring, has_rung) = (self.ring.clone(), Arc::clone(&self.has_rung));
        let watchers = Arc::clone(&self.watchers);
        Arc::new(move || {
            if watchers.load(Ordering::Acquire) > 0 && !has_rung.swap(true, Ordering::AcqRel) {
                // A full queue wakes the thread just as well.
                let _ = ring.try_send(Order::Look);
            }
        })
    }

    /// Looks at the bus, and returns the team as it is now.
    pub(super) fn snapshot(&mut self) -> Arc<Snapshot> {
        self.refresh();
        Arc::clone(&self.sender.borrow())
    }

    /// Looks at the bus, and asks it.
    pub(super) fn ask<T>(&mut self, ask: impl FnOnce(&mut Follower) -> T) -> Result<T, BusState> {
        self.ask_kept(|bus, _| ask(bus))
    }

    /// Looks at the bus, and asks it with what earlier walks have found out.
    pub(super) fn ask_kept<T>(
        &mut self,
        ask: impl FnOnce(&mut Follower, &mut Kept) -> T,
    ) -> Result<T, BusState> {
        self.refresh();
        match &mut self.open {
            Some(open) => Ok(ask(&mut open.bus, &mut open.kept)),
            None => Err(self.sender.borrow().bus.clone()),
        }
    }

    /// Looks at the bus. If something is new, or the ages are old, it makes a snapshot.
    fn refresh(&mut self) {
        self.has_rung.store(false, Ordering::Release);
        match self.read() {
            Ok(Some(snapshot)) => {
                self.sender.send_replace(Arc::new(snapshot));
            }
            Ok(None) => {}
            Err(state) => self.without_bus(state),
        }
    }

    fn without_bus(&mut self, state: BusState) {
        self.open = None;
        self.made = None;
        let last = Arc::clone(&self.sender.borrow());
        // A bus that was removed is not just absent, until there is another.
        let stays = state == BusState::Absent && last.bus == BusState::Removed;
        if last.bus != state && !stays {
            let project = last.project.clone();
            let snapshot = Snapshot { bus: state, project, ..Snapshot::default() };
            self.sender.send_replace(Arc::new(snapshot));
        }
    }

    /// Reads what is new. Returns a snapshot if it would be another one, or why there is no bus.
    fn read(&mut self) -> Result<Option<Snapshot>, BusState> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open_bus()?,
        };
        open.bus.look().map_err(|error| state_of(&error))?;
        let mut is_new = false;
        while open.history.is_behind(&open.bus) {
            is_new |= open.history.step(&mut open.bus).map_err(|error| state_of(&error))?;
        }
        is_new |= open.history.read_again(&mut open.bus);
        let last = Arc::clone(&self.sender.borrow());
        let is_fresh = self.made.is_some_and(|made| made.elapsed() < wait_times::WINDOW_AGES);
        let has_same = last.board.as_ref().is_some_and(|board| board.seq == open.bus.seq());
        let snapshot = (is_new || !is_fresh || !has_same).then(|| {
            self.made = Some(Instant::now());
            let board = board_again(&mut open.bus, limits::WINDOW_ENDED, &mut open.known);
            let mut snapshot = Snapshot { bus: BusState::Open, ..(*last).clone() };
            if is_new || last.board.is_none() {
                snapshot.letters = open.history.letters();
                snapshot.decided = open.history.decided(&mut open.bus);
                snapshot.happenings = open.history.happenings();
                snapshot.stretches = open.history.stretches();
            }
            snapshot.board = Some(Arc::new(board.with_last_stretches(&snapshot.stretches)));
            snapshot
        });
        self.open = Some(open);
        Ok(snapshot)
    }

    fn open_bus(&mut self) -> Result<OpenBus, BusState> {
        match self.surroundings.open(Some(self.bell())) {
            Ok(Some(mut bus)) => {
                let history = History::begin(&mut bus).map_err(|error| state_of(&error))?;
                self.made = None;
                Ok(OpenBus { bus, history, known: KnownWords::default(), kept: Kept::default() })
            }
            Ok(None) => Err(BusState::Absent),
            Err(error) => {
                let hint = error.hint.map(|hint| format!(": {hint}")).unwrap_or_default();
                Err(BusState::Unusable(format!("{}{hint}", error.words)))
            }
        }
    }
}

fn state_of(error: &LogError) -> BusState {
    match error {
        LogError::Removed => BusState::Removed,
        error => BusState::Unusable(error.to_string()),
    }
}
