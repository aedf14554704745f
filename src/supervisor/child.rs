//! The handle of a child, for all code but its watcher: it requests stops and awaits the end.

use std::fmt;
use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::child_signal_deadlines::SignalDeadlines;
use super::stderr_tail::Tail;
use crate::domain::grace_periods::StopPlan;
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::process::{self, Signal};

/// A child that is being watched. Cheap to clone; when the last clone is dropped, the child is killed.
#[derive(Clone)]
pub struct Supervised {
    shared: Arc<ChildShared>,
}

pub(super) struct ChildShared {
    pub(super) program: PathBuf,
    pub(super) pid: u32,
    pub(super) start_time: Option<u64>,
    /// The pid and the start time of the shim, if there is one.
    pub(super) shim: Option<(u32, Option<u64>)>,
    pub(super) stderr: Arc<Tail>,
    pub(super) deadlines: watch::Sender<SignalDeadlines>,
    pub(super) end: watch::Receiver<Option<End>>,
}

/// The end of a child: the exit of the leader, and the processes of its group that could not be killed.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) exit: Exit,
    pub(super) survivors: Vec<u32>,
}

impl Supervised {
    pub(super) fn new(shared: ChildShared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Returns the child's process id, which is also its group's. A shim has another one.
    pub fn pid(&self) -> u32 {
        self.shared.pid
    }

    /// Returns the start time of the child, as [`process::start_time`] gives it: with the pid, it identifies the process for ever.
    pub fn start_time(&self) -> Option<u64> {
        self.shared.start_time
    }

    /// Returns the pid and the start time of the child's shim, if it has one.
    pub fn shim(&self) -> Option<(u32, Option<u64>)> {
        self.shared.shim
    }

    /// Returns how many bytes the child has written to its stderr so far.
    pub fn stderr_bytes(&self) -> u64 {
        self.shared.stderr.total()
    }

    /// Returns the last 64 KiB of the child's stderr. A first line counts the bytes before them. Complete once [`Supervised::exited`]
    /// has answered.
    pub fn stderr_tail(&self) -> String {
        self.shared.stderr.text()
    }

    /// Waits until the child is reaped and its group has no process left that could be killed.
    ///
    /// Has no deadline, as a child may run for ever. Holds no handle: the future does not keep the child alive.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + use<> {
        let mut end = self.shared.end.clone();
        async move { wait_for_end(&mut end).await.exit }
    }

    /// Stops the child, and returns when it is reaped and its group is empty.
    ///
    /// May be called at any time, several times, and concurrently: of several plans, the sooner of each deadline counts. A child that is
    /// already gone is a success. Dropping the future does not withdraw the request.
    pub async fn stop(&self, plan: StopPlan) -> Result<Exit, StopError> {
        let kill = self.shared.request_stop(plan);
        let mut end = self.shared.end.clone();
        match timeout_at(kill + plan.kill_grace, wait_for_end(&mut end)).await {
            Ok(End { exit, survivors }) if survivors.is_empty() => Ok(exit),
            Ok(End { survivors, .. }) => Err(self.survived(survivors)),
            // This sends no signal, so it does no harm if the group's number belongs to another group by now.
            Err(_) => Err(self.survived(process::group_members(self.shared.pid))),
        }
    }

    /// Stops the child by a plan as soon as `request` resolves. Holds no handle: it does not keep the child alive.
    pub fn stop_on(&self, request: impl Future<Output = ()> + Send + 'static, plan: StopPlan) {
        let (shared, exited) = (Arc::downgrade(&self.shared), self.exited());
        tokio::spawn(async move {
            tokio::select! {
                _ = exited => {}
                () = request => if let Some(shared) = shared.upgrade() {
                    shared.request_stop(plan);
                }
            }
        });
    }

    /// Stops the child by [`StopPlan::KILL`].
    pub async fn kill(&self) -> Result<Exit, StopError> {
        self.stop(StopPlan::KILL).await
    }

    fn survived(&self, survivors: Vec<u32>) -> StopError {
        StopError::Survived {
            program: self.shared.program.clone(),
            pid: self.shared.pid,
            survivors,
        }
    }
}

impl ChildShared {
    /// Makes the watcher stop the child by a plan. Returns the time of SIGKILL.
    fn request_stop(&self, plan: StopPlan) -> Instant {
        let terminate = Instant::now() + plan.polite;
        let kill = terminate + plan.term_grace;
        let deadlines = SignalDeadlines { terminate: Some(terminate), kill: Some(kill) };
        self.deadlines.send_modify(|earlier| *earlier = earlier.sooner(deadlines));
        kill
    }
}

