//! The handle on the reading thread: asks it, and watches what it sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use tokio::sync::{oneshot, watch};

use super::files_of_task::ChangedFiles;
use super::gather_extra::gather_extra;
use super::reading_thread::{Order, Reading, ReadingThread};
use super::walks::Walk;
use crate::bus::storage::file::Follower;
use crate::domain::ids::TaskId;
use crate::domain::wait_times;
use crate::web::acts::Surroundings;
use crate::web::pages::{Extra, View};
use crate::web::team_snapshot::{BusState, Snapshot};

/// The most orders that wait for the thread: more than there are connections.
const ORDERS: usize = 256;

/// The handle on the reading thread. The thread ends with the last handle.
#[derive(Clone)]
pub(in crate::web) struct BusReader {
    orders: SyncSender<Order>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    watchers: Arc<AtomicUsize>,
}

/// Why a question has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::web) enum NoAnswer {
    /// There is no bus that can be read.
    NoBus(BusState),
    /// The disk is slow, or too many ask.
    Late,
}

impl BusReader {
    /// Starts the thread.
    pub(in crate::web) fn start(
        surroundings: Arc<dyn Surroundings>,
        project: String,
    ) -> std::io::Result<Self> {
        let (orders, received) = sync_channel(ORDERS);
        let first = Snapshot { project, ..Snapshot::default() };
        let (sender, snapshots) = watch::channel(Arc::new(first));
        let watchers = Arc::new(AtomicUsize::new(0));
        let thread =
            ReadingThread::new(surroundings, received, orders.clone(), sender, watchers.clone());
        std::thread::Builder::new().name("bus-reader".to_owned()).spawn(|| thread.run())?;
        Ok(Self { orders, snapshots, watchers })
    }

    /// Reads the bus, and returns the team as it is now.
    pub(in crate::web) async fn snapshot(&self) -> Result<Arc<Snapshot>, NoAnswer> {
        self.order(Reading::snapshot).await
    }

    /// Asks the bus, after a look at what is new.
    pub(in crate::web) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Follower) -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        self.order(|reading| reading.ask(ask)).await?.map_err(NoAnswer::NoBus)
    }

    /// Reads what a view needs besides the snapshot, and which files git is to be asked about. What takes a walk over the log is read in
    /// steps, between which others are answered. What cannot be read is missing. `last_turn` is that of the member whose page it is, if that has
    /// no task.
    pub(in crate::web) async fn gather(
        &self,
        view: View,
        before: Option<u64>,
        last_turn: Option<TaskId>,
    ) -> Result<(Extra, Option<ChangedFiles>), NoAnswer> {
        let Some(walk) = Walk::of(&view, before) else {
            let gather = move |bus: &mut Follower| {
                let extra = gather_extra(bus, &view, last_turn.as_ref());
                let files = extra.task.as_ref().and_then(|task| ChangedFiles::of(bus, task));
                (extra, files)
            };
            return self.ask(gather).await;
        };
        let walked = tokio::time::timeout(wait_times::WEB_ANSWER, self.walk(walk)).await;
        Ok((walked.map_err(|_| NoAnswer::Late)??, None))
    }

    async fn walk(&self, mut walk: Walk) -> Result<Extra, NoAnswer> {
        loop {
            let step = |reading: &mut Reading| {
                reading.ask_kept(move |bus, kept| {
                    let found = walk.step(bus, kept);
                    (walk, found)
                })
            };
            let (again, found) = self.order(step).await?.map_err(NoAnswer::NoBus)?;
            walk = again;
            match found {
                Ok(Some(extra)) => return Ok(extra),
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(%error, "cannot read all of a page");
                    return Ok(Extra::default());
                }
            }
        }
    }

    async fn order<T: Send + 'static>(
        &self,
        order: impl FnOnce(&mut Reading) -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (answer, answered) = oneshot::channel();
        let order = Order::Answer(Box::new(|reading| {
            // Whoever asked may have gone, before it is read and while.
            if !answer.is_closed() {
                let _ = answer.send(order(reading));
            }
        }));
        self.orders.try_send(order).map_err(|_| NoAnswer::Late)?;
        let answered = tokio::time::timeout(wait_times::WEB_ANSWER, answered).await;
        answered.map_err(|_| NoAnswer::Late)?.map_err(|_| NoAnswer::Late)
    }

    /// Watches the team: as long as this lives, each change becomes a snapshot.
    pub(in crate::web) fn watch(&self) -> Watching {
        self.watchers.fetch_add(1, Ordering::AcqRel);
        // A full queue wakes the thread just as well.
        let _ = self.orders.try_send(Order::Look);
        Watching { snapshots: self.snapshots.clone(), watchers: Arc::clone(&self.watchers) }
    }

    /// Tells the thread to end. One that hangs in a read ends with the process.
    pub(in crate::web) fn end(&self) {
        let _ = self.orders.try_send(Order::End);
    }
}

/// Somebody who watches.
pub(in crate::web) struct Watching {
    pub(in crate::web) snapshots: watch::Receiver<Arc<Snapshot>>,
    watchers: Arc<AtomicUsize>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watchers.fetch_sub(1, Ordering::AcqRel);
    }
}
