//! The unread bytes in a pipe, and whether its writers are gone, without reading it.

use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The reading end of a pipe or a socket.
#[derive(Debug, Default)]
pub struct Inflow {
    /// `None` if the state of the pipe is unknown.
    pipe: Option<OwnedFd>,
}

impl Inflow {
    /// Creates a view of a reading end.
    pub fn of(pipe: impl AsFd) -> Self {
        // Without a descriptor of its own, the state stays unknown.
        let pipe = pipe.as_fd().try_clone_to_owned().ok();
        Self { pipe }
    }

    /// Returns the number of unread bytes.
    pub fn unread(&self) -> u64 {
        let pipe = self.pipe.as_ref();
        pipe.and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok()).unwrap_or(0)
    }

    /// Says whether all writers are gone, even if unread bytes remain.
    pub fn is_closed(&self) -> bool {
        let Some(pipe) = &self.pipe else {
            return false;
        };
        // `poll` always reports that for a pipe. A failed check proves nothing.
        let mut polled = [PollFd::new(pipe.as_fd(), half_closed())];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|reported| reported > 0)
    }
}

/// Returns the event for a socket whose other side writes no more, but may still read.
#[cfg(target_os = "linux")]
fn half_closed() -> PollFlags {
    PollFlags::from_bits_retain(nix::libc::POLLRDHUP)
}

/// Other systems report no such event before the socket is closed.
#[cfg(not(target_os = "linux"))]
fn half_closed() -> PollFlags {
    PollFlags::empty()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    #[cfg(target_os = "linux")]
    use std::net::Shutdown;
    #[cfg(target_os = "linux")]
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn unread_bytes_and_the_end_are_known_without_reading() {
        let (mut read, mut written) = std::io::pipe().unwrap();
        let inflow = Inflow::of(&read);
        assert_eq!(inflow.unread(), 0);
        written.write_all(b"hello").unwrap();
        assert_eq!(inflow.unread(), 5);
        read.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(inflow.unread(), 3);
        assert!(!inflow.is_closed());
        drop(written);
        assert!(inflow.is_closed());
        assert_eq!(inflow.unread(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_is_closed_once_the_other_side_writes_no_more() {
        let (read, mut written) = UnixStream::pair().unwrap();
        let inflow = Inflow::of(&read);
        written.write_all(b"hello").unwrap();
        assert_eq!(inflow.unread(), 5);
        assert!(!inflow.is_closed());
        written.shutdown(Shutdown::Write).unwrap();
        assert!(inflow.is_closed());
    }

    #[test]
    fn an_unknown_pipe_counts_as_empty_and_open() {
        let inflow = Inflow::default();
        assert_eq!(inflow.unread(), 0);
        assert!(!inflow.is_closed());
    }
}
