//! The child that leads its group. Until it is reaped, the kernel gives its pid and its group's number to no other process, so signals
//! to the group reach only its members. This type therefore holds both the child and the right to signal.
//!
//! Noticing the exit must not reap the child. A check without reaping (`waitid` with `WNOWAIT`) at every `SIGCHLD` needs neither a
//! blocked thread nor a pidfd, which would need unsafe code. Where `nix` has no `waitid` (macOS), the child is reaped at its exit and
//! the rest of the group signalled right after: for a moment, and only if the group is empty, the number could be another group's.

use std::process::ExitStatus;

use tokio::process::Child;

use crate::sys::process::{self, Signal};
use crate::sys::signal_streams::ChildChanges;

/// Owns the child. Dropped before it is reaped, it kills the group.
#[derive(Debug)]
pub(crate) struct Leader {
    child: Child,
    group: u32,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "there the child itself is waited for")
    )]
    changes: ChildChanges,
    group_is_ours: bool,
}

impl Leader {
    /// `changes` must have been listening since before the child was spawned.
    pub(crate) fn new(child: Child, group: u32, changes: ChildChanges) -> Self {
        Self { child, group, changes, group_is_ours: true }
    }

    /// Waits until the leader has exited. Cancel safe.
    #[cfg(target_os = "linux")]
    pub(crate) async fn exited(&mut self) {
        loop {
            match process::peek_child(self.group) {
                process::ChildState::Running => self.changes.recv().await,
                process::ChildState::Exited => return,
                process::ChildState::NotOurs => {
                    tracing::error!(
                        pid = self.group,
                        "a supervised child was reaped by other code"
                    );
                    self.group_is_ours = false;
                    return;
                }
            }
        }
    }

    /// Waits until the leader has exited. Cancel safe.
    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn exited(&mut self) {
        if let Err(error) = self.child.wait().await {
            tracing::error!(pid = self.group, %error, "cannot wait for a supervised child");
            self.group_is_ours = false;
        }
    }

    /// Sends the signal to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.group_is_ours {
            return;
        }
        if let Err(error) = process::signal_group(self.group, signal) {
            // The process may have become another user's (a setuid program). The caller sees it among the survivors.
            tracing::warn!(group = self.group, %signal, %error, "cannot signal a process group");
        }
    }

    /// Returns the live processes of the group; none once the number may be another group's.
    pub(crate) async fn group_members(&self) -> Vec<u32> {
        if !self.group_is_ours {
            return Vec::new();
        }
        let group = self.group;
        // Reading all of /proc takes some 10 µs per process: too long for the thread of the runtime.
        let look = tokio::task::spawn_blocking(move || process::group_members(group));
        look.await.unwrap_or_else(|error| {
            tracing::warn!(group, %error, "cannot list the rest of a process group");
            Vec::new()
        })
    }

    /// Reaps the leader, which must have exited, and gives up the right to signal. `None` if it was not ours to reap.
    pub(crate) async fn reap(&mut self) -> Option<ExitStatus> {
        // The listing may have missed a process forked meanwhile. This is the last moment to signal it.
        self.signal(Signal::SIGKILL);
        self.group_is_ours = false;
        match self.child.wait().await {
            Ok(status) => Some(status),
            Err(error) => {
                tracing::warn!(pid = self.group, %error, "cannot read the exit status of a child");
                None
            }
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // After this, tokio kills the child once more and reaps it (`kill_on_drop`).
        self.signal(Signal::SIGKILL);
    }
}
