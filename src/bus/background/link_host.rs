//! The link of a host to the others: one process of each host renews its lease, brings what is new, and finds out which hosts are dead.
//!
//! Which process does so is decided by a lock of the mirror, which the system frees when its holder ends. Where the holder is stopped, the
//! others stand in for it. A host is buried by one that has seen it be silent, or without its connection, for as long as that takes by the
//! server's clock; the row of its lease decides, so either its next beat or the burial counts. Whoever buries it then ends its sessions on
//! the bus.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::append_in_order::{append_in_order, pull};
use crate::bus::error::BusError;
use crate::bus::rules::{Command, DeadSession, Operation};
use crate::bus::shared::{BusShared, Core, no_thread};
use crate::bus::storage::{HostLease, HostLink, LogError, Presence, Sequencer, TeamOfHosts};
use crate::domain::ids::SessionId;
use crate::domain::member::HostId;
use crate::domain::wait_times;
use crate::sys::{clock, random_ids};

/// Starts the thread for the first session of a process, if the bus is shared by several machines. It ends with the last handle of the
/// bus.
pub(crate) fn start_once(shared: &Arc<BusShared>) -> Result<(), BusError> {
    let Some(order) = shared.order.clone() else {
        return Ok(());
    };
    if shared.is_linking.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let turn = shared.core().log.try_to_link()?;
    if turn.is_some() && !has_live_sessions(shared) {
        // The lease of the host that this mirror was may be buried, or soon will be.
        shared.begin_host_anew()?;
    }
    let shared = Arc::downgrade(shared);
    let run = move || keep_linked(&shared, &*order, turn);
    let started = std::thread::Builder::new().name("bus-hosts".into()).spawn(run);
    started.map(drop).map_err(|error| no_thread(error).into())
}

/// Says whether this host has no contact to the server for so long that the others may find it dead soon. Its agents must not work on
/// then: others may get their tasks. None if it never had contact.
pub(crate) fn is_cut_off(shared: &BusShared) -> Option<bool> {
    let since_beat = shared.core().log.since_host_beat()?;
    let down_ms = shared.server_down_ms.load(Ordering::Acquire);
    let since_down = clock::since_start_ms().saturating_sub(down_ms);
    let since_down = (down_ms != 0).then(|| Duration::from_millis(since_down));
    Some(is_too_long(since_beat, since_down))
}

/// Decides that by the time since the last beat that was answered, and since the server last said that it serves nobody: nobody can bury
/// anybody as long as that is so.
fn is_too_long(since_beat: Duration, since_down: Option<Duration>) -> bool {
    let since_word = since_down.map_or(since_beat, |since| since.min(since_beat));
    since_word >= wait_times::HOST_CUT_OFF || since_beat >= wait_times::HOST_CUT_OFF_AT_LAST
}

/// Gives the lease of this host back at the end of its process. If another process of the host goes on, its next beat takes it again.
pub(crate) fn leave(shared: &BusShared) {
    let host = shared.core().log.host();
    let (Some(order), Some(host)) = (&shared.order, host) else { return };
    if !shared.is_keeper.swap(false, Ordering::AcqRel) {
        return;
    }
    let until = Instant::now() + wait_times::POLL_SERVER;
    let left = order.link().and_then(|mut link| link.leave(host.id, until));
    if let Err(error) = left {
        // The others will find this host dead in some seconds.
        tracing::debug!("failed to give the lease of this host back: {error}");
    }
}

/// Says whether a process of this host holds the presence of one of its live sessions.
fn has_live_sessions(shared: &BusShared) -> bool {
    let mut core = shared.core();
    let Core { log, replica, .. } = &mut *core;
    let Some(here) = log.host() else { return false };
    let state = &replica.state;
    let is_here = |id: &SessionId| state.host_of(*id).is_some_and(|its| its.id == here.id);
    let mut of_here = state.session_ids().filter(is_here);
    of_here.any(|id| log.held(id) == Presence::Held)
}

/// Links the host as long as the bus is open, whenever it is this process's turn.
fn keep_linked(shared: &Weak<BusShared>, order: &dyn Sequencer, mut turn: Option<Box<dyn Send>>) {
    let mut link = match order.link() {
        Ok(link) => link,
        Err(error) => return tracing::warn!("no link to the other machines: {error}"),
    };
    let mut keeper =
        Keeper { link: &mut *link, order, watch: HostWatch::default(), last_beat: None };
    let mut trouble = false;
    let mut told = None;
    loop {
        let Some(shared) = shared.upgrade() else { return };
        if turn.is_none() {
            // An error counts as another process that has it.
            turn = shared.core().log.try_to_link().unwrap_or_default();
        }
        let is_stopped = || {
            let since = shared.core().log.since_host_beat();
            since.is_some_and(|since| since >= wait_times::HOST_STANDS_STILL)
        };
        if shared.core().closed {
            return;
        }
        shared.is_keeper.store(turn.is_some(), Ordering::Release);
        if turn.is_some() || is_stopped() {
            let round = keeper.round(&shared, told);
            if let Err(BusError::Log(LogError::Away { is_down: true, .. })) = &round {
                shared.server_down_ms.store(clock::since_start_ms(), Ordering::Release);
            }
            match round {
                Ok(()) if std::mem::replace(&mut trouble, false) => {
                    tracing::warn!("the link to the other machines of the team is back");
                }
                Ok(()) => {}
                Err(error) if !std::mem::replace(&mut trouble, true) => {
                    tracing::warn!("no link to the other machines of the team: {error}");
                }
                Err(error) => tracing::debug!("still no link: {error}"),
            }
        }
        drop(shared);
        told = keeper.link.wait_for_news(wait_times::POLL_SERVER);
    }
}

