//! The terminal that somebody sits at: whether it is this process's turn there, and whether a line was typed.

use std::fs::File;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};

/// Says whether the process may read from the terminal and paint on it: not while the shell has it in the background.
///
/// Where the terminal is not the one that the process is controlled from, nobody takes turns.
pub fn is_foreground(terminal: impl AsFd) -> bool {
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

/// Says whether this process has a terminal that it is controlled from: one that a person sits at, or that a program has made.
pub fn is_there() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Says whether a line can be read without waiting, or the end of the input.
pub fn has_line(terminal: impl AsFd) -> bool {
    let mut polled = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
    // A look that failed says nothing, and a terminal that is gone has no lines.
    poll(&mut polled, PollTimeout::ZERO).is_ok()
        && polled[0].revents().is_some_and(|told| told == PollFlags::POLLIN)
}

/// Drops what was typed and not read. Only for who has the terminal's foreground.
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
