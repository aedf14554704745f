//! The link of a host to the others: one process of each host renews its lease, brings what is new, and finds out which hosts are dead.
//!
//! Which process does so is decided by a lock of the mirror, which the system frees when its holder ends: the next one takes over at
//! once. A host is buried by one that has watched it be silent, or without its connection, for as long as that takes; the row of its
//! lease decides, so either its next beat or the burial counts. Whoever buries it then ends its sessions on the bus.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::append_in_order::{append_in_order, pull};
use crate::bus::error::BusError;
use crate::bus::rules::{Command, DeadSession, Operation};
use crate::bus::shared::{BusShared, no_thread};
use crate::bus::storage::{HostLease, HostLink, Sequencer, TeamOfHosts};
use crate::domain::ids::SessionId;
use crate::domain::member::HostId;
use crate::domain::wait_times;
use crate::sys::random_ids;

/// Starts the thread for the first session of a process, if the bus is shared by several machines. It ends with the last handle of the
/// bus.
pub(crate) fn start_once(shared: &Arc<BusShared>) -> Result<(), BusError> {
    let Some(order) = shared.order.clone() else {
        return Ok(());
    };
    if shared.is_linking.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let turn = shared.core().log.host_turn()?;
    let shared = Arc::downgrade(shared);
    let run = move || {
        if let Err(error) = turn.wait() {
            return tracing::warn!("failed to link this host to the others: {error}");
        }
        keep_linked(&shared, &*order);
        turn.release();
    };
    let started = std::thread::Builder::new().name("bus-hosts".into()).spawn(run);
    started.map(drop).map_err(|error| no_thread(error).into())
}

/// Links the host as long as the bus is open.
fn keep_linked(shared: &Weak<BusShared>, order: &dyn Sequencer) {
    let mut link = match order.link() {
        Ok(link) => link,
        Err(error) => return tracing::warn!("no link to the other machines: {error}"),
    };
    let mut keeper = Keeper { link: &mut *link, order, watch: HostWatch::default() };
    let mut trouble = false;
    while let Err(error) = keeper.run(shared, &mut trouble) {
        if !std::mem::replace(&mut trouble, true) {
            tracing::warn!("no link to the other machines of the team: {error}");
        }
        keeper.link.wait_for_news(wait_times::POLL_SERVER);
    }
    if let Some(host) = keeper.watch.leaving {
        // An error means that the others will find this host dead in some seconds.
        let _ = keeper.link.leave(host, Instant::now() + wait_times::POLL_SERVER);
    }
}

struct Keeper<'a> {
    link: &'a mut dyn HostLink,
    order: &'a dyn Sequencer,
    watch: HostWatch,
}

impl Keeper<'_> {
    /// Runs until the bus is closed, or the server is away.
    fn run(&mut self, shared: &Weak<BusShared>, trouble: &mut bool) -> Result<(), BusError> {
        let mut last_beat = None::<Instant>;
        loop {
            let Some(shared) = shared.upgrade() else {
                return Ok(());
            };
            let until = Instant::now() + wait_times::SERVER;
            let is_beat_due = last_beat.is_none_or(|last| last.elapsed() >= wait_times::HOST_BEAT);
            let next_seq = if is_beat_due {
                let since = last_beat.map_or(Duration::ZERO, |last| last.elapsed());
                last_beat = Some(Instant::now());
                self.beat(&shared, since, until)?
            } else {
                self.link.next_seq(until)?
            };
            if std::mem::replace(trouble, false) {
                tracing::warn!("the link to the other machines of the team is back");
            }
            if next_seq > shared.end_of_log().0 {
                // What another process of this machine has written needs no server.
                shared.catch_up()?;
                if next_seq > shared.end_of_log().0 {
                    let pulled = shared.in_turn(|| pull(&shared, self.order));
                    pulled?;
                }
            }
            drop(shared);
            self.link.wait_for_news(wait_times::POLL_SERVER);
        }
    }

    /// Renews the lease, and buries hosts that are dead. Returns the seq of the next line.
    fn beat(
        &mut self,
        shared: &BusShared,
        since: Duration,
        until: Instant,
    ) -> Result<u64, BusError> {
        let Some(host) = shared.core().log.host() else {
            return Ok(0);
        };
        self.watch.leaving = Some(host.id);
        let TeamOfHosts { next_seq, is_buried, others } = self.link.beat(&host, until)?;
        if is_buried {
            tracing::warn!(
                "the other machines have found this one dead, because it did not answer for too long: its sessions have ended"
            );
            shared.begin_host_anew()?;
            return Ok(next_seq);
        }
        for dead in self.watch.look(since, &others) {
            let is_buried = self.link.bury(dead.host.id, dead.beat, until)?;
            let sessions = sessions_of(shared, dead.host.id);
            if is_buried && !sessions.is_empty() {
                tracing::warn!(
                    "the machine {:?} is gone, and its sessions with it",
                    dead.host.name
                );
                let command = Command {
                    id: random_ids::command(),
                    by: None,
                    received: Vec::new(),
                    operation: Operation::Reap(sessions),
                };
                append_in_order(shared, self.order, &command)?;
            }
        }
        Ok(next_seq)
    }
}

