//! The bus thread: syncs once for many commands, writes due events, and checks the other members every second.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::agents_json;
use super::append_in_order::append_in_order;
use super::heartbeats::{HeartbeatIntervals, Heartbeats, HeartbeatsSeen, ObservedSession};
use super::link_host;
use super::look_at_members::CheckSchedule;
use crate::bus::error::BusError;
use crate::bus::rules::{Command, Operation};
use crate::bus::shared::{BusShared, Core, Job};
use crate::bus::state::Session;
use crate::bus::storage::Durability;
use crate::domain::ids::SessionId;
use crate::sys::random_ids;

/// The longest random delay before due events are written, so that not all processes of a machine try at once.
const SPREAD_MS: u64 = 200;

/// The pause of the bus thread after it found another process writing.
const NEXT_TRY: Duration = Duration::from_millis(20);

/// The most commands that one sync answers, so that the first of them does not wait for an endless queue.
const BATCH: usize = 64;

/// Starts the thread. It ends with the last handle of the bus, or at [`Job::Close`].
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
        retry_at: None,
        keeper_here: None,
        had_members: false,
        pace,
        heartbeats: Heartbeats::new(pace),
        checks: CheckSchedule::default(),
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
    /// The live sessions when the view was last checked.
    roster: Vec<SessionId>,
    /// When to try again to write due events, after a failure.
    retry_at: Option<Instant>,
    /// The session that makes this process the keeper of the view, if one does.
    keeper_here: Option<SessionId>,
    /// Whether a session of this process was on the bus at the last check.
    had_members: bool,
    pace: HeartbeatIntervals,
    heartbeats: Heartbeats,
    checks: CheckSchedule,
}

impl Worker {
    fn run(mut self) {
        let mut last_look = Instant::now();
        let mut last_beat = Instant::now();
        loop {
            let job = match self.inbox.recv_timeout(self.sleep_from(last_look)) {
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
                link_host::leave(&shared);
                // The caller may be gone.
                let _ = closing.send(());
                return;
            }
            self.write_due(&shared);
            let is_look_due = last_look.elapsed() >= self.pace.look_around;
            if is_look_due {
                let since = last_look.elapsed();
                last_look = Instant::now();
                self.look_around(&shared, since);
            }
            if last_beat.elapsed() >= self.pace.beat {
                last_beat = Instant::now();
                for (_, hold) in &shared.core().holds {
                    hold.beat();
                }
            }
            self.write_view(&shared, is_look_due);
        }
    }

    /// Returns the time to sleep: until the next look around or the next due event.
    fn sleep_from(&self, last_look: Instant) -> Duration {
        let until_look = self.pace.look_around.saturating_sub(last_look.elapsed());
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
        let until_retry = self
            .retry_at
            .map_or(Duration::ZERO, |retry_at| retry_at.saturating_duration_since(Instant::now()));
        let until_due = due.map(|due| {
            let until = Duration::from_millis(due.saturating_sub(now.tick.ms)) + self.spread;
            until.max(until_retry)
        });
        until_due.map_or(until_look, |until_due| until_due.min(until_look))
    }

