//! The shim: the process between a bridge and an agent. It outlives the bridge for as long as it takes to end the agent and all its
//! descendants.
//!
//! It has one thread and no runtime, leads a session of its own, adopts the orphans of its descendants, and holds the agent's presence.
//! ACP does not pass through it: it gets the agent's pipes with the first message of its control socket (its stdin), passes them to the
//! agent and closes its own copies. It reports on its stdout, and shares its stderr with the agent.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::control_socket::{Order, ShimReport};
use super::held_processes::Held;
use crate::domain::{env_vars, grace_periods};
use crate::supervisor::child::Exit;
use crate::sys::backoff::Backoff;
use crate::sys::blocking_wait::SignalWaiter;
use crate::sys::fd_passing;
use crate::sys::open_file_limit;
use crate::sys::process::cgroup::Cgroup;
use crate::sys::process::descendants::{self, Reaped};
use crate::sys::process::kill_children::Hunt;
use crate::sys::process::{self, Signal};

/// The hidden command that makes this binary a shim. Its arguments are the agent's limit of open files (0 for the shim's own), and
/// then the agent's program and arguments.
pub const SHIM: &str = "__shim";

/// The pause between checks for members of the agent's group that are not the shim's children: no signal announces their death.
const GROUP_LOOK: Duration = Duration::from_millis(20);

/// The most dead children to reap in one go, which takes some 10 ms: a process that keeps forking must not delay the bridge's orders.
/// Far fewer would be too few: each unreaped child slows down the next listing of all processes.
const REAPED_AT_ONCE: usize = 4096;

/// Up to this many live children, their descendants are searched for, too. With more children that keep forking, a search would take
/// so long that hardly any of its results would still exist.
const FEW: usize = 32;

/// The pauses between checks of killed processes: most are gone after the first.
const LOOKS: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50));

/// Exit codes as in shells: a program that cannot be run, and the base for a death by a signal.
const CANNOT_RUN: u8 = 126;
const SIGNALLED: i32 = 128;

/// Runs an agent, and returns its exit code when none of its processes is left.
pub fn run(agent: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Shim::start(agent) {
        Ok(Some(shim)) => shim.run().unwrap_or(ExitCode::from(CANNOT_RUN)),
        // The bridge knows the error from the report.
        Ok(None) => ExitCode::from(CANNOT_RUN),
        Err(error) => {
            // The bridge reads the shim's stderr. If it is gone, the text is lost with it.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(CANNOT_RUN)
        }
    }
}

/// The stage of the agent's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// SIGTERM was sent. Without a time, the bridge ends the grace period.
    Terminating(Option<Instant>),
    Killing {
        since: Instant,
        looks: Backoff,
        /// The time until the next check.
        pause: Duration,
    },
}

/// The children after a pass of reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Children {
    /// There are none: this process has no descendants any more.
    None,
    Live,
    /// There may be more dead ones.
    More,
}

struct Shim {
    /// The control socket; `None` after the bridge has closed it.
    control: Option<UnixStream>,
    reports: File,
    signals: SignalWaiter,
    agent: u32,
    exit: Option<Exit>,
    stage: Stage,
    /// The agent's control group, if the system allows one.
    cgroup: Option<Cgroup>,
    hunt: Hunt,
    held: Held,
    /// The agent's presence lock, which is free only after the end of this process too.
    _presence: Option<OwnedFd>,
}

