//! The one task that owns a direct child: it alone signals and reaps the child, and publishes its end.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::group_leader::Leader;
use crate::domain::grace_periods;
use crate::supervisor::child::{End, Exit};
use crate::supervisor::child_signal_deadlines::{SignalDeadlines, SignalsSent};
use crate::supervisor::leftovers::adopted_orphans::OwnChild;
use crate::supervisor::stderr_tail::end_of;
use crate::sys::backoff::Backoff;
use crate::sys::process::Signal;

/// The pauses between checks of the group: most groups are gone after the first.
const LOOKS: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50));

pub(crate) struct Watcher {
    pub(crate) leader: Leader,
    pub(crate) deadlines: watch::Receiver<SignalDeadlines>,
    pub(crate) end: watch::Sender<Option<End>>,
    pub(crate) stderr: JoinHandle<()>,
    /// Dropped when the child is reaped.
    pub(crate) _own: OwnChild,
}

impl Watcher {
    /// Runs until the child is reaped and its group is empty, and finally publishes the end.
    pub(crate) async fn run(mut self) {
        let sent = self.until_leader_exits().await;
        let survivors = self.until_group_is_empty(sent).await;
        let exit = self.leader.reap().await.map_or(Exit::UNKNOWN, Exit::from);
        end_of(self.stderr).await;
        self.end.send_replace(Some(End { exit, survivors }));
    }

    async fn until_leader_exits(&mut self) -> SignalsSent {
        let mut sent = SignalsSent::Nothing;
        let mut handles_left = true;
        loop {
            let deadlines = *self.deadlines.borrow_and_update();
            sent = self.send_due_signal(deadlines, sent, handles_left);
            let next = deadlines.next(sent);
            tokio::select! {
                () = self.leader.exited() => return sent,
                changed = self.deadlines.changed(), if handles_left => handles_left = changed.is_ok(),
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    fn send_due_signal(
        &self,
        deadlines: SignalDeadlines,
        sent: SignalsSent,
        handles_left: bool,
    ) -> SignalsSent {
        let due = deadlines.due(sent, handles_left, Instant::now());
        match due {
            SignalsSent::Kill if sent < due => self.leader.signal(Signal::SIGKILL),
            SignalsSent::Terminate if sent < due => {
                self.leader.signal(Signal::SIGTERM);
                // A stopped process acts on SIGTERM only after SIGCONT.
                self.leader.signal(Signal::SIGCONT);
            }
            _ => {}
        }
        due
    }

    /// Waits until the group is empty. Returns the processes that survive SIGKILL.
    ///
    /// After SIGTERM the rest of the group keeps its grace period: the leader may be a mere wrapper (`npx`), and the
    /// process behind it may still be saving its work. Otherwise the rest is killed at once.
    async fn until_group_is_empty(&mut self, sent: SignalsSent) -> Vec<u32> {
        let mut killed_at = None;
        let mut looks = LOOKS;
        loop {
            let members = self.leader.group_members().await;
            if members.is_empty() {
                return members;
            }
            let deadlines = *self.deadlines.borrow();
            let now = Instant::now();
            let handles_left = self.deadlines.has_changed().is_ok();
            let in_grace = handles_left && deadlines.kill.is_some_and(|at| at > now);
            if sent != SignalsSent::Terminate || !in_grace {
                self.leader.signal(Signal::SIGKILL);
                if now.duration_since(*killed_at.get_or_insert(now)) > grace_periods::DIRECT_KILL {
                    return members;
                }
            }
            sleep(looks.next_pause()).await;
        }
    }
}