    /// Syncs once for a job and those that have arrived meanwhile, and answers them. Returns where to report the end of the thread, if
    /// a job requests it.
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
                // The view is last_look after whenever there is something to do.
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
                // The caller may be gone, and needs no answer.
                let _ = reply.send(synced.clone());
            }
        }
        closing
    }

    /// Appends due events, if there are any. No caller waits for them.
    fn write_due(&mut self, shared: &BusShared) {
        if self.retry_at.is_some_and(|retry_at| Instant::now() < retry_at) {
            return;
        }
        let is_due = {
            let core = shared.core();
            let now = core.log.now();
            let state = &core.replica.state;
            let has_passed = |due: u64| due <= now.tick.ms;
            now.tick.boot == state.boot && state.earliest_due_ms(now).is_some_and(has_passed)
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
        let (to_check, dead) = {
            let mut core = shared.core();
            let held = |session| core.holds.iter().any(|(held, _)| *held == session);
            let here = core.log.host().map(|host| host.id);
            let to_check = self.checks.next(&core.replica.state, here, held);
            let dead = core.dead_of(&to_check.presences);
            (to_check, dead)
        };
        if !dead.is_empty() {
            self.append_by_itself(shared, Operation::Reap(dead));
        }
        let observed = observe(&mut shared.core(), &to_check.heartbeats);
        let HeartbeatsSeen { hung, back } = self.heartbeats.look(since, &observed);
        if !hung.is_empty() {
            let after = u64::try_from(self.pace.hung.as_millis()).unwrap_or(u64::MAX);
            self.append_by_itself(shared, Operation::Hung(hung, after));
        }
        if !back.is_empty() {
            self.append_by_itself(shared, Operation::Back(back));
        }
    }

    /// Appends an operation of the bus thread itself. A failure is reported once, and tried again later.
    fn append_by_itself(&mut self, shared: &BusShared, operation: Operation) {
        let command =
            Command { id: random_ids::command(), by: None, received: Vec::new(), operation };
        let appended = match shared.order.clone() {
            Some(order) => append_in_order(shared, &*order, &command).map(Some),
            None => shared.append(&command),
        };
        let synced = match appended {
            Ok(None) => {
                // The other process writes due events itself.
                self.retry_at = Some(Instant::now() + NEXT_TRY);
                return;
            }
            Ok(Some(receipt)) if receipt.is_progress() => Ok(()),
            Ok(Some(_)) => self.durability.sync().map_err(BusError::Log),
            Err(error) => Err(error),
        };
        let failed_before = self.retry_at.is_some();
        self.retry_at = synced.is_err().then(|| Instant::now() + self.pace.look_around);
        match synced {
            Ok(()) => {}
            Err(error) if failed_before => tracing::debug!(
                "still failing to write overdue events: \
                {error}"
            ),
            Err(error) => tracing::warn!("failed to write overdue events: {error}"),
        }
    }

    /// Updates the view of members, if this process keeps it: at once when a member joins or leaves, and otherwise with a look around,
    /// because every message changes what the members do.
    fn write_view(&mut self, shared: &BusShared, is_look_due: bool) {
        let mut core = shared.core();
        let state = &core.replica.state;
        if !is_look_due && state.session_ids().eq(self.roster.iter().copied()) {
            return;
        }
        self.roster = state.session_ids().collect();
        let keeper = state.view_keeper(core.log.host().map(|host| host.id));
        let kept_here =
            keeper.is_some_and(|keeper| core.holds.iter().any(|(session, _)| *session == keeper));
        let has_members = core.holds.iter().any(|(session, _)| state.session(*session).is_some());
        // A process whose keeper has left writes one last time: the next keeper may never have seen that session. So does the process
        // of the very last member, which may not have noticed that it had become the keeper.
        let keeper_left = self.keeper_here.is_some_and(|session| state.session(session).is_none());
        let is_last = self.had_members && !has_members && keeper.is_none();
        self.keeper_here = keeper.filter(|_| kept_here);
        self.had_members = has_members;
        if !kept_here && !keeper_left && !is_last {
            // Another process writes the view, so this one's copy is outdated.
            self.view.clear();
            return;
        }
        self.put_view(&mut core);
        drop(core);
        if !kept_here {
            // Others may have left and written meanwhile. Then the older of both views must not stay.
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

/// Reads the heartbeats of sessions.
fn observe(core: &mut Core, sessions: &[SessionId]) -> Vec<ObservedSession> {
    let Core { log, replica, .. } = core;
    let live = sessions.iter().filter_map(|id| replica.state.session(*id));
    let read = |session: &Session| ObservedSession {
        session: session.id,
        beat: log.heartbeat(session.id),
        hung: session.hung,
    };
    live.map(read).collect()
}
