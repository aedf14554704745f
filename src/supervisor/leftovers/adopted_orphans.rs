//! The processes that fall to this one when a shim dies before its agent, and how they are killed.
//!
//! Only after [`adopt_orphans`], and only on Linux. Then each child that this process did not start itself is such an orphan. If this
//! process had children before, or is the first of its system, only children that carry the mark are.

use std::io;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::domain::grace_periods;
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::sys::process;
use crate::sys::process::descendants;
use crate::sys::process::kill_children::{Hunt, Pass};
use crate::sys::signal_streams::ChildChanges;

/// How often an end looks at them.
const LOOK: Duration = Duration::from_millis(5);

/// Up to so many live orphans, all that descends from them is looked for, too (see `shim::FEW`).
const FEW: usize = 32;

/// The process that gets every orphan that no other process adopts.
const FIRST_PROCESS: u32 = 1;

/// The kernel gives orphans to a process, so this belongs to the process too.
static ADOPTING: OnceLock<Adopting> = OnceLock::new();

/// The children that this process started itself. The lock is held during a start, so that no own child is ever taken for an orphan.
static OWN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

struct Adopting {
    mark: &'static str,
    has_other_children: bool,
    /// One look at a time: else one could reap a process that the other is about to count.
    look: Mutex<Hunt>,
    /// The task in the background; it ends with its runtime.
    keeping: Mutex<Option<JoinHandle<()>>>,
}

/// Makes orphaned agents fall to this process when their shims are killed. To be called before anything is started;
/// `mark` is the variable that the agents and all that they start have in their environment.
pub fn adopt_orphans(mark: &'static str) -> io::Result<()> {
    let has_other_children =
        std::process::id() == FIRST_PROCESS || !descendants::children().is_empty();
    descendants::adopt_orphans()?;
    ADOPTING.get_or_init(|| Adopting {
        mark,
        has_other_children,
        look: Mutex::new(Hunt::default()),
        keeping: Mutex::new(None),
    });
    Ok(())
}

/// A child that this process started itself. Dropped when the child is reaped.
#[derive(Debug)]
pub(crate) struct OwnChild {
    pid: u32,
}

impl OwnChild {
    /// Starts a child.
    pub(crate) fn start(
        start: impl FnOnce() -> io::Result<tokio::process::Child>,
    ) -> io::Result<(Self, tokio::process::Child)> {
        let mut own = lock(&OWN);
        let child = start()?;
        let pid = child.id().expect("a child that was not waited for has its pid");
        own.push(pid);
        Ok((Self { pid }, child))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        let mut own = lock(&OWN);
        // Only one: the pid may already be the next child's too.
        if let Some(at) = own.iter().position(|pid| *pid == self.pid) {
            own.swap_remove(at);
        }
    }
}

/// Returns the children that this process started itself, and that are not reaped.
pub(crate) fn own_children() -> Vec<u32> {
    lock(&OWN).clone()
}

/// Kills all orphans, and waits for none.
pub(crate) fn kill_now() {
    if let Some(adopting) = ADOPTING.get() {
        adopting.look(Instant::now() + grace_periods::ORPHANS);
    }
}

/// Kills and reaps all orphans, and returns those left at the deadline. `None` when this process adopts no orphans.
pub(crate) async fn kill_orphans() -> Option<Vec<u32>> {
    let adopting = ADOPTING.get()?;
    let deadline = Instant::now() + grace_periods::ORPHANS;
    loop {
        let left = adopting.look_on_a_thread(deadline).await;
        if left.is_empty() || Instant::now() >= deadline {
            return Some(left);
        }
        sleep(LOOK).await;
    }
}

/// Starts to kill and reap orphans in the background, whenever they fall to this process, for as long as its runtime lives.
pub(crate) fn keep_killing() {
    let Some(adopting) = ADOPTING.get() else {
        return;
    };
    let mut keeping = lock(&adopting.keeping);
    if keeping.as_ref().is_none_or(JoinHandle::is_finished) {
        *keeping = Some(tokio::spawn(adopting.keep_killing()));
    }
}

impl Adopting {
    /// Looks again and again while an orphan is left, and then whenever a child has changed.
    async fn keep_killing(&'static self) {
        let mut changes = match ChildChanges::listen() {
            Ok(changes) => changes,
            Err(error) => {
                tracing::warn!(%error, "processes that an agent leaves behind later will not be \
                    killed");
                return;
            }
        };
        loop {
            let left = self.look_on_a_thread(Instant::now() + grace_periods::ORPHANS).await;
            if left.is_empty() {
                changes.recv().await;
            }
            // Not for each of many that die at once.
            sleep(wait_times::LOOK_FOR_ORPHANS).await;
        }
    }

    /// Looks on another thread, as a look reads all of `/proc`, see `Leader::group_members`.
    async fn look_on_a_thread(&'static self, deadline: Instant) -> Vec<u32> {
        let look = tokio::task::spawn_blocking(move || self.look(deadline));
        look.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list the processes that an agent left");
            Vec::new()
        })
    }

    /// Kills the live orphans and all their descendants, and reaps the dead. Returns the processes that were not gone.
    fn look(&self, deadline: Instant) -> Vec<u32> {
        let mut hunt = lock(&self.look);
        let is_wanted = |pid| !self.has_other_children || process::has_variable(pid, self.mark);
        let Pass { mut killed, dead } = {
            // While it is held, no child of our own is started or given back.
            let own = lock(&OWN);
            hunt.pass(&own, is_wanted)
        };
        killed.retain(|pid| !descendants::reap(*pid));
        let mut left: Vec<u32> = dead.into_iter().filter(|pid| !descendants::reap(*pid)).collect();
        left.extend(&killed);
        if killed.is_empty() || killed.len() > FEW {
            return left;
        }
        for relative in descendants::descendants(&killed) {
            if Instant::now() >= deadline {
                break;
            }
            if !relative.lives {
                continue;
            }
            if let Err(error) = descendants::kill(relative) {
                tracing::warn!(pid = relative.pid, %error, "cannot kill a process that an agent \
                    left");
            }
            left.push(relative.pid);
        }
        left
    }
}
