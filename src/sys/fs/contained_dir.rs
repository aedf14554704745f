//! Opens files below a directory by its descriptor: no path, link or concurrent change of links leads out of it.
//!
//! No link is followed, not even one that stays inside: a caller that needs that resolves the path first. So the file that was checked
//! is the file that is opened. On Linux 5.6 and later one `openat2` does it; elsewhere each directory on the path is opened in turn.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// A directory below which files are read and written. It costs one descriptor.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
}

/// Why a file below a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BeneathError {
    /// The path leads out of the directory.
    #[error("it leads out of the project")]
    Outside,
    /// The path names a directory, a pipe, a device, or the like.
    #[error("it is not a regular file")]
    NotAFile,
    /// The file is longer than allowed.
    #[error("it is longer than {limit} bytes")]
    TooLong { limit: u64 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The purpose of opening a file.
#[derive(Clone, Copy)]
enum Purpose {
    Read,
    Write,
}

impl Purpose {
    /// Opening never waits, not even for the other end of a pipe, and takes no terminal.
    fn flags(self) -> OFlags {
        let always = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        match self {
            Self::Read => always | OFlags::RDONLY,
            Self::Write => always | OFlags::WRONLY | OFlags::CREATE,
        }
    }

    fn mode(self) -> Mode {
        match self {
            Self::Read => Mode::empty(),
            // The user's umask reduces this.
            Self::Write => Mode::from_raw_mode(0o666),
        }
    }
}

impl Beneath {
    /// Opens the directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// Opens a regular file for reading.
    pub fn open_to_read(&self, path: &Path) -> Result<File, BeneathError> {
        self.file(path, Purpose::Read)
    }

    /// Reads a whole regular file of at most `limit` bytes. Blocks.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, BeneathError> {
        let file = self.file(path, Purpose::Read)?;
        let mut bytes = Vec::new();
        // The length in the metadata does not count: the file may grow meanwhile.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(BeneathError::TooLong { limit });
        }
        Ok(bytes)
    }

    /// Replaces the content of a regular file, and creates a missing one in an existing directory. A crash leaves the beginning of the new
    /// content.
    pub fn write(&self, path: &Path, content: &[u8]) -> Result<(), BeneathError> {
        let mut file = self.file(path, Purpose::Write)?;
        // Not while opening: only now is it known to be a regular file.
        file.set_len(0)?;
        file.write_all(content)?;
        Ok(())
    }

    fn file(&self, path: &Path, purpose: Purpose) -> Result<File, BeneathError> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !path.components().all(is_plain) || path.as_os_str().is_empty() {
            return Err(BeneathError::Outside);
        }
        let opened = self.descriptor(path, purpose).map_err(|error| match error {
            Errno::XDEV | Errno::LOOP => BeneathError::Outside,
            // A pipe without a reader, or a directory.
            Errno::NXIO | Errno::ISDIR => BeneathError::NotAFile,
            error => BeneathError::Io(error.into()),
        })?;
        let stat = rustix::fs::fstat(&opened).map_err(io::Error::from)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(BeneathError::NotAFile);
        }
        Ok(File::from(opened))
    }

    #[cfg(target_os = "linux")]
    fn descriptor(&self, path: &Path, purpose: Purpose) -> Result<OwnedFd, Errno> {
        use rustix::fs::ResolveFlags;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.root, path, purpose.flags(), purpose.mode(), resolve) {
            // An older kernel, or a sandbox without this call.
            Err(Errno::NOSYS | Errno::PERM) => self.part_by_part(path, purpose),
            opened => opened,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn descriptor(&self, path: &Path, purpose: Purpose) -> Result<OwnedFd, Errno> {
        self.part_by_part(path, purpose)
    }

    /// Opens each directory on the path in turn, and follows no link.
    fn part_by_part(&self, path: &Path, purpose: Purpose) -> Result<OwnedFd, Errno> {
        let mut parts = path.components().map(Component::as_os_str).peekable();
        let mut directory: Option<OwnedFd> = None;
        while let Some(part) = parts.next() {
            let at = directory.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            if parts.peek().is_none() {
                let flags = purpose.flags() | OFlags::NOFOLLOW;
                return rustix::fs::openat(at, part, flags, purpose.mode());
            }
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let next = rustix::fs::openat(at, part, flags, Mode::empty());
            directory = Some(next.map_err(|error| match error {
                // Linux reports this for a link in place of a directory.
                Errno::NOTDIR if is_link(at, part) => Errno::LOOP,
                error => error,
            })?);
        }
        Err(Errno::NOENT)
    }
}

