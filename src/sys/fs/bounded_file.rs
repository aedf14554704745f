//! Reads files that other programs may have replaced: a named pipe, a device or a kernel file in place of a file causes neither an
//! endless wait nor an endless read. And searches a file of any length a part at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

use super::disk::{DiskFile, NO_LINK};

/// Opens a regular file for reading. Kernel files (`/proc/kmsg`) claim to be regular: reading one never waits for more data.
pub fn open(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?)
}

fn regular(file: File) -> io::Result<File> {
    if !file.metadata()?.is_file() {
        let problem = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(file)
}

/// Opens a regular file for reading that has this name itself: a symbolic link in its place is an error.
pub fn open_no_link(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true).custom_flags(NO_LINK).open(path)?)
}

/// Reads a regular file of at max `max` bytes. A longer one is an error of the kind [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte over the limit shows that there is more. The length in the metadata may be wrong.
    open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Reads the last bytes of a regular file that is no link, at most `max`. Says whether there are others before them.
pub fn read_end(path: &Path, max: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = open_no_link(path)?;
    let begin = file.metadata()?.len().saturating_sub(max);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(max).read_to_end(&mut bytes)?;
    Ok((bytes, begin > 0))
}

/// Says whether a file contains these bytes, of which it reads `at_once` at a time or a little more.
pub fn contains(file: &dyn DiskFile, wanted: &[u8], at_once: usize) -> io::Result<bool> {
    // The end of a part is searched again with the next one: the bytes may stand across both.
    let kept = wanted.len().saturating_sub(1);
    let mut buffer = vec![0; at_once.max(2 * wanted.len())];
    let mut offset = 0;
    loop {
        let read = file.read_at(&mut buffer, offset)?;
        if memchr::memmem::find(&buffer[..read], wanted).is_some() {
            return Ok(true);
        }
        if read < buffer.len() {
            return Ok(false);
        }
        offset += (read - kept) as u64;
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn endless_files_and_other_than_regular_ones_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_end(&file, 5).unwrap(), (b"12345".to_vec(), false));
        assert_eq!(read_end(&file, 2).unwrap(), (b"45".to_vec(), true));
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open(&link).is_ok() && open_no_link(&file).is_ok());
        assert!(open_no_link(&link).is_err() && read_end(&link, 5).is_err());
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        for odd in [pipe.as_path(), "/dev/zero".as_ref(), place.path()] {
            let kind = read(odd, 5).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::InvalidInput, "{}", odd.display());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_kernel_file_that_claims_to_be_empty_is_read_up_to_the_limit() {
        let endless = Path::new("/proc/self/smaps");
        assert_eq!(read(endless, 4096).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