impl fmt::Debug for Supervised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChildShared { program, pid, .. } = &*self.shared;
        formatter
            .debug_struct("Supervised")
            .field("program", program)
            .field("pid", pid)
            .finish_non_exhaustive()
    }
}

async fn wait_for_end(end: &mut watch::Receiver<Option<End>>) -> End {
    let known = end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
    // A watcher that published no end was dropped with its runtime, which killed the group.
    known.unwrap_or(End { exit: Exit::UNKNOWN, survivors: Vec::new() })
}

/// A stop that failed.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A process survived SIGKILL: it hangs in the kernel, or became another user's.
    #[error(
        "`{}` (pid {pid}) could not be stopped: {}", program.shown(), describe(survivors)
    )]
    Survived {
        /// The program of the child.
        program: PathBuf,
        /// The child, which led the group.
        pid: u32,
        /// The live processes of the group; empty if the child was dead but could not be reaped in time.
        survivors: Vec<u32>,
    },
}

fn describe(survivors: &[u32]) -> String {
    if survivors.is_empty() {
        return "it did not exit in time".to_owned();
    }
    let pids: Vec<String> = survivors.iter().map(ToString::to_string).collect();
    let pids = pids.join(",");
    format!(
        "some of its processes are still running; see what they wait for with `ps -o \
            pid,user,stat,wchan,args -p {pids}`"
    )
}

/// The exit of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal's number, if one killed it.
    pub signal: Option<i32>,
}

impl Exit {
    /// The runtime ended before the child, or other code reaped it.
    pub(super) const UNKNOWN: Self = Self { code: None, signal: None };
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

impl Exit {
    /// Says how a process ended, after its name.
    pub fn in_sentence(&self) -> String {
        match self.signal {
            Some(_) if self.code.is_none() => format!("was {self}"),
            _ => format!("ended with {self}"),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(formatter, "exit code {code}"),
            (None, Some(number)) => match Signal::try_from(number) {
                Ok(signal) => write!(formatter, "killed by {signal}"),
                Err(_) => write!(formatter, "killed by signal {number}"),
            },
            (None, None) => formatter.write_str("unknown exit status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_exit_is_described_in_plain_words() {
        let exit = |code, signal| Exit { code, signal }.to_string();
        assert_eq!(exit(Some(7), None), "exit code 7");
        assert_eq!(exit(None, Some(15)), "killed by SIGTERM");
        assert_eq!(exit(None, Some(40)), "killed by signal 40");
        assert_eq!(Exit::UNKNOWN.to_string(), "unknown exit status");
        let sentence = |code, signal| Exit { code, signal }.in_sentence();
        assert_eq!(sentence(Some(7), None), "ended with exit code 7");
        assert_eq!(sentence(None, Some(9)), "was killed by SIGKILL");
        assert_eq!(sentence(None, None), "ended with unknown exit status");
    }

    /// The test is the watcher, and sends no signal: no real child survives SIGKILL.
    #[tokio::test]
    async fn a_stop_fails_at_its_deadline_and_names_the_survivors() {
        let (deadlines, deadlines_receiver) = watch::channel(SignalDeadlines::default());
        let (end, ends) = watch::channel(None);
        let child = Supervised::new(ChildShared {
            program: "/bin/codex".into(),
            pid: std::process::id(),
            start_time: None,
            shim: None,
            stderr: Arc::default(),
            deadlines,
            end: ends,
        });
        let at_once = StopPlan {
            polite: Duration::ZERO,
            term_grace: Duration::ZERO,
            kill_grace: Duration::ZERO,
        };
        let StopError::Survived { pid, .. } = child.stop(at_once).await.unwrap_err();
        assert_eq!(pid, child.pid());
        assert!(deadlines_receiver.borrow().kill.is_some(), "the request stays in force");

        let exit = Exit { code: None, signal: Some(9) };
        end.send_replace(Some(End { exit, survivors: vec![4711] }));
        assert_eq!(child.exited().await, exit);
        let StopError::Survived { survivors, .. } = child.stop(at_once).await.unwrap_err();
        assert_eq!(survivors, [4711]);
    }

    #[test]
    fn a_failed_stop_names_the_survivors() {
        let error = |survivors| {
            StopError::Survived { program: "/bin/codex".into(), pid: 7, survivors }.to_string()
        };
        assert_eq!(
            error(vec![7, 9]),
            "`/bin/codex` (pid 7) could not be stopped: some of its processes are still running; \
             see what they wait for with `ps -o pid,user,stat,wchan,args -p 7,9`"
        );
        assert!(error(vec![]).ends_with("it did not exit in time"));
    }
}
