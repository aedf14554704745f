//! The orphans that this process adopts when a shim dies before its agent, and how they are killed.
//!
//! Only after [`adopt_orphans`], and only on Linux. Then every child that this process did not start is such an orphan. If this process
//! had children before, or is the init process of its system, only children with the mark are.

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

/// The pause between two checks while the orphans end.
const LOOK: Duration = Duration::from_millis(5);

/// Up to this many live orphans, their descendants are searched for, too (see `shim_process::FEW`).
const FEW: usize = 32;

/// The init process, which gets every orphan that no other process adopts.
const FIRST_PROCESS: u32 = 1;

/// The kernel gives orphans to a process, so this is global to the process.
static ADOPTING: OnceLock<Adopting> = OnceLock::new();

/// The children that this process started. The lock is held during a start, so that no own child is ever taken for an orphan.
static OWN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

struct Adopting {
    mark: &'static str,
    has_other_children: bool,
    /// Held during a pass: one pass could otherwise reap a process that another is about to count.
    pass: Mutex<Hunt>,
    /// The task in the background; it ends with its runtime.
    keeping: Mutex<Option<JoinHandle<()>>>,
}

/// Makes this process adopt orphaned agents whose shims are killed. Call it before any child is started. `mark` is the variable that
/// the agents and all their descendants have in their environment.
pub fn adopt_orphans(mark: &'static str) -> io::Result<()> {
    let has_other_children =
        std::process::id() == FIRST_PROCESS || !descendants::children().is_empty();
    descendants::adopt_orphans()?;
    ADOPTING.get_or_init(|| Adopting {
        mark,
        has_other_children,
        pass: Mutex::new(Hunt::default()),
        keeping: Mutex::new(None),
    });
    Ok(())
}

/// A child that this process started. Dropped when the child is reaped.
#[derive(Debug)]
pub(crate) struct OwnChild {
    pid: u32,
}

impl OwnChild {
    /// Starts a child and records it.
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
        // Remove only one entry: the next child may already have the same pid.
        if let Some(at) = own.iter().position(|pid| *pid == self.pid) {
            own.swap_remove(at);
        }
    }
}

/// Returns the children that this process started and has not reaped.
pub(crate) fn own_children() -> Vec<u32> {
    lock(&OWN).clone()
}

/// Kills all orphans without waiting.
pub(crate) fn kill_now() {
    if let Some(adopting) = ADOPTING.get() {
        adopting.kill_and_reap(Instant::now() + grace_periods::ORPHANS);
    }
}

/// Kills and reaps all orphans, and returns those left at the deadline. `None` when this process adopts no orphans.
pub(crate) async fn kill_orphans() -> Option<Vec<u32>> {
    let adopting = ADOPTING.get()?;
    let deadline = Instant::now() + grace_periods::ORPHANS;
    loop {
        let left = adopting.pass_on_a_thread(deadline).await;
        if left.is_empty() || Instant::now() >= deadline {
            return Some(left);
        }
        sleep(LOOK).await;
    }
}

/// Starts a background task that kills and reaps orphans as soon as this process adopts them, until its runtime ends.
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
    /// Runs passes while an orphan is left, and then whenever a child has changed.
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
            let left = self.pass_on_a_thread(Instant::now() + grace_periods::ORPHANS).await;
            if left.is_empty() {
                changes.recv().await;
            }
            // One pass serves many deaths at once.
            sleep(wait_times::LOOK_FOR_ORPHANS).await;
        }
    }

    /// Runs a pass on another thread, because it reads all of `/proc` (see `Leader::group_members`).
    async fn pass_on_a_thread(&'static self, deadline: Instant) -> Vec<u32> {
        let pass = tokio::task::spawn_blocking(move || self.kill_and_reap(deadline));
        pass.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list the processes that an agent left");
            Vec::new()
        })
    }

    /// Kills the live orphans and all their descendants, and reaps the dead. Returns the processes that are left.
    fn kill_and_reap(&self, deadline: Instant) -> Vec<u32> {
        let mut hunt = lock(&self.pass);
        let is_orphan = |pid| !self.has_other_children || process::has_variable(pid, self.mark);
        let Pass { mut killed, dead } = {
            // While the lock is held, this process starts no child and reaps none of its own.
            let own = lock(&OWN);
            hunt.pass(&own, is_orphan)
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
