//! Detects that a pipe's reader is gone, for processes that may not write for hours.

use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Says whether a pipe or a socket still has a reader. For any other file the answer is yes.
pub fn is_there(written: impl AsFd) -> bool {
    // `poll` always reports a closed other end.
    let mut polled = [PollFd::new(written.as_fd(), PollFlags::empty())];
    match poll(&mut polled, PollTimeout::ZERO) {
        Ok(_) => !polled[0]
            .revents()
            .is_some_and(|events| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP)),
        // A failed check proves nothing.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_reader_is_there_until_it_closes_its_end() {
        let (read, written) = std::io::pipe().unwrap();
        assert!(is_there(&written));
        drop(read);
        assert!(!is_there(&written));

        let (read, written) = UnixStream::pair().unwrap();
        assert!(is_there(&written));
        drop(read);
        assert!(!is_there(&written));

        assert!(is_there(File::open("/dev/null").unwrap()));
    }
}
