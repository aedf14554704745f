//! A child behind a shim: starts it, and runs the one task that sends the shim its orders and reads its reports.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::control_socket::{Order, ShimReport};
use super::shim_process::SHIM;
use crate::domain::grace_periods;
use crate::domain::wait_times;
use crate::supervisor::child::{ChildShared, End, Exit, Supervised};
use crate::supervisor::child_signal_deadlines::{SignalDeadlines, SignalsSent};
use crate::supervisor::child_spec::{ChildSpec, Pipes, Shim};
use crate::supervisor::force_kill;
use crate::supervisor::hold_children;
use crate::supervisor::leftovers::adopted_orphans::{self, OwnChild};
use crate::supervisor::spawn_error::{ShimFailure, SpawnError, explain};
use crate::supervisor::stderr_tail::{Tail, drain, end_of};
use crate::sys::fd_passing;
use crate::sys::open_file_limit;
use crate::sys::process::{self, Signal, start_time};

/// Starts a child behind a shim.
pub(crate) async fn spawn(
    spec: ChildSpec,
    program: PathBuf,
    shim: &Shim,
) -> Result<(Supervised, Pipes), SpawnError> {
    let binary = shim.binary.clone();
    let failed = |cause| SpawnError::Shim { binary: binary.clone(), cause };
    let (control, pipes, theirs) =
        connect(shim).map_err(|error| failed(ShimFailure::System(error)))?;
    let mut command = Command::new(&shim.binary);
    command
        .arg(SHIM)
        .arg(open_file_limit::before().unwrap_or_default().to_string())
        .arg(&program)
        .args(&spec.args)
        .env_clear()
        .envs(spec.env)
        .current_dir(&spec.cwd)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = OwnChild::start(|| command.spawn());
    // Closes our copy of the shim's end.
    drop(command);
    let (own, mut child) = started.map_err(|source| {
        if spec.cwd.is_dir() {
            failed(ShimFailure::of_system(source))
        } else {
            explain(&program, &spec.cwd, source)
        }
    })?;
    let control = Arc::new(control);
    force_kill::include(own.pid(), &control);
    let reports = child.stdout.take().expect("stdout was asked to be piped");
    let stderr = child.stderr.take().expect("stderr was asked to be piped");
    let mut reports = BufReader::new(reports).lines();
    let tail = Arc::new(Tail::default());
    let stderr = tokio::spawn(drain(stderr, Arc::clone(&tail)));

    // After an error from here on, the dropped control socket ends the shim, and with it the agent.
    let pid = match timeout(wait_times::SHIM_START, next(&mut reports)).await {
        Ok(Some(ShimReport::Started { pid })) => pid,
        Ok(Some(ShimReport::Refused { errno })) => {
            // The shim exits by itself.
            reap(&mut child).await;
            let source = io::Error::from_raw_os_error(errno);
            return Err(explain(&program, &spec.cwd, source));
        }
        Ok(_) => {
            reap(&mut child).await;
            end_of(stderr).await;
            return Err(failed(ShimFailure::of_words(&tail.text())));
        }
        Err(_) => return Err(failed(ShimFailure::Late(wait_times::SHIM_START))),
    };

    hold_children::hold_newcomer();
    let (deadlines, deadlines_receiver) = watch::channel(SignalDeadlines::default());
    let (end, ends) = watch::channel(None);
    let shim = Some((own.pid(), process::start_time(own.pid())));
    let start_time = start_time(pid);
    let watcher = ShimWatcher {
        shim: child,
        own,
        control,
        reports,
        agent: pid,
        agent_started: start_time,
        deadlines: deadlines_receiver,
        end,
        stderr,
    };
    // Joined by the end that it publishes; it owns and ends the reader of stderr.
    tokio::spawn(watcher.run());
    let shared = ChildShared { program, pid, start_time, shim, stderr: tail, deadlines, end: ends };
    Ok((Supervised::new(shared), pipes))
}

/// Creates the control socket and the agent's pipes, and sends the agent's ends ahead to the shim. Returns our ends, and the shim's
/// end of the socket.
fn connect(shim: &Shim) -> io::Result<(UnixStream, Pipes, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let (agents_stdin, stdin) = io::pipe()?;
    let (stdout, agents_stdout) = io::pipe()?;
    let mut files = vec![agents_stdin.as_fd(), agents_stdout.as_fd()];
    files.extend(shim.presence.as_ref().map(AsFd::as_fd));
    fd_passing::send(&ours, &files)?;
    // An order is a byte. A shim that has not read 200 KB of them will not read another one.
    ours.set_nonblocking(true)?;
    let stdin = ChildStdin::from_std(OwnedFd::from(stdin).into())?;
    let stdout = ChildStdout::from_std(OwnedFd::from(stdout).into())?;
    Ok((ours, Pipes { stdin, stdout }, theirs))
}

