//! What falls to this process when a shim dies before its agent, and how it is ended.
//!
//! Only after [`adopt_orphans`], and only on Linux. Then each child of this process that it did not start itself is such an
//! orphan, unless this process had children before, or is the first of its system: then only those that carry the mark.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::sys::family::{self, Relative};
use crate::sys::process;

/// How long orphans may take to disappear after SIGKILL: they need milliseconds.
const LIMIT: Duration = Duration::from_secs(1);

/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(5);

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
    look: Mutex<()>,
}

/// Makes this process the one to which its agents fall when their shims are killed. To be called before anything is started;
/// `mark` is the variable that the agents and all that they start have in their environment.
pub fn adopt_orphans(mark: &'static str) -> io::Result<()> {
    let has_strangers = std::process::id() == FIRST_PROCESS || !family::children().is_empty();
    family::adopt_orphans()?;
    ADOPTING.get_or_init(|| Adopting {
        mark,
        has_strangers,
        look: Mutex::new(()),
    });
    Ok(())
}

/// A child that this process started itself. Dropped when the child is reaped.
#[derive(Debug)]
pub(super) struct Own {
    pid: u32,
}

impl Own {
    /// Starts a child.
    pub(super) fn start(
        start: impl FnOnce() -> io::Result<tokio::process::Child>,
    ) -> io::Result<(Self, tokio::process::Child)> {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let child = start()?;
        let pid = child
            .id()
            .expect("a child that nobody waited for has its pid");
        own.push(pid);
        Ok((Self { pid }, child))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        // Only one: the pid may already be the next child's too.
        if let Some(at) = own.iter().position(|pid| *pid == self.pid) {
            own.swap_remove(at);
        }
    }
}

/// Kills and reaps all orphans, and returns who is left in spite of that. `None` when this process adopts nobody.
pub(super) async fn sweep() -> Option<Vec<u32>> {
    let adopting = ADOPTING.get()?;
    let deadline = Instant::now() + LIMIT;
    loop {
        // It reads all of /proc, see `Leader::group_members`.
        let look = tokio::task::spawn_blocking(|| adopting.look());
        let left = look.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look who is left of an agent");
            Vec::new()
        });
        if left.is_empty() || Instant::now() >= deadline {
            return Some(left);
        }
        sleep(LOOK).await;
    }
}

impl Adopting {
    /// Kills the living among the orphans and all that descends from them, and reaps the dead. Returns who was not gone.
    fn look(&self) -> Vec<u32> {
        let _alone = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        let adopted = adopted();
        let mut left = Vec::new();
        for orphan in adopted {
            if !orphan.lives {
                if !family::reap(orphan.pid) {
                    left.push(orphan.pid);
                }
                continue;
            }
            if self.has_strangers && !process::has_variable(orphan.pid, self.mark) {
                continue;
            }
            let mut all = family::descendants(&[orphan.pid]);
            all.push(orphan);
            for relative in all.into_iter().filter(|relative| relative.lives) {
                if let Err(error) = family::kill(relative) {
                    tracing::warn!(pid = relative.pid, %error, "cannot kill what an agent left");
                }
                left.push(relative.pid);
            }
        }
        left
    }
}

fn adopted() -> Vec<Relative> {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut children = family::children();
    children.retain(|child| !own.contains(&child.pid));
    children
}
