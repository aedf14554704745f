//! Waiting without a runtime, for a process with one thread: for data on a socket, for signals, and for a deadline, all at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
#[cfg(target_os = "linux")]
use nix::sys::signal::{SigSet, Signal};
#[cfg(target_os = "linux")]
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The pause between checks for signals where the system cannot wait for signals and files at once.
#[cfg(not(target_os = "linux"))]
const LOOK: Duration = Duration::from_millis(50);

/// The reason for the end of a wait. Without either, the time is up or a child has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wakeup {
    /// The socket has data, or was closed.
    pub line: bool,
    /// A signal asked this process to end.
    pub asked_to_end: bool,
}

/// Receives changes of children and the signals that ask for the end.
#[derive(Debug)]
pub struct SignalWaiter {
    #[cfg(target_os = "linux")]
    signals: SignalFd,
}

impl SignalWaiter {
    /// Begins to receive. The signals are blocked from now on, and later children inherit that, so start children before. Earlier signals
    /// are not received.
    #[cfg(target_os = "linux")]
    pub fn open() -> io::Result<Self> {
        let mut received = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            received.add(signal);
        }
        received.thread_block()?;
        let signals =
            SignalFd::with_flags(&received, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { signals })
    }

    /// Begins to receive.
    #[cfg(not(target_os = "linux"))]
    pub fn open() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for data on the socket, if there is one, for a signal, or for the end of the time limit, if there is one.
    pub fn wait(
        &self,
        line: Option<BorrowedFd<'_>>,
        limit: Option<Duration>,
    ) -> io::Result<Wakeup> {
        let mut files: Vec<PollFd<'_>> = Vec::new();
        files.extend(line.map(|line| PollFd::new(line, PollFlags::POLLIN)));
        #[cfg(target_os = "linux")]
        files.push(PollFd::new(std::os::fd::AsFd::as_fd(&self.signals), PollFlags::POLLIN));
        #[cfg(not(target_os = "linux"))]
        let limit = Some(limit.map_or(LOOK, |limit| limit.min(LOOK)));
        // Rounded up, because a wait of less than a millisecond would be none. The longest possible wait is 24 days.
        let rounded = |limit: Duration| PollTimeout::try_from(limit + Duration::from_millis(1));
        let timeout =
            limit.map_or(PollTimeout::NONE, |limit| rounded(limit).unwrap_or(PollTimeout::MAX));
        match poll(&mut files, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |file: &PollFd<'_>| file.any().unwrap_or_default();
        Ok(Wakeup {
            line: line.is_some() && files.first().is_some_and(is_ready),
            asked_to_end: self.take_signals()?,
        })
    }

    #[cfg(target_os = "linux")]
    fn take_signals(&self) -> io::Result<bool> {
        let child = u32::try_from(Signal::SIGCHLD as i32).expect("signals have positive numbers");
        let mut asked = false;
        while let Some(signal) = self.signals.read_signal()? {
            asked |= signal.ssi_signo != child;
        }
        Ok(asked)
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the same as where signals can be read"
    )]
    fn take_signals(&self) -> io::Result<bool> {
        Ok(false)
    }
}