fn is_link(at: impl AsFd, part: &std::ffi::OsStr) -> bool {
    let stat = rustix::fs::statat(at, part, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    const LIMIT: u64 = 16;

    /// A project full of traps, and a secret beside it.
    fn stage() -> (tempfile::TempDir, PathBuf, Beneath) {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("outside/secret"), "secret").unwrap();
        fs::write(project.join("src/main.rs"), "main").unwrap();
        symlink("../outside", project.join("out")).unwrap();
        symlink("../outside/secret", project.join("leak")).unwrap();
        symlink("../outside/new", project.join("dangling")).unwrap();
        symlink(root.path().join("outside/secret"), project.join("absolute")).unwrap();
        // It leads through the root of this process, but only to files of this test: a broken test must not harm the machine.
        let outside = root.path().canonicalize().unwrap().join("outside/secret");
        let magic = format!("/proc/self/root{}", outside.display());
        symlink(magic, project.join("magic")).unwrap();
        nix::unistd::mkfifo(&project.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let beneath = Beneath::open(&project).unwrap();
        (root, project, beneath)
    }

    fn read(beneath: &Beneath, path: &str) -> Result<String, BeneathError> {
        let bytes = beneath.read(Path::new(path), LIMIT)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn files_inside_are_read_created_and_replaced() {
        let (_root, project, beneath) = stage();
        assert_eq!(read(&beneath, "src/main.rs").unwrap(), "main");
        beneath.write(Path::new("src/new.rs"), b"longer than before").unwrap();
        beneath.write(Path::new("src/new.rs"), b"new").unwrap();
        assert_eq!(read(&beneath, "src/new.rs").unwrap(), "new");
        assert!(fs::metadata(project.join("src/new.rs")).unwrap().is_file());
        let missing = beneath.write(Path::new("nowhere/new.rs"), b"x").unwrap_err();
        assert!(matches!(missing, BeneathError::Io(_)), "{missing}");
    }

    #[test]
    fn no_path_leads_out_for_reading_or_writing() {
        let (root, _project, beneath) = stage();
        for path in [
            "../outside/secret",
            "src/../../outside/secret",
            "/nowhere/secret",
            "out/secret",
            "leak",
            "dangling",
            "absolute",
            "magic",
            "",
            ".",
        ] {
            let path = Path::new(path);
            let refused = beneath.read(path, LIMIT).unwrap_err();
            assert!(matches!(refused, BeneathError::Outside), "{path:?}: {refused}");
            let refused = beneath.write(path, b"x").unwrap_err();
            assert!(matches!(refused, BeneathError::Outside), "{path:?}: {refused}");
        }
        let secret = fs::read_to_string(root.path().join("outside/secret")).unwrap();
        assert_eq!(secret, "secret");
        assert!(!root.path().join("outside/new").exists());
    }

    #[test]
    fn a_pipe_is_not_waited_for_and_a_directory_is_no_file() {
        let (_root, _project, beneath) = stage();
        for path in ["pipe", "src"] {
            let path = Path::new(path);
            let refused = beneath.read(path, LIMIT).unwrap_err();
            assert!(matches!(refused, BeneathError::NotAFile), "{path:?}: {refused}");
            let refused = beneath.write(path, b"x").unwrap_err();
            assert!(matches!(refused, BeneathError::NotAFile), "{path:?}: {refused}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let (_root, project, beneath) = stage();
        fs::write(project.join("exact"), "x".repeat(16)).unwrap();
        fs::write(project.join("long"), "x".repeat(17)).unwrap();
        assert_eq!(read(&beneath, "exact").unwrap().len(), 16);
        let refused = read(&beneath, "long").unwrap_err();
        assert!(matches!(refused, BeneathError::TooLong { limit: LIMIT }));
    }

    #[test]
    fn no_link_is_followed_part_by_part_either() {
        let (_root, _project, beneath) = stage();
        let open = |path: &str, purpose| beneath.part_by_part(Path::new(path), purpose);
        assert!(open("src/main.rs", Purpose::Read).is_ok());
        assert!(open("src/fresh.rs", Purpose::Write).is_ok());
        for path in ["out/secret", "leak", "dangling", "absolute", "magic"] {
            for purpose in [Purpose::Read, Purpose::Write] {
                assert_eq!(open(path, purpose).unwrap_err(), Errno::LOOP, "{path}");
            }
        }
    }
}
