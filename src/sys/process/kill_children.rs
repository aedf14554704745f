//! Kills the children of this process, including adopted orphans, even if they fork and exit faster than all processes can be listed.
//!
//! A process that forks and exits at once is gone before the listing is complete, and hundreds of them leave hardly any time for one.
//! So a pass asks the kernel about each pid with one call, signals a live child at once, and begins with pids that the last pass did not
//! see. Stopping them first would gain nothing: a killed process forks no more than a stopped one.

use std::collections::HashSet;

use super::ChildState;
use super::proc_stat;
use crate::sys::process;

/// The passes of a process over its children.
#[derive(Debug, Default)]
pub struct Hunt {
    /// The pids that the last pass saw. They come last, because they live long.
    seen: HashSet<u32>,
}

/// The children found by a pass.
#[derive(Debug, Default)]
pub struct Pass {
    /// The selected live children, which were killed.
    pub killed: Vec<u32>,
    /// The dead ones, which wait to be reaped.
    pub dead: Vec<u32>,
}

impl Hunt {
    /// Sends SIGKILL to each live, selected and not spared child of this process, as soon as it is found. Children that are not spared must
    /// not be reaped meanwhile, so that their pids stay theirs.
    pub fn pass(&mut self, spared: &[u32], selected: impl Fn(u32) -> bool) -> Pass {
        let (seen, new): (Vec<u32>, Vec<u32>) =
            proc_stat::pids().partition(|pid| self.seen.contains(pid));
        let mut found = Pass::default();
        for pid in new.iter().rev().chain(&seen).copied() {
            if spared.contains(&pid) {
                continue;
            }
            match process::peek_child(pid) {
                // A child of which only the first thread has ended counts as running, too.
                ChildState::Running if selected(pid) => {
                    if let Err(error) = process::kill_child(pid) {
                        // The child may have become another user's (a setuid program). The caller sees it among the survivors.
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
    fn a_pass_kills_the_selected_children_that_are_not_spared() {
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("1000").stdin(Stdio::null());
            command.spawn().unwrap()
        };
        let (mut target, mut spared) = (sleep(), sleep());
        let is_selected = |pid: u32| [target.id(), spared.id()].contains(&pid);
        let found = Hunt::default().pass(&[spared.id()], is_selected);
        assert_eq!(found.killed, [target.id()]);
        assert_eq!(target.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        assert!(spared.try_wait().unwrap().is_none());
        spared.kill().unwrap();
        spared.wait().unwrap();
    }
}