impl Shim {
    /// Starts the agent. `None` if the system refuses, which is reported.
    fn start(agent: impl IntoIterator<Item = OsString>) -> io::Result<Option<Self>> {
        let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut reports = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let mut files = fd_passing::receive(&control)?.into_iter();
        let (Some(stdin), Some(stdout)) = (files.next(), files.next()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let presence = files.next();
        descendants::lead_session()?;
        if let Err(error) = descendants::adopt_orphans()
            && error.kind() != io::ErrorKind::Unsupported
        {
            return Err(error);
        }
        // The agent starts inside the group. This process leaves it again.
        let mark = std::env::var(env_vars::RUN).unwrap_or_default();
        let cgroup = Cgroup::enter_new(&mark);
        let started = start(agent, stdin, stdout);
        let cgroup = cgroup.and_then(Cgroup::leave);
        let agent = match started {
            Ok(agent) => agent,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or_default();
                reports.write_all(ShimReport::Refused { errno }.line().as_bytes())?;
                return Ok(None);
            }
        };
        let mut shim = Self {
            control: Some(control),
            reports,
            // After the start: the agent would inherit the blocked signals.
            signals: SignalWaiter::open()?,
            agent,
            exit: None,
            stage: Stage::Running,
            cgroup,
            hunt: Hunt::default(),
            held: Held::default(),
            _presence: presence,
        };
        shim.report(&ShimReport::Started { pid: agent });
        Ok(Some(shim))
    }

    fn run(mut self) -> io::Result<ExitCode> {
        let survivors = loop {
            let children = self.reap()?;
            if children == Children::None {
                break Vec::new();
            }
            self.advance();
            if let Some(survivors) = self.survivors_of_kill() {
                break survivors;
            }
            let control = self.control.as_ref().map(AsFd::as_fd);
            let pause =
                if children == Children::More { Some(Duration::ZERO) } else { self.pause() };
            let wakeup = self.signals.wait(control, pause)?;
            if wakeup.line {
                self.read_order();
            }
            if wakeup.asked_to_end {
                self.terminate(Some(grace_periods::SHIM_TERM));
            }
        };
        let exit = self.exit.unwrap_or(Exit::UNKNOWN);
        self.report(&ShimReport::Ended { exit, survivors });
        Ok(exit_code(exit))
    }

    /// Reaps dead children, at most [`REAPED_AT_ONCE`].
    fn reap(&mut self) -> io::Result<Children> {
        for _ in 0..REAPED_AT_ONCE {
            match descendants::reap_any()? {
                Reaped::One { pid, code, signal } if pid == self.agent => {
                    if cfg!(not(target_os = "linux")) {
                        // Here only members of the group can be found, and this is the last moment at which the group's number is
                        // almost certainly still its own.
                        self.signal_group(Signal::SIGKILL);
                    }
                    self.exit = Some(Exit { code, signal });
                }
                Reaped::One { .. } => {}
                Reaped::AllLive => return Ok(Children::Live),
                Reaped::Childless => return Ok(Children::None),
            }
        }
        Ok(Children::More)
    }

    /// Enters the next stage if it is time, and kills in the last one.
    fn advance(&mut self) {
        let is_over = match self.stage {
            Stage::Running => self.exit.is_some(),
            Stage::Terminating(until) => {
                until.is_some_and(|until| until <= Instant::now())
                    || (self.exit.is_some() && !self.group_lives())
            }
            Stage::Killing { .. } => false,
        };
        if is_over {
            self.kill();
        }
        if let Stage::Killing { looks, pause, .. } = &mut self.stage {
            *pause = looks.next_pause();
            self.kill_all();
        }
    }

    /// Returns the processes that have survived SIGKILL for too long.
    fn survivors_of_kill(&mut self) -> Option<Vec<u32>> {
        let Stage::Killing { since, .. } = self.stage else {
            return None;
        };
        if since.elapsed() < grace_periods::SHIM_KILL {
            return None;
        }
        let survivors: Vec<u32> = living().map(|relative| relative.pid).collect();
        self.report(&ShimReport::Left { number: survivors.len() });
        Some(survivors)
    }

    fn pause(&self) -> Option<Duration> {
        match self.stage {
            Stage::Running => None,
            Stage::Terminating(_) if self.exit.is_some() => Some(GROUP_LOOK),
            Stage::Terminating(until) => {
                until.map(|until| until.saturating_duration_since(Instant::now()))
            }
            Stage::Killing { pause, .. } => Some(pause),
        }
    }

