//! The rights that other users have to a private directory and to what is in it: found, and taken away.
//!
//! No link is followed: each part is opened by the descriptor of the directory that has it, and judged once it is open. Only directories
//! and plain files of this user count. A file with further names (hard links) is left alone, because one of them may be meant for others.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

/// The rights of others in a mode.
const OTHERS: RawMode = 0o077;

/// Their rights to change something.
const OTHERS_WRITE: RawMode = 0o022;

/// The rights of the owner in a mode.
const OWNER: RawMode = 0o700;

/// How deep directories are searched: those of a bus and of the state directory have two levels.
const LEVELS: usize = 4;

/// The most names that are looked at; more than a bus has in the days that it keeps.
const NAMES: usize = 100_000;

/// A directory or file to which others have rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPart {
    /// Its path below the directory; empty for the directory itself.
    pub path: PathBuf,
    /// Whether others may change it, and not only read it.
    pub is_writable: bool,
    /// Whether its rights were taken away.
    pub is_closed: bool,
}

/// What to do with the rights of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    Find,
    TakeAway,
}

/// Finds the directories and files below a directory, and the directory itself, to which others have rights; and takes those away if that
/// is asked for. A missing directory, a link in its place and one of another user have none.
pub fn of_directory(directory: &Path, rights: Rights) -> io::Result<Vec<OpenPart>> {
    let opened = rustix::fs::open(directory, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
    let directory = match opened {
        Ok(directory) => directory,
        // Nothing, a link, or something else than a directory.
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut search = Search { rights, names_left: NAMES, found: Vec::new() };
    if search.judge(&directory, PathBuf::new())? {
        search.walk(&directory, Path::new(""), LEVELS)?;
    }
    Ok(search.found)
}

/// How a directory is opened.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

/// How a file is opened: without following a link, and without waiting for the other end of a pipe.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

struct Search {
    rights: Rights,
    names_left: usize,
    found: Vec<OpenPart>,
}

impl Search {
    fn walk(&mut self, directory: &OwnedFd, path: &Path, levels: usize) -> io::Result<()> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Some(left) = self.names_left.checked_sub(1) else {
                return Ok(());
            };
            self.names_left = left;
            let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                // It is gone: sessions come and go meanwhile.
                continue;
            };
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if levels > 0 => {
                    let flags = DIRECTORY | OFlags::NOFOLLOW;
                    if let Ok(inner) = rustix::fs::openat(directory, name, flags, Mode::empty())
                        && self.judge(&inner, path.clone())?
                    {
                        self.walk(&inner, &path, levels - 1)?;
                    }
                }
                FileType::RegularFile if is_open(&stat) => {
                    match rustix::fs::openat(directory, name, FILE, Mode::empty()) {
                        Ok(file) => drop(self.judge(&file, path)?),
                        // A file that its owner may not read cannot be changed by its descriptor.
                        Err(Errno::ACCESS) => self.found.push(OpenPart {
                            path,
                            is_writable: stat.st_mode & OTHERS_WRITE != 0,
                            is_closed: false,
                        }),
                        Err(_) => {}
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Judges an open directory or file. Says whether it is this user's own.
    fn judge(&mut self, opened: &OwnedFd, path: PathBuf) -> io::Result<bool> {
        let stat = rustix::fs::fstat(opened)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_plain = kind == FileType::RegularFile && stat.st_nlink == 1;
        if stat.st_uid != geteuid().as_raw() || !(is_plain || kind == FileType::Directory) {
            return Ok(false);
        }
        if is_open(&stat) {
            let is_closed = self.rights == Rights::TakeAway && close(opened, &stat).is_ok();
            let is_writable = stat.st_mode & OTHERS_WRITE != 0;
            self.found.push(OpenPart { path, is_writable, is_closed });
        }
        Ok(true)
    }
}

fn is_open(stat: &Stat) -> bool {
    stat.st_mode & OTHERS != 0
}

/// Leaves only the rights of the owner.
fn close(opened: impl AsFd, stat: &Stat) -> io::Result<()> {
    Ok(rustix::fs::fchmod(opened, Mode::from_raw_mode(stat.st_mode & OWNER))?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    /// A directory with these files and directories, whose names end with `/`, by their modes.
    fn stage(parts: &[(&str, u32)]) -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().join("root");
        fs::create_dir(&root).unwrap();
        set(&root, 0o700);
        for (name, mode) in parts {
            let path = root.join(name);
            if name.ends_with('/') {
                fs::create_dir(&path).unwrap();
            } else {
                fs::write(&path, "x").unwrap();
            }
            set(&path, *mode);
        }
        (guard, root)
    }

    fn found(root: &Path, rights: Rights) -> Vec<(String, bool, bool)> {
        let found = of_directory(root, rights).unwrap().into_iter();
        let found = found.map(|part| {
            (part.path.to_string_lossy().into_owned(), part.is_writable, part.is_closed)
        });
        let mut found: Vec<_> = found.collect();
        found.sort();
        found
    }

    #[test]
    fn what_others_may_read_or_write_is_found_and_closed_and_the_rest_stays() {
        let parts = [("log/", 0o755), ("log/a", 0o644), ("b", 0o620), ("c", 0o400), ("d/", 0o700)];
        let (_guard, root) = stage(&parts);
        let named = |part: &str, is_writable, is_closed| (part.to_owned(), is_writable, is_closed);
        let open =
            [named("b", true, false), named("log", false, false), named("log/a", false, false)];
        assert_eq!(found(&root, Rights::Find), open);
        for (name, before) in parts {
            assert_eq!(mode(&root.join(name)), before, "nothing changes: {name}");
        }
        let closed = open.map(|(name, is_writable, _)| (name, is_writable, true));
        assert_eq!(found(&root, Rights::TakeAway), closed);
        for ((name, _), after) in parts.iter().zip([0o700, 0o600, 0o600, 0o400, 0o700]) {
            assert_eq!(mode(&root.join(name)), after, "{name}");
        }
        assert_eq!(found(&root, Rights::Find), []);
        set(&root, 0o777);
        assert_eq!(found(&root, Rights::TakeAway), [named("", true, true)]);
    }

    #[test]
    fn links_pipes_and_files_with_further_names_are_left_alone() {
        let (guard, root) = stage(&[("twice", 0o666)]);
        let outside = guard.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "x").unwrap();
        set(&outside, 0o777);
        set(&outside.join("file"), 0o666);
        symlink(&outside, root.join("directory")).unwrap();
        symlink(outside.join("file"), root.join("link")).unwrap();
        fs::hard_link(root.join("twice"), guard.path().join("again")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        set(&root.join("pipe"), 0o666);
        assert_eq!(found(&root, Rights::TakeAway), []);
        let linked = guard.path().join("linked");
        symlink(&outside, &linked).unwrap();
        assert_eq!(found(&linked, Rights::TakeAway), []);
        assert_eq!(found(&guard.path().join("missing"), Rights::TakeAway), []);
        assert_eq!(found(&outside.join("file"), Rights::TakeAway), []);
        let modes = [&outside, &outside.join("file"), &root.join("twice"), &root.join("pipe")];
        assert_eq!(modes.map(|path| mode(path)), [0o777, 0o666, 0o666, 0o666]);
    }
}
