//! The bus thread: syncs once for many commands, writes what is due, and looks around every second.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::agents_json;
use super::heartbeats::{HeartbeatIntervals, Heartbeats, HeartbeatsSeen, ObservedSession};
use super::look_at_members::CheckSchedule;
use crate::bus::error::BusError;
use crate::bus::rules::{Command, Operation};
use crate::bus::shared::{BusShared, Core, Job};
use crate::bus::state::Session;
use crate::bus::storage::Durability;
use crate::domain::ids::SessionId;
use crate::sys::random_ids;

/// Due events are written after a random delay of at most this, so that not every process of a machine tries at once.
const SPREAD_MS: u64 = 200;

/// The pause before the bus thread tries again after it found another process writing.
const NEXT_TRY: Duration = Duration::from_millis(20);

/// Commands that one sync answers at the most, so that the first of them does not wait for an endless queue.
const BATCH: usize = 64;

/// Starts the thread. It ends when the last handle is gone, or when it is told to.
pub(crate) fn start(
    shared: Weak<BusShared>,
    inbox: Receiver<Job>,
    durability: Arc<dyn Durability>,
    pace: HeartbeatIntervals,
) -> io::Result<()> {
    let spread = Duration::from_millis(1 + random_ids::session().0.as_u64_pair().1 % SPREAD_MS);
    let worker = Worker {
        shared,
        inbox,
        durability,
        spread,
        view: String::new(),
        roster: Vec::new(),
        again: None,
        kept_for: None,
        was_here: false,
        pace,
        pulses: Heartbeats::new(pace),
        lookout: CheckSchedule::default(),
    };
    std::thread::Builder::new().name("bus".into()).spawn(move || worker.run()).map(drop)
}

struct Worker {
    shared: Weak<BusShared>,
    inbox: Receiver<Job>,
    durability: Arc<dyn Durability>,
    spread: Duration,
    /// The view as this process last wrote it.
    view: String,
    /// The live sessions when it last looked whether the view is right.
    roster: Vec<SessionId>,
    /// When due events are tried again, after they could not be written.
    again: Option<Instant>,
    /// The session that makes this process the keeper of the view.
    kept_for: Option<SessionId>,
    /// Whether a session of this process was on the bus when last looked.
    was_here: bool,
    pace: HeartbeatIntervals,
    pulses: Heartbeats,
    lookout: CheckSchedule,
}

impl Worker {
    fn run(mut self) {
        let mut looked = Instant::now();
        let mut beaten = Instant::now();
        loop {
            let job = match self.inbox.recv_timeout(self.sleep_from(looked)) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            if let Some(job) = job
                && let Some(closing) = self.work(&shared, job)
            {
                self.write_view(&shared, true);
                // The caller may be gone.
                let _ = closing.send(());
                return;
            }
            self.write_due(&shared);
            let looks = looked.elapsed() >= self.pace.look_around;
            if looks {
                let since = looked.elapsed();
                looked = Instant::now();
                self.look_around(&shared, since);
            }
            if beaten.elapsed() >= self.pace.beat {
                beaten = Instant::now();
                for (_, hold) in &shared.core().holds {
                    hold.beat();
                }
            }
            self.write_view(&shared, looks);
        }
    }

    /// How long to sleep: until the next look around, or until something is due.
    fn sleep_from(&self, looked: Instant) -> Duration {
        let until_look = self.pace.look_around.saturating_sub(looked.elapsed());
        let Some(shared) = self.shared.upgrade() else {
            return Duration::ZERO;
        };
        let core = shared.core();
        let now = core.log.now();
        let due = core
            .replica
            .state
            .earliest_due_ms(now)
            .filter(|_| now.tick.boot == core.replica.state.boot);
        let until_again = self
            .again
            .map_or(Duration::ZERO, |again| again.saturating_duration_since(Instant::now()));
        let until_due = due.map(|due| {
            let until = Duration::from_millis(due.saturating_sub(now.tick.ms)) + self.spread;
            until.max(until_again)
        });
        until_due.map_or(until_look, |until_due| until_due.min(until_look))
    }

    /// Syncs once for a job and those that have come meanwhile, and answers. Returns where to report the end, if one was requested.
    fn work(&self, shared: &BusShared, first: Job) -> Option<oneshot::Sender<()>> {
        let mut waiting = Vec::new();
        let mut closing = None;
        let mut next = Some(first);
        while let Some(job) = next.take() {
            match job {
                Job::Sync { reply } => waiting.push(reply),
                Job::Look => {
                    if let Err(error) = shared.catch_up() {
                        shared.trouble.report(&error);
                    }
                }
                // The view is looked after whenever there is something to do.
                Job::View => {}
                Job::Close { reply } => closing = Some(reply),
            }
            if closing.is_none() && waiting.len() < BATCH {
                next = self.inbox.try_recv().ok();
            }
        }
        if !waiting.is_empty() {
            let synced = self.durability.sync();
            for reply in waiting {
                // The caller may be gone: then the answer is not needed.
                let _ = reply.send(synced.clone());
            }
        }
        closing
    }

