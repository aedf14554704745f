//! The user's terminal: whether this process is in its foreground, and whether a line was typed.

use std::fs::File;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};

/// Says whether the process may read from the terminal and paint on it: not while the shell has it in the background.
///
/// A terminal that does not control the process has no foreground, so the answer is yes.
pub fn is_foreground(terminal: impl AsFd) -> bool {
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

/// Says whether this process has a controlling terminal: a person's, or one that a program has made.
pub fn is_there() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Says whether a line can be read without waiting, or the end of the input.
pub fn has_line(terminal: impl AsFd) -> bool {
    let mut polled = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
    // A failed look says nothing, and a terminal that is gone has no lines.
    poll(&mut polled, PollTimeout::ZERO).is_ok()
        && polled[0].revents().is_some_and(|told| told == PollFlags::POLLIN)
}

/// Drops typed and unread input. Only for a process in the terminal's foreground.
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
    fn a_line_is_there_when_it_is_whole_and_not_when_it_was_dropped() {
        let terminal = openpty(None, None).unwrap();
        let mut keys = File::from(terminal.master);
        keys.write_all(b"y").unwrap();
        assert!(!has_line(&terminal.slave));
        keys.write_all(b"es\n").unwrap();
        assert!(has_line(&terminal.slave));
        drop_typed(&terminal.slave);
        assert!(!has_line(&terminal.slave));
        assert!(is_foreground(&terminal.slave), "it controls nobody");
        drop(keys);
        assert!(!has_line(&terminal.slave), "it is gone");
    }
}
