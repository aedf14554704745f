//! The descendants of a process: finds them, signals them without hitting another process, and reaps them.
//!
//! Exact on Linux. Elsewhere, without `/proc` and adoption of orphans, no descendants are found.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::proc_stat;
use crate::sys::process;

/// A process, identified for ever: pids are reused, but not together with a start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relative {
    pub pid: u32,
    pub group: u32,
    /// Whether it lives. A dead one waits to be reaped by its parent.
    pub lives: bool,
    /// Whether a signal has suspended it.
    pub is_suspended: bool,
    started: u64,
}

impl Relative {
    fn of(pid: u32, stat: &proc_stat::Stat) -> Self {
        let proc_stat::Stat { group, lives, is_suspended, started, .. } = *stat;
        Self { pid, group, lives, is_suspended, started }
    }

    /// Says whether it is the same process, whatever it does now.
    pub fn is(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

/// Makes the orphans among the descendants of this process its children, instead of the init process's.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

/// Fails, because this system has no such feature.
#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes this process the leader of a session of its own, out of reach of the terminal's signals.
pub fn lead_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Returns all descendants of these processes, including dead ones, without the processes themselves.
///
/// The listing takes time, and may miss a process forked or adopted meanwhile. A caller that has to be sure lists again.
pub fn descendants(ancestors: &[u32]) -> Vec<Relative> {
    let mut children: BTreeMap<u32, Vec<Relative>> = BTreeMap::new();
    for pid in proc_stat::pids() {
        if let Some(stat) = proc_stat::stat(pid) {
            children.entry(stat.parent).or_default().push(Relative::of(pid, &stat));
        }
    }
    let mut found = Vec::new();
    // Pids that are reused during the listing could form a cycle.
    let mut seen: BTreeSet<u32> = ancestors.iter().copied().collect();
    let mut parents = ancestors.to_vec();
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if seen.insert(child.pid) {
                parents.push(child.pid);
                found.push(child);
            }
        }
    }
    found
}

/// Returns the processor time that a process and its live descendants have used; zero where that is not visible.
pub fn processor_time(pid: u32) -> Duration {
    let descendants = descendants(&[pid]).into_iter().map(|relative| relative.pid);
    let all = descendants.chain([pid]).filter_map(proc_stat::stat);
    // Linux counts in hundredths of a second, whatever its own clock does (`USER_HZ`).
    Duration::from_millis(all.map(|stat| stat.used).sum::<u64>().saturating_mul(10))
}

/// Returns the children of this process, including dead ones.
pub fn children() -> Vec<Relative> {
    let me = std::process::id();
    let mut children = descendants(&[me]);
    children.retain(|child| proc_stat::stat(child.pid).is_some_and(|stat| stat.parent == me));
    children
}

/// Returns a process by its pid and start time; none if the pid belongs to another process by now.
pub fn find(pid: u32, started: u64) -> Option<Relative> {
    relative(pid).filter(|relative| relative.started == started)
}

/// Returns the live processes whose environment, as it was when their program began, has `key` set to a value that matches, with that
/// value. The limits of [`process::marked`] apply.
pub fn marked(key: &str, matches: impl Fn(&str) -> bool) -> Vec<(Relative, String)> {
    let found = proc_stat::pids().filter_map(|pid| {
        // First its identity, then its environment: if the pid is reused in between, `kill` notices.
        let relative = relative(pid).filter(|relative| relative.lives)?;
        let value = process::variable(pid, key)?;
        matches(&value).then_some((relative, value))
    });
    found.collect()
}

/// Returns the pids of this process and of its visible ancestors (see [`super::pid_namespace`]).
pub fn ancestors_and_self() -> BTreeSet<u32> {
    let mut lineage = BTreeSet::new();
    let mut next = process::own_pid().unwrap_or_default();
    while next != 0 && lineage.insert(next) {
        next = proc_stat::stat(next).map_or(0, |stat| stat.parent);
    }
    lineage
}

fn relative(pid: u32) -> Option<Relative> {
    proc_stat::stat(pid).map(|stat| Relative::of(pid, &stat))
}

/// Sends a signal to exactly this process, never to a later one with the same pid. A process that is gone is a success.
#[cfg(target_os = "linux")]
fn signal(relative: Relative, signal: Signal) -> io::Result<()> {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let Some(pid) = raw(relative.pid) else {
        return Ok(());
    };
    let held = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => held,
        Err(Errno::SRCH) => return Ok(()),
        // Before Linux 5.3: between the check and the signal the pid could be reused, which nothing there prevents.
        Err(Errno::NOSYS) if process::start_time(relative.pid) == Some(relative.started) => {
            return Ok(rustix::process::kill_process(pid, signal)?);
        }
        Err(error) => return Err(error.into()),
    };
    // The pidfd keeps the pid from being reused, so this check decides whether it is the right process.
    if process::start_time(relative.pid) != Some(relative.started) {
        return Ok(());
    }
    match pidfd_send_signal(&held, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Does nothing: no relatives are known here.
#[cfg(not(target_os = "linux"))]
fn signal(_relative: Relative, _signal: Signal) -> io::Result<()> {
    Ok(())
}

/// Sends SIGKILL to exactly this process.
pub fn kill(relative: Relative) -> io::Result<()> {
    signal(relative, Signal::KILL)
}

/// Suspends exactly this process, which cannot prevent it.
pub fn suspend(relative: Relative) -> io::Result<()> {
    signal(relative, Signal::STOP)
}

/// Lets a suspended process go on.
pub fn go_on(relative: Relative) -> io::Result<()> {
    signal(relative, Signal::CONT)
}

/// The result of reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This dead child was reaped.
    One {
        pid: u32,
        /// The exit code, if it exited.
        code: Option<i32>,
        /// The number of the signal, if one killed it.
        signal: Option<i32>,
    },
    /// There are children, and all live.
    AllLive,
    /// There are no children and so, with [`adopt_orphans`], no descendants.
    Childless,
}

/// Reaps any one dead child. Only for a process that reaps nowhere else: it would take the exit status away from other code.
pub fn reap_any() -> io::Result<Reaped> {
    match rustix::process::wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => Ok(Reaped::One {
            pid: pid.as_raw_nonzero().get().unsigned_abs(),
            code: WaitStatus::exit_status(status),
            signal: WaitStatus::terminating_signal(status),
        }),
        Ok(None) => Ok(Reaped::AllLive),
        Err(rustix::io::Errno::CHILD) => Ok(Reaped::Childless),
        Err(error) => Err(error.into()),
    }
}

/// Reaps this child if it is dead. Returns whether it is gone. Only for a child that no other code waits for.
///
/// A process with a dead first thread looks dead, but cannot be reaped until its other threads are dead too.
pub fn reap(pid: u32) -> bool {
    let Some(pid) = raw(pid) else {
        return true;
    };
    !matches!(rustix::process::waitpid(Some(pid), WaitOptions::NOHANG), Ok(None))
}

fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_is_found_and_only_itself_is_killed() {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let mine = |relative: &Relative| relative.pid == child.id();
        let found = descendants(&[std::process::id()]).into_iter().find(mine);
        let found = found.expect("it is a child of this process");
        assert!(children().iter().any(|child| child.is(&found)));

        let stranger = Relative { started: found.started + 1, ..found };
        kill(stranger).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "a pid alone does not identify it");
        kill(found).unwrap();
        assert_eq!(child.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        kill(found).unwrap();
    }
}
