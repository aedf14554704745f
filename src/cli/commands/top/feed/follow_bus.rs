//! The thread that reads the bus: it looks at every change, but at most some times a second, and otherwise only when an age in sight
//! changes, and for what nothing reports.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::read_extras;
use crate::bus::storage::file::{Follower, Listening};
use crate::bus::storage::{LogError, OnWakeup};
use crate::cli::Failure;
use crate::cli::commands::look::open_project;
use crate::cli::commands::top::news::{BusState, News, Wanted};
use crate::domain::{limits, wait_times};
use crate::reader::{History, board_again};
use crate::view::{KnownWords, Moment};

/// The most orders that wait for the thread, which takes all of them at each turn.
const ORDERS: usize = 16;

/// A bus that comes while the window waits for it may be half made, or half removed, for so many looks.
const HALF_MADE: u32 = 5;

/// The reading thread, and its news.
pub(in crate::cli::commands::top) struct Feed {
    orders: SyncSender<Order>,
    /// The last news.
    pub(in crate::cli::commands::top) news: watch::Receiver<Arc<News>>,
    thread: JoinHandle<Result<(), Failure>>,
    /// What the thread was told last.
    told: Wanted,
    told_ages: Option<Moment>,
}

enum Order {
    /// Something may have changed.
    Look,
    Read(Wanted),
    /// The ages in sight change at this time.
    Ages(Option<Moment>),
    End,
}

impl Feed {
    /// Starts the thread.
    pub(in crate::cli::commands::top) fn start(project: Option<PathBuf>) -> std::io::Result<Self> {
        let (orders, received) = sync_channel(ORDERS);
        let (sender, news) = watch::channel(Arc::new(News::default()));
        let reader = Reader {
            project,
            orders: received,
            ring: orders.clone(),
            has_rung: Arc::new(AtomicBool::new(false)),
            sender,
            wanted: Wanted::default(),
            ages: None,
        };
        let thread = thread::Builder::new().name("bus-reader".to_owned()).spawn(|| reader.run())?;
        Ok(Self { orders, news, thread, told: Wanted::default(), told_ages: None })
    }

    /// Tells the thread what to read besides the board, if that has changed.
    pub(in crate::cli::commands::top) fn want(&mut self, wanted: Wanted) {
        // A thread with so many orders is told the next time.
        if wanted != self.told && self.orders.try_send(Order::Read(wanted.clone())).is_ok() {
            self.told = wanted;
        }
    }

    /// Tells the thread when the ages in sight change, if that has changed.
    pub(in crate::cli::commands::top) fn ages_change_at(&mut self, at: Option<Moment>) {
        if at != self.told_ages && self.orders.try_send(Order::Ages(at)).is_ok() {
            self.told_ages = at;
        }
    }

    /// Tells the thread to end. One that hangs in a read ends with the process.
    pub(in crate::cli::commands::top) fn end(self) {
        // A thread that takes no orders has ended.
        let _ = self.orders.try_send(Order::End);
    }

    /// Returns why the thread has ended by itself. Only after its news have ended, so that this does not wait.
    pub(in crate::cli::commands::top) fn failure(self) -> Result<(), Failure> {
        self.thread.join().unwrap_or_else(|_| Err("the reading of the bus has failed".into()))
    }
}

struct Reader {
    project: Option<PathBuf>,
    orders: Receiver<Order>,
    ring: SyncSender<Order>,
    /// Whether a change was reported that has not been looked at.
    has_rung: Arc<AtomicBool>,
    sender: watch::Sender<Arc<News>>,
    wanted: Wanted,
    /// When the ages in sight change.
    ages: Option<Moment>,
}

/// Why following a bus has ended.
enum FollowEnd {
    /// The window is closed.
    Closed,
    Removed,
}

/// Why a wait has ended.
enum Woken {
    InTime,
    Closed,
}

impl Reader {
    fn run(mut self) -> Result<(), Failure> {
        let mut state = BusState::Absent;
        let (mut is_shown, mut failed) = (false, 0);
        loop {
            match open_project(self.project.as_deref(), Some(self.bell())) {
                Ok(opened) => {
                    failed = 0;
                    if let Some(mut bus) = opened.bus {
                        match self.follow(&mut bus)? {
                            FollowEnd::Closed => return Ok(()),
                            FollowEnd::Removed => state = BusState::Removed,
                        }
                    }
                }
                Err(error) if is_shown && failed < HALF_MADE => {
                    tracing::debug!(%error, "cannot open the bus yet");
                    failed += 1;
                }
                Err(error) => return Err(error),
            }
            is_shown = true;
            self.sender.send_replace(Arc::new(News { state, ..News::default() }));
            let until = Instant::now() + wait_times::LOOK_AROUND;
            while Instant::now() < until {
                if matches!(self.wait(until), Woken::Closed) {
                    return Ok(());
                }
            }
        }
    }

