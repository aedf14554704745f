//! What falls to this process when a shim dies before its agent, and how it is ended.
//!
//! Only after [`adopt_orphans`], and only on Linux. Then each child of this process that it did not start itself is such an
//! orphan, unless this process had children before, or is the first of its system: then only those that carry the mark.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::sys::process;
use crate::sys::process::descendants;
use crate::sys::process::kill_children::{Hunt, Pass};
use crate::sys::signal_streams::ChildChanges;

/// How long the end of an agent waits for orphans to disappear after SIGKILL: they need milliseconds. What forks on and on may need
/// longer; then it is named as left, and [`keep_on`] goes on.
const LIMIT: Duration = Duration::from_millis(500);

/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(5);

/// How often they are looked at when nobody waits for that.
const KEPT_LOOK: Duration = Duration::from_millis(100);

/// Up to so many live orphans, all that descends from them is looked for, too (see `shim::FEW`).
const FEW: usize = 32;

/// The process that gets every orphan that nobody else adopts.
const FIRST_PROCESS: u32 = 1;

/// Being the one to whom orphans fall belongs to the process, and so does this.
static ADOPTING: OnceLock<Adopting> = OnceLock::new();

/// The children that this process started itself. The lock is held while one is started, so that none is ever taken for an
/// orphan.
static OWN: Mutex<Vec<u32>> = Mutex::new(Vec::new());

struct Adopting {
    mark: &'static str,
    has_strangers: bool,
    /// One look at a time: else one could reap what the other is about to count.
    look: Mutex<Hunt>,
    /// The task that goes on looking; it ends with its runtime.
    keeping: Mutex<Option<JoinHandle<()>>>,
}

/// Makes this process the one to which its agents fall when their shims are killed. To be called before anything is started;
/// `mark` is the variable that the agents and all that they start have in their environment.
pub fn adopt_orphans(mark: &'static str) -> io::Result<()> {
    let has_strangers = std::process::id() == FIRST_PROCESS || !descendants::children().is_empty();
    descendants::adopt_orphans()?;
    ADOPTING.get_or_init(|| Adopting {
        mark,
        has_strangers,
        look: Mutex::new(Hunt::default()),
        keeping: Mutex::new(None),
    });
    Ok(())
}

/// A child that this process started itself. Dropped when the child is reaped.
#[derive(Debug)]
pub(super) struct OwnChild {
    pid: u32,
}

impl OwnChild {
    /// Starts a child.
    pub(super) fn start(
        start: impl FnOnce() -> io::Result<tokio::process::Child>,
    ) -> io::Result<(Self, tokio::process::Child)> {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let child = start()?;
        let pid = child.id().expect("a child that nobody waited for has its pid");
        own.push(pid);
        Ok((Self { pid }, child))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        // Only one: the pid may already be the next child's too.
        if let Some(at) = own.iter().position(|pid| *pid == self.pid) {
            own.swap_remove(at);
        }
    }
}

/// Kills and reaps all orphans, and returns who is left in spite of that when it is time to tell. `None` when this process adopts
/// nobody.
pub(super) async fn sweep() -> Option<Vec<u32>> {
    let adopting = ADOPTING.get()?;
    let deadline = Instant::now() + LIMIT;
    loop {
        let left = adopting.look_aside(deadline).await;
        if left.is_empty() || Instant::now() >= deadline {
            return Some(left);
        }
        sleep(LOOK).await;
    }
}

/// Lets orphans be killed and reaped from now on, whenever they fall to this process, for as long as its runtime lives.
pub(super) fn keep_on() {
    let Some(adopting) = ADOPTING.get() else {
        return;
    };
    let keeping = adopting.keeping.lock();
    let mut keeping = keeping.unwrap_or_else(PoisonError::into_inner);
    if keeping.as_ref().is_none_or(JoinHandle::is_finished) {
        *keeping = Some(tokio::spawn(adopting.keep_on()));
    }
}

impl Adopting {
    /// Looks again and again while anybody is left, and then whenever a child has changed.
    async fn keep_on(&'static self) {
        let mut changes = match ChildChanges::listen() {
            Ok(changes) => changes,
            Err(error) => {
                tracing::warn!(%error, "processes that an agent leaves behind later will not be \
                    killed");
                return;
            }
        };
        loop {
            let left = self.look_aside(Instant::now() + LIMIT).await;
            if left.is_empty() {
                changes.recv().await;
            }
            // Not for each of many that die at once.
            sleep(KEPT_LOOK).await;
        }
    }

    /// Looks on another thread, as a look reads all of `/proc`, see `Leader::group_members`.
    async fn look_aside(&'static self, deadline: Instant) -> Vec<u32> {
        let look = tokio::task::spawn_blocking(move || self.look(deadline));
        look.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list the processes that an agent left");
            Vec::new()
        })
    }

    /// Kills the living among the orphans and all that descends from them, and reaps the dead. Returns who was not gone.
    fn look(&self, deadline: Instant) -> Vec<u32> {
        let mut hunt = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = |pid| !self.has_strangers || process::has_variable(pid, self.mark);
        let Pass { mut killed, dead } = {
            // While it is held, no child of our own is started or given back.
            let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
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