/// Returns the live sessions of a host.
fn sessions_of(shared: &BusShared, host: HostId) -> Vec<DeadSession> {
    let core = shared.core();
    let state = &core.replica.state;
    let is_there = |id: &SessionId| state.host_of(*id).is_some_and(|its| its.id == host);
    state.session_ids().filter(is_there).map(DeadSession::from).collect()
}

/// What one host has seen of the others.
#[derive(Debug, Default)]
struct HostWatch {
    seen: BTreeMap<HostId, SeenHost>,
    /// The lease to give back at the end.
    leaving: Option<HostId>,
}

/// A host as it was last seen.
#[derive(Clone, Copy, Debug)]
struct SeenHost {
    beat: i64,
    /// How long it has been seen to be silent.
    silent: Duration,
    /// How long it has been seen to be without its connection; none if it never had one that could be seen.
    apart: Option<Duration>,
}

impl HostWatch {
    /// Takes in the leases of the others, `since` after the last look. Returns those that are dead. Unwatched time does not count.
    fn look<'a>(&mut self, since: Duration, others: &'a [HostLease]) -> Vec<&'a HostLease> {
        let watched = since.min(wait_times::HOST_BEAT * 2);
        let mut seen = BTreeMap::new();
        let mut dead = Vec::new();
        for lease in others {
            let before = self.seen.get(&lease.host.id);
            let silent = match before {
                Some(before) if before.beat == lease.beat => before.silent + watched,
                _ => Duration::ZERO,
            };
            let apart = match (lease.is_connected, before.and_then(|before| before.apart)) {
                (Some(true), _) => Some(Duration::ZERO),
                (Some(false), Some(apart)) => Some(apart + watched),
                (_, before) => before,
            };
            let is_dead = silent >= wait_times::HOST_SILENT
                || silent > Duration::ZERO && apart >= Some(wait_times::HOST_APART);
            if lease.is_buried || is_dead {
                dead.push(lease);
            }
            seen.insert(lease.host.id, SeenHost { beat: lease.beat, silent, apart });
        }
        self.seen = seen;
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::member::Host;

    fn lease(beat: i64, is_connected: Option<bool>) -> HostLease {
        let host = Host { id: HostId(uuid::Uuid::from_u128(1)), name: "there".into() };
        HostLease { host, beat, is_connected, is_buried: false }
    }

    /// Looks with every beat until the host is dead. Returns the seconds.
    fn seconds_until_dead(watch: &mut HostWatch, lease: &HostLease) -> u64 {
        let mut seconds = 0;
        while watch.look(wait_times::HOST_BEAT, std::slice::from_ref(lease)).is_empty() {
            seconds += wait_times::HOST_BEAT.as_secs();
        }
        seconds
    }

    #[test]
    fn a_host_without_its_connection_is_dead_soon_and_a_silent_one_later() {
        let mut watch = HostWatch::default();
        watch.look(Duration::ZERO, &[lease(1, Some(true))]);
        assert!(seconds_until_dead(&mut watch, &lease(1, Some(false))) <= 10);

        let mut watch = HostWatch::default();
        let connected = seconds_until_dead(&mut watch, &lease(1, Some(true)));
        assert!((30..=33).contains(&connected), "{connected}");
        let mut watch = HostWatch::default();
        let unknown = seconds_until_dead(&mut watch, &lease(1, None));
        assert_eq!(unknown, connected, "behind a pooler");
    }

    #[test]
    fn a_host_that_beats_lives_without_its_lock_and_time_that_nobody_watched_does_not_count() {
        let mut watch = HostWatch::default();
        watch.look(Duration::ZERO, &[lease(1, Some(true))]);
        for beat in 2..100 {
            assert!(watch.look(wait_times::HOST_BEAT, &[lease(beat, Some(false))]).is_empty());
        }
        let mut watch = HostWatch::default();
        watch.look(Duration::ZERO, &[lease(1, Some(true))]);
        assert!(watch.look(Duration::from_hours(1), &[lease(1, Some(true))]).is_empty());
    }
}
