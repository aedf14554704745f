//! The processes of an agent that are held: suspended where they are, until they go on.
//!
//! Our own endpoints and hooks among them are not held. They may hold a lock of the bus, on which all members of the machine would then
//! wait.

use crate::sys::process;
use crate::sys::process::descendants::{self, Relative};

/// The most looks for processes that were forked meanwhile. Each look finds what the processes before it had forked before they stood
/// still, so two or three find all.
const LOOKS: usize = 16;

/// The first argument of a scripted agent.
const SCRIPTED_AGENT: &str = "scripted-agent";

#[derive(Debug, Default)]
pub(super) struct Held {
    held: Vec<Relative>,
}

impl Held {
    /// Suspends all descendants of this process. One that is already suspended is not ours to continue.
    pub(super) fn hold(&mut self) {
        for _ in 0..LOOKS {
            let all = descendants::descendants(&[std::process::id()]);
            let moving = all
                .into_iter()
                .filter(|one| one.lives && !one.is_suspended && !is_of_the_bridge(one.pid));
            let moving: Vec<_> = moving.collect();
            if moving.is_empty() {
                return;
            }
            for one in moving {
                // A process that became another user's (a setuid program) cannot be held.
                if descendants::suspend(one).is_ok() && !self.held.iter().any(|held| held.is(&one))
                {
                    self.held.push(one);
                }
            }
        }
    }

    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Lets them go on, the last one first: a parent finds its children running.
    pub(super) fn go_on(&mut self) {
        for one in self.held.drain(..).rev() {
            // One that is gone needs nothing.
            let _ = descendants::go_on(one);
        }
    }
}

/// Says whether a process is an endpoint or a hook of ours. The scripted agent, which is the same program, is an agent as any other.
fn is_of_the_bridge(pid: u32) -> bool {
    process::runs_this_file(pid) && process::first_argument(pid).as_deref() != Some(SCRIPTED_AGENT)
}
