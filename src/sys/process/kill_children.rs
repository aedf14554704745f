//! Kills the children of this process, adopted orphans among them, even those that fork and exit faster than a look at all processes
//! takes.
//!
//! A process that forks and exits at once is gone when a look at all processes is done, and hundreds of them leave hardly any time
//! for one. So a pass asks the kernel with one call for each pid whether it is a live child, signals it at once, and begins with the
//! pids that the last pass did not see. Stopping them first would win nothing: a killed process forks no more than a stopped one.

use std::collections::HashSet;

use super::ChildState;
use super::proc_stat;
use crate::sys::process;

/// The passes of a process over its children.
#[derive(Debug, Default)]
pub struct Hunt {
    /// The pids that the last pass saw: a process that lives for long is looked at last.
    seen: HashSet<u32>,
}

/// The children that a pass has found.
#[derive(Debug, Default)]
pub struct Pass {
    /// The live children that were wanted: they were signalled.
    pub killed: Vec<u32>,
    /// The dead ones, which wait to be reaped.
    pub dead: Vec<u32>,
}

impl Hunt {
    /// Sends SIGKILL to each live child of this process that is not spared and is wanted, as it is found. Children that are not spared
    /// must not be reaped meanwhile, so that their pids are theirs.
    pub fn pass(&mut self, spared: &[u32], wanted: impl Fn(u32) -> bool) -> Pass {
        let (seen, new): (Vec<u32>, Vec<u32>) =
            proc_stat::pids().partition(|pid| self.seen.contains(pid));
        let mut found = Pass::default();
        for pid in new.iter().rev().chain(&seen).copied() {
            if spared.contains(&pid) {
                continue;
            }
            match process::peek_child(pid) {
                // One whose first thread alone has ended counts as running, too.
                ChildState::Running if wanted(pid) => {
                    if let Err(error) = process::kill_child(pid) {
                        // It may have become another user's (a setuid program). The caller sees it among the survivors.
                        tracing::debug!(pid, %error, "cannot kill a child");
                    }
                    found.killed.push(pid);
                }
                ChildState::Exited => found.dead.push(pid),
                ChildState::Running | ChildState::NotOurs => {}
            }
        }
        self.seen = new.into_iter().chain(seen).collect();
        found
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_pass_kills_the_children_that_are_wanted_and_not_spared() {
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("1000").stdin(Stdio::null());
            command.spawn().unwrap()
        };
        let (mut wanted, mut other) = (sleep(), sleep());
        let is_wanted = |pid: u32| [wanted.id(), other.id()].contains(&pid);
        let found = Hunt::default().pass(&[other.id()], is_wanted);
        assert_eq!(found.killed, [wanted.id()]);
        assert_eq!(wanted.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
