//! A child of this process: whether it runs, and killing it while its pid is certainly its own.

use std::io;

use nix::errno::Errno;
use nix::sys::signal::kill;

use super::Signal;
use super::process_group::group_id;
#[cfg(target_os = "linux")]
use super::process_group::raw;

/// The state of a child of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildState {
    Running,
    /// It has exited and waits to be reaped, so its pid and its group are still its own.
    Exited,
    /// It is no child of ours, or other code reaped it, so its pid may already belong to another process.
    NotOurs,
}

/// Checks a child without reaping it.
#[cfg(target_os = "linux")]
pub fn peek_child(pid: u32) -> ChildState {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};

    let Some(pid) = raw(pid) else {
        return ChildState::NotOurs;
    };
    match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
        Ok(WaitStatus::StillAlive) => ChildState::Running,
        Err(Errno::ECHILD) => ChildState::NotOurs,
        // An error here is a death by a signal that `nix` has no name for (a real-time one).
        Ok(_) | Err(_) => ChildState::Exited,
    }
}

/// This system cannot check a child without reaping it, so no process counts as one.
#[cfg(not(target_os = "linux"))]
pub fn peek_child(_pid: u32) -> ChildState {
    ChildState::NotOurs
}

/// Sends SIGKILL to a child of this process that is not reaped, so that its pid is its own. A dead child is a success.
pub fn kill_child(pid: u32) -> io::Result<()> {
    match kill(group_id(pid)?, Signal::SIGKILL) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_no_child_is_not_ours() {
        assert_eq!(peek_child(std::process::id()), ChildState::NotOurs);
    }
}