struct Keeper<'a> {
    link: &'a mut dyn HostLink,
    order: &'a dyn Sequencer,
    watch: HostWatch,
    last_beat: Option<Instant>,
}

impl Keeper<'_> {
    /// Renews the lease if that is due, and brings what is new. The seq of the next line may have been told.
    fn round(&mut self, shared: &BusShared, told: Option<u64>) -> Result<(), BusError> {
        let until = Instant::now() + wait_times::HOST_ANSWER;
        let since = self.last_beat.map(|last| last.elapsed());
        let next_seq = if since.is_none_or(|since| since >= wait_times::HOST_BEAT) {
            self.last_beat = Some(Instant::now());
            self.beat(shared, since.unwrap_or_default(), until)?
        } else if let Some(told) = told {
            // It may be told late: then more is known here by now.
            told.max(shared.end_of_log().0)
        } else {
            self.link.next_seq(until)?
        };
        // A server that knows less is told by what it answers.
        if next_seq == shared.end_of_log().0 {
            return Ok(());
        }
        shared.in_turn(|| {
            // What a process of this machine has written, meanwhile too, needs no server.
            shared.catch_up()?;
            if next_seq == shared.end_of_log().0 {
                return Ok(0);
            }
            pull(shared, self.order)
        })?;
        Ok(())
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
        let sent_ms = clock::since_start_ms();
        let TeamOfHosts { next_seq, is_buried, others } = self.link.beat(&host, until)?;
        if is_buried {
            tracing::warn!(
                "the other machines have found this one dead, because it did not answer for too long: its sessions have ended"
            );
            shared.begin_host_anew()?;
            return Ok(next_seq);
        }
        shared.core().log.note_host_beat(sent_ms);
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
    /// The last beat of each, and how long it has been seen to stand still.
    seen: BTreeMap<HostId, (i64, Duration)>,
}

impl HostWatch {
    /// Takes in the leases of the others, `since` after the last look. Returns those that are dead. Whoever looks must have seen the silence
    /// itself for some beats: after an outage of the server all hosts look silent.
    fn look<'a>(&mut self, since: Duration, others: &'a [HostLease]) -> Vec<&'a HostLease> {
        let watched = since.min(wait_times::HOST_BEAT * 2);
        let mut seen = BTreeMap::new();
        let mut dead = Vec::new();
        for lease in others {
            let still = match self.seen.get(&lease.host.id) {
                Some((beat, still)) if *beat == lease.beat => *still + watched,
                _ => Duration::ZERO,
            };
            let is_apart = lease.is_connected == Some(false);
            let patience = if is_apart { wait_times::HOST_APART } else { wait_times::HOST_SILENT };
            let is_dead = lease.silent >= patience && still >= wait_times::HOST_WATCHED;
            if lease.is_buried || is_dead {
                dead.push(lease);
            }
            seen.insert(lease.host.id, (lease.beat, still));
        }
        self.seen = seen;
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::member::Host;

    fn lease(beat: i64, silent_s: u64, is_connected: Option<bool>) -> HostLease {
        let host = Host { id: HostId(uuid::Uuid::from_u128(1)), name: "there".into() };
        let silent = Duration::from_secs(silent_s);
        HostLease { host, beat, silent, is_connected, is_buried: false }
    }

    /// Looks with every beat until the host is dead. Returns the seconds.
    fn seconds_until_dead(watch: &mut HostWatch, is_connected: Option<bool>) -> u64 {
        let beat = wait_times::HOST_BEAT.as_secs();
        let mut seconds = 0;
        while watch.look(wait_times::HOST_BEAT, &[lease(1, seconds, is_connected)]).is_empty() {
            seconds += beat;
        }
        seconds
    }

    #[test]
    fn a_host_without_its_connection_is_dead_soon_and_a_silent_one_later() {
        let apart = seconds_until_dead(&mut HostWatch::default(), Some(false));
        assert!((8..=10).contains(&apart), "{apart}");
        let connected = seconds_until_dead(&mut HostWatch::default(), Some(true));
        assert!((30..=32).contains(&connected), "{connected}");
        let unknown = seconds_until_dead(&mut HostWatch::default(), None);
        assert_eq!(unknown, connected, "behind a pooler");
    }

    #[test]
    fn a_host_is_cut_off_before_the_others_find_it_dead() {
        let seconds = Duration::from_secs;
        let (apart, silent) = (wait_times::HOST_APART, wait_times::HOST_SILENT);
        let before =
            |patience: Duration| patience.saturating_sub(wait_times::LOOK_FOR_CUT_OFF + seconds(1));
        assert!(is_too_long(before(apart), None) && !is_too_long(seconds(5), None));
        // A server that is down buries nobody, as long as its machine says so.
        assert!(!is_too_long(seconds(20), Some(seconds(4))));
        assert!(is_too_long(before(apart), Some(before(apart))));
        assert!(is_too_long(before(silent), Some(seconds(0))), "another server may have said so");
    }

    #[test]
    fn a_host_that_beats_lives_also_without_its_lock_or_after_an_outage_of_the_server() {
        let mut watch = HostWatch::default();
        for beat in 1..100 {
            let found = watch.look(wait_times::HOST_BEAT, &[lease(beat, 60, Some(false))]).len();
            assert_eq!(found, 0, "{beat}");
        }
        // A newcomer does not bury at first sight.
        let mut watch = HostWatch::default();
        assert!(watch.look(Duration::from_hours(1), &[lease(1, 60, Some(false))]).is_empty());
        assert!(watch.look(wait_times::HOST_BEAT, &[lease(1, 62, Some(false))]).is_empty());
        assert_eq!(watch.look(wait_times::HOST_BEAT, &[lease(1, 64, Some(false))]).len(), 1);
    }
}