    fn read_order(&mut self) {
        let mut order = [0];
        let read = self.control.as_mut().map_or(Ok(0), |control| control.read(&mut order));
        match read {
            Ok(1..) => match Order::of(order[0]) {
                Some(Order::Terminate) => self.terminate(None),
                Some(Order::Kill) => self.kill(),
                Some(Order::Hold) if self.stage == Stage::Running => self.held.hold(),
                Some(Order::GoOn) => self.held.go_on(),
                Some(Order::Hold) | None => {}
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The bridge is dead, or can no longer be reached.
            Ok(0) | Err(_) => {
                self.control = None;
                self.terminate(Some(grace_periods::SHIM_TERM));
            }
        }
    }

    /// Sends SIGTERM to the agent's group. A further call only ever shortens the grace period. An agent that is held has none: it must not
    /// work on.
    fn terminate(&mut self, grace: Option<Duration>) {
        if self.held.is_holding() {
            return self.kill();
        }
        let until = grace.map(|grace| Instant::now() + grace);
        match self.stage {
            Stage::Running => {
                self.stage = Stage::Terminating(until);
                self.signal_group(Signal::SIGTERM);
                // A stopped process acts on SIGTERM only after SIGCONT.
                self.signal_group(Signal::SIGCONT);
            }
            Stage::Terminating(before) => {
                self.stage = Stage::Terminating(before.into_iter().chain(until).min());
            }
            Stage::Killing { .. } => {}
        }
    }

    fn kill(&mut self) {
        if !matches!(self.stage, Stage::Killing { .. }) {
            self.stage =
                Stage::Killing { since: Instant::now(), looks: LOOKS, pause: Duration::ZERO };
        }
    }

    fn kill_all(&mut self) {
        // One signal for the whole group is faster than its forks.
        self.signal_group(Signal::SIGKILL);
        if let Some(cgroup) = &self.cgroup {
            // A failure does not matter: the rest of this function alone suffices.
            let _ = cgroup.kill();
        }
        // A process that loses its parent here is adopted by this one, and found by the next pass.
        if self.hunt.pass(&[], |_| true).killed.len() > FEW {
            return;
        }
        for relative in living() {
            // The process may have become another user's (a setuid program). The last report names survivors.
            let _ = descendants::kill(relative);
        }
    }

    /// Signals the agent's group, whose number is certain only until its leader is reaped.
    fn signal_group(&self, signal: Signal) {
        if self.exit.is_none() {
            // As in `kill_all`.
            let _ = process::signal_group(self.agent, signal);
        }
    }

    fn group_lives(&self) -> bool {
        living().any(|relative| relative.group == self.agent)
    }

    fn report(&mut self, report: &ShimReport) {
        // A dead bridge reads no reports, and the control socket shows its end.
        let _ = self.reports.write_all(report.line().as_bytes());
    }
}

fn start(
    agent: impl IntoIterator<Item = OsString>,
    stdin: OwnedFd,
    stdout: OwnedFd,
) -> io::Result<u32> {
    let mut words = agent.into_iter();
    let files = words.next().and_then(|files| files.to_str()?.parse().ok());
    if let Some(files @ 1..) = files {
        // After a failure the agent has a higher limit than usual, which harms only a program that uses `select` on very many files.
        let _ = open_file_limit::lower(files);
    }
    let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    // Our ends of the agent's pipes are closed with the command.
    let child = Command::new(program)
        .args(words)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .process_group(0)
        .spawn()?;
    Ok(child.id())
}

fn living() -> impl Iterator<Item = descendants::Relative> {
    let all = descendants::descendants(&[std::process::id()]);
    all.into_iter().filter(|relative| relative.lives)
}

fn exit_code(exit: Exit) -> ExitCode {
    let number = match exit {
        Exit { code: Some(code), .. } => code,
        Exit { signal: Some(signal), .. } => SIGNALLED + signal,
        Exit::UNKNOWN => return ExitCode::FAILURE,
    };
    u8::try_from(number).map_or(ExitCode::FAILURE, ExitCode::from)
}