    /// Appends what is due, if anything is. No caller waits for that, so it needs no sync of its own.
    fn write_due(&mut self, shared: &BusShared) {
        if self.again.is_some_and(|again| Instant::now() < again) {
            return;
        }
        let is_due = {
            let core = shared.core();
            let now = core.log.now();
            let state = &core.replica.state;
            let is_over = |due: u64| due <= now.tick.ms;
            now.tick.boot == state.boot && state.earliest_due_ms(now).is_some_and(is_over)
        };
        if is_due {
            self.append_by_itself(shared, Operation::Due);
        }
    }

    fn look_around(&mut self, shared: &BusShared, since: Duration) {
        if let Err(error) = shared.catch_up() {
            shared.trouble.report(&error);
            return;
        }
        let (look, dead) = {
            let mut core = shared.core();
            let held = |session| core.holds.iter().any(|(held, _)| *held == session);
            let look = self.lookout.next(&core.replica.state, held);
            let dead = core.dead_of(&look.presences);
            (look, dead)
        };
        if !dead.is_empty() {
            self.append_by_itself(shared, Operation::Reap(dead));
        }
        let heartbeats = observe(&mut shared.core(), &look.heartbeats);
        let HeartbeatsSeen { hung, back } = self.pulses.look(since, &heartbeats);
        if !hung.is_empty() {
            let after = u64::try_from(self.pace.hung.as_millis()).unwrap_or(u64::MAX);
            self.append_by_itself(shared, Operation::Hung(hung, after));
        }
        if !back.is_empty() {
            self.append_by_itself(shared, Operation::Back(back));
        }
    }

    /// Appends an operation of the bus thread itself. A failure is reported once, and not tried again at once.
    fn append_by_itself(&mut self, shared: &BusShared, operation: Operation) {
        let command =
            Command { id: random_ids::command(), by: None, received: Vec::new(), operation };
        let synced = match shared.append(&command) {
            Ok(None) => {
                // The other process writes due events itself.
                self.again = Some(Instant::now() + NEXT_TRY);
                return;
            }
            Ok(Some(receipt)) if receipt.is_progress() => Ok(()),
            Ok(Some(_)) => self.durability.sync().map_err(BusError::Log),
            Err(error) => Err(error),
        };
        let failed_before = self.again.is_some();
        self.again = synced.is_err().then(|| Instant::now() + self.pace.look_around);
        match synced {
            Ok(()) => {}
            Err(error) if failed_before => tracing::debug!(
                "still failing to write overdue events: \
                {error}"
            ),
            Err(error) => tracing::warn!("failed to write overdue events: {error}"),
        }
    }

    /// Keeps the view of members up to date, if that is this process's part: who is here at once, what they do when it looks
    /// around, because every message changes that.
    fn write_view(&mut self, shared: &BusShared, looks: bool) {
        let mut core = shared.core();
        let state = &core.replica.state;
        if !looks && state.session_ids().eq(self.roster.iter().copied()) {
            return;
        }
        self.roster = state.session_ids().collect();
        let keeper = state.view_keeper();
        let kept_here =
            keeper.is_some_and(|keeper| core.holds.iter().any(|(session, _)| *session == keeper));
        let is_here = core.holds.iter().any(|(session, _)| state.session(*session).is_some());
        // Whose keeper has left writes a last time: the next one may not have noticed that it was here. So does the last one
        // of all to leave, which may not have noticed that it was the keeper.
        let hands_over = self.kept_for.is_some_and(|session| state.session(session).is_none());
        let is_last = self.was_here && !is_here && keeper.is_none();
        self.kept_for = keeper.filter(|_| kept_here);
        self.was_here = is_here;
        if !kept_here && !hands_over && !is_last {
            // Another process writes it: what this one wrote is no longer current.
            self.view.clear();
            return;
        }
        self.put_view(&mut core);
        drop(core);
        if !kept_here {
            // Others may have left, and written, while this was written: then the older of both views must not stay.
            if let Err(error) = shared.catch_up() {
                tracing::debug!("failed to read the bus: {error}");
            }
            self.put_view(&mut shared.core());
        }
    }

    fn put_view(&mut self, core: &mut Core) {
        let json = agents_json::of(&core.replica.state, core.log.now());
        if agents_json::differs(&json, &self.view) {
            match core.log.put_view(&json) {
                Ok(()) => self.view = json,
                Err(error) => tracing::warn!("failed to write agents.json: {error}"),
            }
        }
    }
}

/// Looks at the heartbeats of sessions.
fn observe(core: &mut Core, sessions: &[SessionId]) -> Vec<ObservedSession> {
    let Core { log, replica, .. } = core;
    let live = sessions.iter().filter_map(|id| replica.state.session(*id));
    let look = |session: &Session| ObservedSession {
        session: session.id,
        beat: log.heartbeat(session.id),
        hung: session.hung,
    };
    live.map(look).collect()
}
