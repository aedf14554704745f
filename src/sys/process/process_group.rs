//! Process groups: their live processes, and signals to a group.
//!
//! A number that stands for more than one group is refused before the system sees it.

use std::io;

use nix::errno::Errno;
use nix::sys::signal::killpg;
use nix::unistd::Pid;

use super::Signal;
use super::proc_stat::{pids, stat};

/// Sends `signal` to every process of the group. An empty group is a success: there is nothing to signal.
///
/// Only the holder of the unreaped leader may call this: once the leader is reaped, another group may get the number.
pub fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
    match killpg(group_id(group)?, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the live processes of the group, without dead ones that wait to be reaped.
///
/// Without `/proc` the group's own id stands for all of them while the group exists. The listing takes time, and may miss a process
/// that appears meanwhile.
pub fn group_members(group: u32) -> Vec<u32> {
    if cfg!(target_os = "linux") {
        let in_group = |pid: &u32| stat(*pid).is_some_and(|stat| stat.lives && stat.group == group);
        return pids().filter(in_group).collect();
    }
    let answers = group_id(group).is_ok_and(|id| killpg(id, None).is_ok());
    answers.then_some(group).into_iter().collect()
}

/// Says whether a process of the group still lives.
pub fn group_is_populated(group: u32) -> bool {
    !group_members(group).is_empty()
}

/// Refuses 0 and 1, which `killpg` takes for our own group and for all processes.
pub(super) fn group_id(group: u32) -> io::Result<Pid> {
    raw(group).filter(|id| id.as_raw() > 1).ok_or_else(|| {
        let reason = format!("{group} is not a process group that can be signalled");
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}

pub(super) fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::sys::process;

    #[test]
    fn numbers_that_mean_more_than_one_group_are_refused() {
        for group in [0, 1, u32::MAX] {
            let refusal = signal_group(group, Signal::SIGKILL).unwrap_err();
            assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found_in_its_group_with_its_start_time() {
        let me = std::process::id();
        let group = u32::try_from(nix::unistd::getpgrp().as_raw()).unwrap();
        assert!(group_members(group).contains(&me));
        assert!(process::start_time(me).is_some_and(|started| started > 0));
        assert_eq!(process::start_time(u32::MAX), None);
    }
}
