//! The user's terminal: whether this process is in its foreground, its size and modes, and what was typed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

/// The modes of a terminal, to be restored.
#[derive(Clone, Debug)]
pub struct Modes(Termios);

/// Makes a terminal pass on every key at once, without echo and signals. Returns the modes that it had.
pub fn make_raw(terminal: impl AsFd) -> io::Result<Modes> {
    let before = tcgetattr(&terminal)?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &raw)?;
    Ok(Modes(before))
}

/// Gives a terminal its modes back.
pub fn restore(terminal: impl AsFd, modes: &Modes) -> io::Result<()> {
    Ok(tcsetattr(terminal, OptionalActions::Now, &modes.0)?)
}

/// Returns the rows and the columns of a terminal, if it reports them.
pub fn size(terminal: impl AsFd) -> Option<(u16, u16)> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// What a wait for input has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// There is something to read, or the end.
    Ready,
    /// Nothing has come in time.
    Quiet,
    /// The terminal is gone.
    Closed,
}

/// Waits until something was typed, without end if no time is given. Blocks this thread.
pub fn wait_for_input(terminal: impl AsFd, most: Option<Duration>) -> Waited {
    let most = most
        .map_or(PollTimeout::NONE, |most| PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX));
    loop {
        let mut polled = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, most) {
            Ok(0) => return Waited::Quiet,
            // A signal starts the time again, which is short.
            Err(Errno::EINTR) => {}
            Err(_) => return Waited::Closed,
            Ok(_) => {
                let events = polled[0].revents().unwrap_or(PollFlags::empty());
                let is_ready = events.contains(PollFlags::POLLIN);
                return if is_ready { Waited::Ready } else { Waited::Closed };
            }
        }
    }
}

/// Says whether the process may read from the terminal and paint on it, which it may not in the shell's background.
///
/// A terminal that does not control the process has no foreground, so the answer is yes.
pub fn is_foreground(terminal: impl AsFd) -> bool {
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

/// Says whether this process has a controlling terminal: a user's, or one that a program created.
pub fn is_there() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Writes to the controlling terminal without waiting: a suspended one takes nothing.
pub fn write_at_once(bytes: &[u8]) -> io::Result<()> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let terminal = OpenOptions::new().write(true).custom_flags(flags.bits()).open("/dev/tty");
    let without = |error| io::Error::other(format!("this process has no terminal ({error})"));
    terminal.map_err(without)?.write_all(bytes)
}

/// Says whether a line or the end of the input can be read without waiting.
pub fn has_line(terminal: impl AsFd) -> bool {
    let mut polled = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
    // A failed check proves nothing, and a closed terminal has no lines.
    poll(&mut polled, PollTimeout::ZERO).is_ok()
        && polled[0].revents().is_some_and(|events| events == PollFlags::POLLIN)
}

/// Drops unread input. Only for a process in the terminal's foreground.
pub fn drop_typed(terminal: impl AsFd) {
    if let Err(error) = tcflush(terminal, QueueSelector::IFlush) {
        tracing::debug!("failed to discard what was typed ahead: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use nix::pty::openpty;

    use super::*;

    #[test]
    fn a_line_can_be_read_once_it_is_whole_and_until_it_is_dropped() {
        let terminal = openpty(None, None).unwrap();
        let mut keys = File::from(terminal.master);
        keys.write_all(b"y").unwrap();
        assert!(!has_line(&terminal.slave));
        keys.write_all(b"es\n").unwrap();
        assert!(has_line(&terminal.slave));
        drop_typed(&terminal.slave);
        assert!(!has_line(&terminal.slave));
        assert!(is_foreground(&terminal.slave), "it controls no process");
        drop(keys);
        assert!(!has_line(&terminal.slave), "it is closed");
    }

    #[test]
    fn a_raw_terminal_passes_on_every_key_until_its_modes_are_restored() {
        let terminal = openpty(None, None).unwrap();
        let mut keys = File::from(terminal.master);
        let before = make_raw(&terminal.slave).unwrap();
        let wait = |most| wait_for_input(&terminal.slave, Some(Duration::from_millis(most)));
        assert_eq!(wait(1), Waited::Quiet);
        keys.write_all(b"y").unwrap();
        assert_eq!(wait(10_000), Waited::Ready);
        restore(&terminal.slave, &before).unwrap();
        drop_typed(&terminal.slave);
        keys.write_all(b"y").unwrap();
        assert_eq!(wait(1), Waited::Quiet, "a line is whole with its end only");
        drop(keys);
        assert_ne!(wait(10_000), Waited::Quiet, "the end can be read");
    }
}
