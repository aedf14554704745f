//! Kills the processes left by a bridge and a shim that died together.
//!
//! A process is killed if it carries the mark of the agent in its environment, if it is the recorded agent or shim (pid and start
//! time), if it descends from one of these, or if it is in a control group that a shim made for that mark. A name or a pid alone never
//! counts. This process and its ancestors are spared: an agent may have started the very process that cleans up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::domain::grace_periods;
use crate::sys::process::cgroup;
use crate::sys::process::descendants::{self, Relative};

/// The pause between two passes.
const LOOK: Duration = Duration::from_millis(10);

/// The processes that may be left of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The mark that the whole tree carries.
    pub mark: String,
    /// The pids on record, with their start times.
    pub processes: Vec<(u32, u64)>,
}

/// Kills the processes left of these agents. Returns the survivors by mark; an agent without survivors has no entry.
///
/// Reads all of `/proc` several times, on another thread. Takes at most 1.5 s, and milliseconds if no process is left.
pub async fn end_remains(key: &'static str, all: Vec<Remains>) -> BTreeMap<String, Vec<u32>> {
    let deadline = Instant::now() + grace_periods::SHIM_KILL;
    loop {
        let agents = all.clone();
        let pass = tokio::task::spawn_blocking(move || {
            let left = end_once(key, &agents);
            if left.is_empty() {
                // Their shims died before they could remove the control groups.
                cgroup::tidy_up();
            }
            left
        });
        let left = match pass.await {
            Ok(left) => left,
            Err(error) => {
                // The survivors are unknown, so no agent may be reported as gone.
                tracing::warn!(%error, "cannot list the processes that agents left");
                return all.into_iter().map(|one| (one.mark, vec![])).collect();
            }
        };
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        sleep(LOOK).await;
    }
}

/// Kills all processes of these agents once, and returns them.
fn end_once(key: &str, all: &[Remains]) -> BTreeMap<String, Vec<u32>> {
    let spared = descendants::ancestors_and_self();
    let marks: BTreeSet<&str> = all.iter().map(|one| one.mark.as_str()).collect();
    let mut found: BTreeMap<String, Vec<Relative>> = BTreeMap::new();
    for (relative, mark) in descendants::marked(key, |value| marks.contains(value)) {
        found.entry(mark).or_default().push(relative);
    }
    for one in all {
        let recorded = one.processes.iter();
        let alive = recorded
            .filter_map(|(pid, started)| descendants::find(*pid, *started))
            .filter(|relative| relative.lives);
        let alive: Vec<_> = alive.collect();
        if !alive.is_empty() {
            found.entry(one.mark.clone()).or_default().extend(alive);
        }
    }
    let mut left: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (mark, mut relatives) in found {
        let roots: Vec<u32> = relatives.iter().map(|relative| relative.pid).collect();
        relatives.extend(descendants::descendants(&roots));
        relatives.retain(|relative| relative.lives && !spared.contains(&relative.pid));
        relatives.sort_by_key(|relative| relative.pid);
        relatives.dedup_by_key(|relative| relative.pid);
        for relative in &relatives {
            tracing::warn!(pid = relative.pid, "killing processes that a dead bridge left");
            if let Err(error) = descendants::kill(*relative) {
                tracing::warn!(pid = relative.pid, %error, "cannot kill processes that a dead \
                    bridge left");
            }
        }
        if !relatives.is_empty() {
            let pids = relatives.iter().map(|relative| relative.pid).collect();
            left.insert(mark, pids);
        }
    }
    // Last, to find processes that have lost both their parent and their environment.
    for (mark, pids) in cgroup::kill_marked(&marks, &spared) {
        left.entry(mark).or_default().extend(pids);
    }
    left
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::sys::process::start_time;

    const KEY: &str = "SWEEP_TEST";

    /// A process that sleeps; dropped, it is killed and reaped.
    struct Sleeper(Child);

    impl Sleeper {
        fn start(mark: Option<&str>) -> Self {
            let mut command = Command::new("sleep");
            command.arg("1000").stdin(Stdio::null()).env_remove(KEY);
            if let Some(mark) = mark {
                command.env(KEY, mark);
            }
            Self(command.spawn().unwrap())
        }

        fn named(&self) -> (u32, u64) {
            let pid = self.0.id();
            (pid, start_time(pid).unwrap())
        }

        fn was_killed(&mut self) -> bool {
            let exit = self.0.try_wait().unwrap();
            exit.is_some_and(|exit| exit.to_string() == "signal: 9 (SIGKILL)")
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn mark() -> String {
        uuid::Uuid::new_v4().to_string()
    }

    #[tokio::test]
    async fn marked_and_recorded_processes_are_killed_and_no_others() {
        let (mine, other) = (mark(), mark());
        let mut marked = Sleeper::start(Some(&mine));
        let mut recorded = Sleeper::start(None);
        let mut stranger = Sleeper::start(Some(&other));
        let mut reused = Sleeper::start(None);
        let (pid, started) = reused.named();
        let remains = Remains {
            mark: mine,
            // The second pid belongs to another process by now, which started at another time.
            processes: vec![recorded.named(), (pid, started - 1)],
        };
        // The dead stay zombies until this test reaps them, and zombies do not count.
        let left = end_remains(KEY, vec![remains]).await;
        assert_eq!(left, BTreeMap::new());
        assert!(marked.was_killed() && recorded.was_killed());
        assert!(!stranger.was_killed() && !reused.was_killed());
    }

    #[tokio::test]
    async fn an_agent_without_processes_has_no_survivors() {
        let remains = Remains { mark: mark(), processes: Vec::new() };
        assert_eq!(end_remains(KEY, vec![remains]).await, BTreeMap::new());
    }
}
