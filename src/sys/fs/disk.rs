//! The operations on durable files for a log, as a trait, so that a test can cut the power between any two of them.
//!
//! None of them follows a symlink in the last part of a path, and each new file is private to its owner.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag};
use nix::sys::stat::{UtimensatFlags, futimens, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::geteuid;

use super::rights_of_others::WrongRights;

/// Files of a bus are private to their owner.
const FILE_MODE: u32 = 0o600;
/// Directories of a bus are private to their owner.
const DIRECTORY_MODE: u32 = 0o700;

/// A directory that all users may read, such as `.claude`, which other programs share.
const OWNER_WRITES: u32 = 0o755;
/// A user who may write into a directory may replace its files.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The identity of a file or directory, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The identity of a directory, and the time of its last change of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub identity: FileIdentity,
    /// The time in nanoseconds since 1970, as coarse as the system's clock tick.
    pub modified_ns: i128,
}

/// A disk: names in directories, and the files that they name.
pub trait Disk: Send + Sync {
    /// Creates a file that must not exist yet, and opens it.
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and appending.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Renames a file, and replaces the file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file to a free name. Callers need a lock: on a file system that cannot do this in one step, two callers at once could
    /// both succeed.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name.
    fn unlink(&self, path: &Path) -> io::Result<()>;

    /// Returns the names in a directory, in no order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Returns when exactly the current names would survive a power cut.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Returns the identity of the file at a path.
    fn identity(&self, path: &Path) -> io::Result<FileIdentity>;

    /// Returns the stamp of the directory at a path.
    fn stamp(&self, directory: &Path) -> io::Result<Stamp>;

    /// Reads a whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_at_most(path, u64::MAX)
    }

    /// Reads a whole file. One of more than `most` bytes is an error: another program has written it.
    fn read_at_most(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let length = file.length()?;
        if length > most {
            let what = format!("it has {length} bytes, more than the bridge writes there ({most})");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // One byte more than the length, to see the end without another read.
        let mut bytes = vec![0; length + 1];
        let mut filled = 0;
        loop {
            match file.read_at(&mut bytes[filled..], filled as u64)? {
                0 => break,
                read => filled += read,
            }
            if filled == bytes.len() {
                bytes.resize(filled * 2, 0);
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// An open file of a disk.
pub trait DiskFile: Send + Sync {
    /// Reads from an offset on. A short read means the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes once at the end of the file. Returns the number of written bytes.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to a length.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Returns when the content of the file would survive a power cut. A failed sync must not be repeated.
    fn sync(&self) -> io::Result<()>;

    /// Returns the length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Returns the identity of the file.
    fn identity(&self) -> io::Result<FileIdentity>;

    /// Writes all bytes at the end of the file.
    fn append_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.append(bytes)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written..],
            }
        }
        Ok(())
    }
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(create_private(path, Writes::AtTheEnd)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(open_as_allowed(path, Writes::AtTheEnd)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut outcome = Err(io::ErrorKind::Unsupported.into());
        for rename in [rename_in_one_step, rename_by_a_link, rename_after_a_check] {
            outcome = rename(from, to);
            if !outcome.as_ref().is_err_and(is_unsupported) {
                break;
            }
        }
        outcome
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            // A name that is not UTF-8 is not ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        Ok(FileIdentity::from(&fs::symlink_metadata(path)?))
    }

    fn stamp(&self, directory: &Path) -> io::Result<Stamp> {
        let metadata = fs::symlink_metadata(directory)?;
        Ok(Stamp { identity: FileIdentity::from(&metadata), modified_ns: modified_ns(&metadata) })
    }
}

impl DiskFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            // A regular file is read short only at its end, so one call is enough.
            match std::os::unix::fs::FileExt::read_at(self, buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match io::Write::write(&mut &*self, bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It could only be opened for reading.
                Err(error) if error.raw_os_error() == Some(Errno::EBADF as i32) => {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                outcome => return outcome,
            }
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(FileIdentity::from(&self.metadata()?))
    }
}

/// Renames by a flag of Linux, which nearly all its file systems support.
fn rename_in_one_step(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        Ok(rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags)?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Renames by a link, on file systems that have them. A crash between the two steps leaves both names, which does no harm.
fn rename_by_a_link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

/// Renames after a check, on file systems without either, such as exFAT on older systems and some shared folders.
fn rename_after_a_check(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// Says whether a file system does not support an operation. Some report "not permitted" for links.
fn is_unsupported(error: &io::Error) -> bool {
    let unsupported =
        [Errno::EINVAL, Errno::ENOSYS, Errno::EOPNOTSUPP, Errno::EPERM, Errno::EMLINK];
    let is_number = |known: &Errno| error.raw_os_error() == Some(*known as i32);
    error.kind() == io::ErrorKind::Unsupported || unsupported.iter().any(is_number)
}

/// The position of writes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Always at the end.
    AtTheEnd,
    /// At the position that the writer chooses.
    Anywhere,
}

/// The flags for opening a file without following a link in its place, and without waiting for the other end of a named pipe.
pub const NO_LINK: i32 = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).bits();

fn options(writes: Writes) -> OpenOptions {
    let mut options = OpenOptions::new();
    // Without O_NONBLOCK, opening a named pipe in place of a file would block for ever.
    options
        .read(true)
        .write(true)
        .append(writes == Writes::AtTheEnd)
        .mode(FILE_MODE)
        .custom_flags(NO_LINK);
    options
}

/// Creates a file that must not exist yet, private to its owner whatever the umask.
pub fn create_private(path: &Path, writes: Writes) -> io::Result<File> {
    let file = options(writes).create_new(true).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}

/// Opens a file for reading and writing, if it is a plain file of this user.
pub fn open_private(path: &Path, writes: Writes) -> io::Result<File> {
    open_checked(path, &options(writes))
}

/// Opens such a file for reading alone.
pub fn open_private_to_read(path: &Path) -> io::Result<File> {
    open_checked(path, OpenOptions::new().read(true).custom_flags(NO_LINK))
}

/// Opens such a file for reading and writing, or for reading alone if it may not be written to; then a write fails.
pub fn open_as_allowed(path: &Path, writes: Writes) -> io::Result<File> {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let opened = open_private(path, writes);
    match opened.as_ref().map_err(io::Error::kind) {
        Err(PermissionDenied | ReadOnlyFilesystem) => open_private_to_read(path),
        _ => opened,
    }
}

fn open_checked(path: &Path, options: &OpenOptions) -> io::Result<File> {
    const NO_FILE: &str = "it is not a plain file: remove it";
    let file = options.open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::ELOOP as i32) {
            untrusted("it is a symbolic link: remove it")
        } else if error.kind() == io::ErrorKind::IsADirectory {
            untrusted(NO_FILE)
        } else {
            error
        }
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(untrusted(NO_FILE));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Err(WrongRights::OtherOwner.into());
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(WrongRights::WritableByOthers.into());
    }
    Ok(file)
}

