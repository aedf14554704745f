//! The user's terminal: whether this process is in its foreground, and whether a line was typed.

use std::fs::File;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};

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
}
