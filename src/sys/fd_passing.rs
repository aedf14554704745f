//! Sends open files to another process over a socket, so that no file is ever inheritable: a file meant for one child could also get
//! into another child that another thread starts at the same moment.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The most files in one message. The system allows 253.
const MOST: usize = 4;

/// A message with files has to contain at least one byte.
const CARRIER: [u8; 1] = [b'f'];

/// Sends open files. The receiver gets the same open files, with their locks and positions.
pub fn send(socket: &UnixStream, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(socket, &[IoSlice::new(&CARRIER)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives the files of one [`send`]. Blocks until they arrive. No child of this process inherits them.
pub fn receive(socket: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut carrier = [0];
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut carrier)], &mut control, flags)?;
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
    fn the_receiver_gets_the_same_file_and_no_child_inherits_it() {
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
    fn a_closed_socket_brings_no_files() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(one);
        assert_eq!(receive(&other).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