/// Returns the next report; none after the end of the shim.
async fn next(reports: &mut Lines<BufReader<ChildStdout>>) -> Option<ShimReport> {
    while let Ok(Some(line)) = reports.next_line().await {
        let report = ShimReport::of(&line);
        if report.is_some() {
            return report;
        }
        tracing::warn!(line, "a shim sent an unknown message");
    }
    None
}

/// Waits for the shim's exit, and kills it at the deadline.
async fn reap(shim: &mut Child) {
    if timeout(grace_periods::SHIM_EXIT, shim.wait()).await.is_ok() {
        return;
    }
    if let Err(error) = shim.kill().await {
        tracing::warn!(%error, "cannot stop a shim");
    }
}

struct ShimWatcher {
    shim: Child,
    /// Dropped when the shim is reaped.
    own: OwnChild,
    control: Arc<UnixStream>,
    reports: Lines<BufReader<ChildStdout>>,
    agent: u32,
    agent_started: Option<u64>,
    deadlines: watch::Receiver<SignalDeadlines>,
    end: watch::Sender<Option<End>>,
    stderr: JoinHandle<()>,
}

impl ShimWatcher {
    /// Runs until the shim is reaped, and finally publishes the end.
    async fn run(mut self) {
        let reported = self.until_ended().await;
        let end = match reported {
            Some(end) => {
                reap(&mut self.shim).await;
                self.kill_survivors(end).await
            }
            None => self.end_without_shim().await,
        };
        // This process may adopt orphans of the agent now or later.
        adopted_orphans::keep_killing();
        drop(self.own);
        end_of(self.stderr).await;
        self.end.send_replace(Some(end));
    }

    /// Passes stop requests on until the shim reports the end. `None` if it dies or hangs before that.
    async fn until_ended(&mut self) -> Option<End> {
        let mut sent = SignalsSent::Nothing;
        let mut handles_left = true;
        let mut give_up = None;
        loop {
            let deadlines = *self.deadlines.borrow_and_update();
            let due = deadlines.due(sent, handles_left, Instant::now());
            if due > sent {
                self.order(due);
                sent = due;
            }
            if sent == SignalsSent::Kill {
                give_up.get_or_insert_with(|| Instant::now() + grace_periods::SHIM_ANSWER);
            }
            let wake_at = deadlines.next(sent).or(give_up);
            tokio::select! {
                report = next(&mut self.reports) => match report? {
                    ShimReport::Ended { exit, survivors } => return Some(End { exit, survivors }),
                    report => tracing::debug!(agent = self.agent, "{report:?}"),
                },
                changed = self.deadlines.changed(), if handles_left => handles_left = changed.is_ok(),
                () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => {
                    if give_up.is_some_and(|at| at <= Instant::now()) {
                        return None;
                    }
                }
            }
        }
    }

    fn order(&mut self, due: SignalsSent) {
        let order = match due {
            SignalsSent::Nothing => return,
            SignalsSent::Terminate => Order::Terminate,
            SignalsSent::Kill => Order::Kill,
        };
        if let Err(error) = (&*self.control).write_all(&[order.byte()]) {
            // The shim has ended, as its reports also show.
            tracing::debug!(shim = self.own.pid(), %error, "cannot reach a shim");
        }
        // A `kill -STOP` of all our processes may have stopped the shim. It leads a group of its own, and is not reaped.
        if let Err(error) = process::signal_group(self.own.pid(), Signal::SIGCONT) {
            tracing::warn!(shim = self.own.pid(), %error, "cannot signal a shim");
        }
    }

    /// Kills the processes that the shim could not kill, if this process adopts orphans.
    async fn kill_survivors(&self, end: End) -> End {
        if end.survivors.is_empty() {
            return end;
        }
        let survivors = adopted_orphans::kill_orphans().await.unwrap_or(end.survivors);
        End { survivors, ..end }
    }

    /// Ends an agent whose shim was killed, or hangs and is killed now. This process gets the agent's tree, if it adopts orphans.
    async fn end_without_shim(&mut self) -> End {
        tracing::warn!(agent = self.agent, "the shim of an agent is gone; killing the agent");
        if let Err(error) = self.shim.kill().await {
            tracing::warn!(shim = self.own.pid(), %error, "cannot stop a shim");
        }
        let survivors = match adopted_orphans::kill_orphans().await {
            Some(survivors) => survivors,
            None => self.kill_group(),
        };
        End { exit: Exit::UNKNOWN, survivors }
    }

    /// Kills the rest of the agent's group while the agent lives, and so certainly still leads it.
    fn kill_group(&self) -> Vec<u32> {
        if cfg!(not(target_os = "linux")) {
            // Here the pid may be another process by now, so no signal is sent, and the members found count as survivors.
            return process::group_members(self.agent);
        }
        if self.agent_started.is_none() || start_time(self.agent) != self.agent_started {
            return Vec::new();
        }
        match process::signal_group(self.agent, Signal::SIGKILL) {
            Ok(()) => Vec::new(),
            Err(error) => {
                tracing::warn!(agent = self.agent, %error, "cannot signal a process group");
                process::group_members(self.agent)
            }
        }
    }
}