    /// Returns what reports a change: once, until it is looked at.
    fn bell(&self) -> OnWakeup {
        let (ring, has_rung) = (self.ring.clone(), Arc::clone(&self.has_rung));
        Arc::new(move || {
            if !has_rung.swap(true, Ordering::AcqRel) {
                // A full queue wakes the thread just as well.
                let _ = ring.try_send(Order::Look);
            }
        })
    }

    /// Waits for an order until a time, and takes all orders.
    fn wait(&mut self, until: Instant) -> Woken {
        let pause = until.saturating_duration_since(Instant::now());
        let mut order = match self.orders.recv_timeout(pause) {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Woken::Closed,
        };
        while let Some(taken) = order {
            match taken {
                Order::Look => {}
                Order::Read(wanted) => self.wanted = wanted,
                Order::Ages(at) => self.ages = at,
                Order::End => return Woken::Closed,
            }
            order = self.orders.try_recv().ok();
        }
        Woken::InTime
    }

    /// Makes news of a bus until the window is closed or the bus removed.
    fn follow(&mut self, bus: &mut Follower) -> Result<FollowEnd, Failure> {
        let mut known = KnownWords::default();
        let mut history = History::begin(bus)?;
        let mut news = News { state: BusState::Open, ..News::default() };
        let mut read = Wanted::default();
        let mut seq = None;
        let mut times = Times::of(Instant::now(), bus.listening());
        loop {
            let now = Instant::now();
            let mut is_new = false;
            let rung = self.has_rung.load(Ordering::Acquire);
            if now >= times.picture && (rung || now >= times.look) {
                self.has_rung.store(false, Ordering::Release);
                times.looked(now);
                match bus.look() {
                    Err(LogError::Removed) => return Ok(FollowEnd::Removed),
                    looked => looked?,
                }
            }
            let are_ages_due = self.ages.is_some_and(|at| at.0 <= bus.now().wall_ms);
            if seq != Some(bus.seq()) || now >= times.board || are_ages_due {
                let board = board_again(bus, limits::WINDOW_ENDED, &mut known);
                let board = board.with_last_stretches(&history.stretches());
                let is_same = news.board.as_ref().is_some_and(|before| board.is_same_as(before));
                // A board without news is not painted before an age changes.
                if seq != Some(bus.seq()) || are_ages_due || !is_same {
                    news.board = Some(Arc::new(board));
                    is_new = true;
                }
                if are_ages_due {
                    // The window says when they change next, once it has painted these.
                    self.ages = None;
                }
                seq = Some(bus.seq());
                times.made_board(now);
                if history.read_again(bus) {
                    news.letters = history.letters();
                    is_new = true;
                }
            }
            if history.is_behind(bus) && history.step(bus)? && !history.is_behind(bus) {
                news.letters = history.letters();
                news.decided = history.decided(bus);
                news.happenings = history.happenings();
                is_new = true;
            }
            let has_extras = self.wanted != Wanted::default();
            if read != self.wanted || (has_extras && now >= times.live) {
                read = self.wanted.clone();
                times.live = now + wait_times::WINDOW_LIVE;
                is_new |= read_extras::read(bus, &read, &mut news);
            }
            if is_new {
                self.sender.send_replace(Arc::new(news.clone()));
            }
            let until = match (history.is_behind(bus), self.has_rung.load(Ordering::Acquire)) {
                (true, _) => now,
                (false, true) => times.picture,
                (false, false) => {
                    let ages = self.ages.map(|at| {
                        let pause = at.0.saturating_sub(bus.now().wall_ms).max(0);
                        Instant::now() + Duration::from_millis(pause.unsigned_abs())
                    });
                    let next = times.next(self.wanted != Wanted::default());
                    ages.map_or(next, |ages| ages.min(next))
                }
            };
            if matches!(self.wait(until), Woken::Closed) {
                return Ok(FollowEnd::Closed);
            }
        }
    }
}

/// When the thread does what.
struct Times {
    /// The next look without a report.
    look: Instant,
    /// The earliest next look.
    picture: Instant,
    /// The next board without a change.
    board: Instant,
    /// The next read of live words.
    live: Instant,
    between_looks: Duration,
}

impl Times {
    fn of(now: Instant, listening: Listening) -> Self {
        let between_looks = match listening {
            // For a lost report, and for a bus that was removed. Then the board is painted again anyway.
            Listening::Notified => wait_times::WINDOW_AGES,
            Listening::Polled => wait_times::LONGEST_POLL,
        };
        Self { look: now, picture: now, board: now, live: now, between_looks }
    }

    fn looked(&mut self, now: Instant) {
        self.look = now + self.between_looks;
        self.picture = now + wait_times::WINDOW_PICTURE;
    }

    fn made_board(&mut self, now: Instant) {
        self.board = now + wait_times::WINDOW_AGES;
    }

    fn next(&self, has_extras: bool) -> Instant {
        let next = self.look.min(self.board);
        if has_extras { next.min(self.live) } else { next }
    }
}
