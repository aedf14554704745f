//! The shim: the process between a bridge and an agent. It outlives the bridge by as much as it takes to end the agent and everything
//! that the agent started.
//!
//! One thread and no runtime. It leads a session of its own, orphans of its descendants fall to it, and it holds the agent's
//! presence. The protocol does not pass through it: it hands the agent its pipes and closes its own ends. It gets them with the
//! first message of its control socket (its stdin), reports on its stdout, and shares its stderr with the agent.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::control_socket::{Order, ShimReport};
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

/// The hidden word on the command line that makes this binary a shim. What follows it is how many files the agent may have open,
/// 0 for as many as the shim, and then its program and arguments.
pub const SHIM: &str = "__shim";

/// How often to look for members of the agent's group that are no children of the shim: no signal announces their death.
const GROUP_LOOK: Duration = Duration::from_millis(20);

/// How many of the dead are reaped before anything else is looked at: a process that forks on and on must not delay the bridge's orders.
/// That takes some 10 ms. Far fewer would be too few: each of the dead makes the next look at all processes longer.
const REAPED_AT_ONCE: usize = 4096;

/// Up to so many live children, all that descends from them is looked for, too. Of more, a look that takes as long finds hardly any
/// that are still there, if they fork on and on.
const FEW: usize = 32;

/// The pauses between looks at killed processes: most are gone after the first.
const LOOKS: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50));

/// Exit codes of shells: a program that cannot be run, and a death by a signal, whose number is added.
const CANNOT_RUN: u8 = 126;
const SIGNALLED: i32 = 128;

/// Runs an agent, and returns how it ended when no process of it is left.
pub fn run(agent: impl IntoIterator<Item = OsString>) -> ExitCode {
    // The bridge, which an error would concern, is gone or sees that nothing was reported.
    match Shim::start(agent) {
        Ok(Some(shim)) => shim.run().unwrap_or(ExitCode::from(CANNOT_RUN)),
        Ok(None) | Err(_) => ExitCode::from(CANNOT_RUN),
    }
}

/// How far the end of the agent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// SIGTERM was sent. Without a time, the bridge says when the grace period is over.
    Terminating(Option<Instant>),
    Killing {
        since: Instant,
        looks: Backoff,
        /// The time until the next look.
        pause: Duration,
    },
}

/// The children after a pass of reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Children {
    /// There are none: no process descends from this one any more.
    None,
    Live,
    /// More may be dead.
    More,
}

struct Shim {
    /// The control socket; `None` when the bridge has closed it.
    control: Option<UnixStream>,
    reports: File,
    signals: SignalWaiter,
    agent: u32,
    exit: Option<Exit>,
    stage: Stage,
    /// The agent's control group, where there can be one.
    cgroup: Option<Cgroup>,
    hunt: Hunt,
    /// The agent's presence lock, which is free when this process has ended too.
    _presence: Option<OwnedFd>,
}

impl Shim {
    /// Starts the agent. `None` when the system does not, which is reported.
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
        // The agent is born in it, this process must not stay.
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
            // After the start, as the agent would inherit what this blocks.
            signals: SignalWaiter::open()?,
            agent,
            exit: None,
            stage: Stage::Running,
            cgroup,
            hunt: Hunt::default(),
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
            let line = self.control.as_ref().map(AsFd::as_fd);
            let pause =
                if children == Children::More { Some(Duration::ZERO) } else { self.pause() };
            let heard = self.signals.wait(line, pause)?;
            if heard.line {
                self.read_order();
            }
            if heard.asked_to_end {
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
                        // Nobody is found there who is not in the group, and this is the last moment at which the group's
                        // number is almost certainly still its own.
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
        let read = self.control.as_mut().map_or(Ok(0), |line| line.read(&mut order));
        match read {
            Ok(1..) => match Order::of(order[0]) {
                Some(Order::Terminate) => self.terminate(None),
                Some(Order::Kill) => self.kill(),
                None => {}
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The bridge is dead, or as good as dead.
            Ok(0) | Err(_) => {
                self.control = None;
                self.terminate(Some(grace_periods::SHIM_TERM));
            }
        }
    }

    /// Asks the agent's group to end. A further call only ever shortens the grace period.
    fn terminate(&mut self, grace: Option<Duration>) {
        let until = grace.map(|grace| Instant::now() + grace);
        match self.stage {
            Stage::Running => {
                self.stage = Stage::Terminating(until);
                self.signal_group(Signal::SIGTERM);
                // A stopped process acts on SIGTERM only when it goes on.
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
        // At once, and so faster than a group that forks.
        self.signal_group(Signal::SIGKILL);
        if let Some(cgroup) = &self.cgroup {
            // In addition: the loop alone would do.
            let _ = cgroup.kill();
        }
        // A process that loses its parent by this falls to this process, and the next pass meets it.
        if self.hunt.pass(&[], |_| true).killed.len() > FEW {
            return;
        }
        for relative in living() {
            // It may have become another user's (a setuid program). The bridge is told of survivors.
            let _ = descendants::kill(relative);
        }
    }

    /// The number is the group's only as long as its leader is not reaped.
    fn signal_group(&self, signal: Signal) {
        if self.exit.is_none() {
            // As above.
            let _ = process::signal_group(self.agent, signal);
        }
    }

    fn group_lives(&self) -> bool {
        living().any(|relative| relative.group == self.agent)
    }

    fn report(&mut self, report: &ShimReport) {
        // A bridge that is gone reads no reports; the control socket tells of its end.
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
        // With more than it is used to it runs as well, unless it uses `select` on very many.
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
