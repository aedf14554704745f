//! Reads files that other programs may have replaced: a named pipe, a device or a file of the kernel in the place of a file is neither
//! waited for nor read without end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

/// Opens a regular file to be read. Files of the kernel (`/proc/kmsg`) call themselves regular: a read of one says that there is nothing
/// now, and does not wait.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        let problem = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(file)
}

/// Reads a regular file that has at most so many bytes; one that has more is an error of the kind [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte above the limit tells that there is more; what the metadata says need not be so.
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn what_is_no_file_or_does_not_end_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        for odd in [pipe.as_path(), "/dev/zero".as_ref(), place.path()] {
            let kind = read(odd, 5).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::InvalidInput, "{}", odd.display());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_the_kernel_that_says_it_is_empty_is_read_no_further() {
        let endless = Path::new("/proc/self/smaps");
        assert_eq!(read(endless, 4096).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