fn untrusted(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Opens a file of this user, or creates it.
pub fn open_or_create_private(path: &Path, writes: Writes) -> io::Result<File> {
    match open_private(path, writes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match create_private(path, writes)
        {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                open_private(path, writes)
            }
            outcome => outcome,
        },
        outcome => outcome,
    }
}

/// The outcome of [`private_directory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateDirectory {
    /// It exists and can be trusted.
    Found,
    Made,
    /// It cannot be trusted, for this reason.
    Untrusted(&'static str),
}

/// Creates a directory that is private to its owner whatever the umask, or checks whether an existing one can be trusted.
pub fn private_directory(path: &Path) -> io::Result<PrivateDirectory> {
    match fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        Ok(()) => {
            fs::set_permissions(path, fs::Permissions::from_mode(DIRECTORY_MODE))?;
            Ok(PrivateDirectory::Made)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => look_at_directory(path),
        Err(error) => Err(error),
    }
}

/// Checks whether an existing directory can be trusted.
pub fn look_at_directory(path: &Path) -> io::Result<PrivateDirectory> {
    let metadata = fs::symlink_metadata(path)?;
    let reason = if metadata.is_symlink() {
        "it is a symbolic link: put a real directory in its place"
    } else if !metadata.is_dir() {
        "it is not a directory: remove it"
    } else if metadata.uid() != geteuid().as_raw() {
        WrongRights::OtherOwner.says()
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        WrongRights::WritableByOthers.says()
    } else {
        return Ok(PrivateDirectory::Found);
    };
    Ok(PrivateDirectory::Untrusted(reason))
}

/// Says whether a plain file has further names (hard links), which may be anywhere on its disk.
pub fn has_other_names(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
}

/// Creates a directory to which only its owner may write, whatever the umask.
pub fn make_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(OWNER_WRITES).create(path)
}

/// Says whether a file, directory or link belongs to this user.
pub fn belongs_to_us(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.uid() == geteuid().as_raw())
}

/// Returns the id of a path's file system, which does not depend on its device; zero if it has none.
pub fn file_system(path: &Path) -> io::Result<u64> {
    Ok(rustix::fs::statvfs(path)?.f_fsid)
}

/// Sets the times of an open file to now.
pub fn touch(file: &File) -> io::Result<()> {
    Ok(futimens(file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW)?)
}

/// Sets the times of an existing file to now, without opening it.
pub fn touch_path(path: &Path) -> io::Result<()> {
    Ok(utimensat(
        AT_FDCWD,
        path,
        &TimeSpec::UTIME_NOW,
        &TimeSpec::UTIME_NOW,
        UtimensatFlags::NoFollowSymlink,
    )?)
}

/// Returns when a file was last touched, in nanoseconds since 1970.
pub fn touched_ns(path: &Path) -> io::Result<i128> {
    Ok(modified_ns(&fs::symlink_metadata(path)?))
}

/// Returns the length of a file and the time of its last write in nanoseconds since 1970; for a link, those of the link.
pub fn size_and_touched_ns(path: &Path) -> io::Result<(u64, i128)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.len(), modified_ns(&metadata)))
}

fn modified_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_of_renaming_replaces_an_existing_name() {
        type Rename<'a> = &'a dyn Fn(&Path, &Path) -> io::Result<()>;
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        let whole = |from: &Path, to: &Path| RealDisk.rename_new(from, to);
        let renames: [Rename<'_>; 4] =
            [&whole, &rename_in_one_step, &rename_by_a_link, &rename_after_a_check];
        for (number, rename) in renames.into_iter().enumerate() {
            fs::write(&from, "new").unwrap();
            match rename(&from, &to) {
                // This file system may not support it.
                Err(error) if is_unsupported(&error) && number > 0 => continue,
                outcome => outcome.unwrap(),
            }
            assert_eq!(fs::read_to_string(&to).unwrap(), "new");
            assert!(!from.exists());
            fs::write(&from, "newer").unwrap();
            let taken = rename(&from, &to).unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&to).unwrap(), "new");
            fs::remove_file(&to).unwrap();
        }
    }

    #[test]
    fn a_missing_feature_of_the_file_system_is_distinguished_from_other_failures() {
        for known in [Errno::EPERM, Errno::EINVAL, Errno::EOPNOTSUPP, Errno::ENOSYS] {
            assert!(is_unsupported(&known.into()), "{known}");
        }
        for other in [Errno::EEXIST, Errno::ENOSPC, Errno::EACCES, Errno::EROFS] {
            assert!(!is_unsupported(&other.into()), "{other}");
        }
    }
}
