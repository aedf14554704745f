//! Sends open files to another process over a socket.
//!
//! So no file is ever inheritable: a file that one child should inherit could also get into any other child that another thread starts
//! at the same moment.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The most files in one message; the system takes 253.
const MOST: usize = 4;

/// Files travel with at least one byte.
const CARRIER: [u8; 1] = [b'f'];

/// Sends open files; the receiver gets the same open files, with their locks and places.
pub fn send(line: &UnixStream, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(line, &[IoSlice::new(&CARRIER)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives what one [`send`] has sent. Blocks until it is there; no child of this process inherits it.
pub fn receive(line: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut carrier = [0];
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let received = recvmsg(line, &mut [IoSliceMut::new(&mut carrier)], &mut control, flags)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            files.extend(sent);
        }
    }
    if cfg!(not(target_os = "linux")) {
        for file in &files {
            rustix::io::fcntl_setfd(file.as_fd(), rustix::io::FdFlags::CLOEXEC)?;
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_file_is_the_same_on_the_other_side_and_no_child_inherits_it() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&one, &[writer.as_fd()]).unwrap();
        drop(writer);
        let mut files = receive(&other).unwrap();
        let file = files.pop().unwrap();
        assert!(files.is_empty());
        let flags = rustix::io::fcntl_getfd(&file).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        std::fs::File::from(file).write_all(b"hello").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn a_line_that_ends_brings_no_files() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(one);
        assert_eq!(receive(&other).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
