//! The rights that other users have to a private directory and to what is in it: found, and taken away.
//!
//! No link is followed: each part is opened by the descriptor of the directory that has it, and judged once it is open. Only directories
//! and plain files of this user are judged. A file with further names (hard links) is left alone, because one of them may be meant for
//! others. What is not judged is counted, because others may have rights to it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{AccessFlags, getegid, geteuid};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

/// Why a file or a directory is not trusted, although nothing needs to be put in its place: its owner or its mode is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.says())]
pub enum WrongRights {
    OtherOwner,
    WritableByOthers,
}

impl WrongRights {
    /// Says what is wrong, and what mends it.
    pub fn says(self) -> &'static str {
        match self {
            Self::OtherOwner => {
                "it belongs to another user: run as that user, or make it yours with `chown`"
            }
            Self::WritableByOthers => {
                "others may write to it: check what is in it, then run `chmod go-w` on it"
            }
        }
    }

    /// Says whether an error is about nothing else.
    pub fn is_reason_of(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Self>)
    }
}

impl From<WrongRights> for io::Error {
    fn from(wrong: WrongRights) -> Self {
        Self::new(io::ErrorKind::InvalidData, wrong)
    }
}

/// The rights of others in a mode.
const OTHERS: RawMode = 0o077;

/// Their rights to change something.
const OTHERS_WRITE: RawMode = 0o022;

/// The right to change something of those who are neither its owner nor in its group.
const EVERYBODY_WRITES: RawMode = 0o002;

/// The bit of a directory in which everybody may replace only what is theirs.
const STICKY: RawMode = 0o1000;

/// The rights in a mode, without the kind of file.
const MODE: RawMode = 0o7777;

/// The rights of the owner in a mode.
const OWNER: RawMode = 0o700;

/// How deep directories are searched: those of a bus and of the state directory have two levels.
const LEVELS: usize = 4;

/// The most names that are looked at; more than a bus has in the days that it keeps.
pub const NAMES: usize = 100_000;

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

/// What was not judged, so that others may have rights to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files and directories of other users.
    pub of_others: usize,
    /// Files with further names, to which others have rights.
    pub linked: usize,
    /// Pipes, sockets and devices to which others have rights.
    pub special: usize,
    /// Directories that could not be read.
    pub unreadable: usize,
    /// Directories that are nested too deep to look into.
    pub deep: usize,
    /// Whether there are more names than are looked at.
    pub has_more: bool,
}

/// What was found in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub parts: Vec<OpenPart>,
    pub skipped: Skipped,
}

/// Finds the directories and files below a directory, and the directory itself, to which others have rights; and takes those away if that
/// is asked for. The path is absolute, and no part of it may be a link. None if there is no directory at such a path.
pub fn of_directory(directory: &Path, rights: Rights) -> io::Result<Option<Found>> {
    let directory = match open_without_links(directory) {
        Ok(directory) => directory,
        // Nothing, a link, or something else than a directory.
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut search = Search { rights, names_left: NAMES, found: Found::default() };
    if search.judge(&directory, PathBuf::new())? {
        search.walk(&directory, Path::new(""), LEVELS)?;
    }
    Ok(Some(search.found))
}

/// Says whether another user may put something else in the place of a file, directory or link: it is theirs, or they may write to it. Root
/// may do anything, and a group counts as others unless it is root's or the user's own first one. In a directory with the sticky bit
/// others may not replace what is not theirs. A place where nothing is counts as safe, because nothing is there to be believed.
pub fn others_may_replace(place: &Path) -> bool {
    let Ok(stat) = rustix::fs::lstat(place) else {
        return false;
    };
    let is_trusted = stat.st_uid == 0 || is_ours(&stat);
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Symlink {
        return !is_trusted;
    }
    let is_sticky = kind == FileType::Directory && stat.st_mode & STICKY != 0;
    let own_group = stat.st_gid == 0 || stat.st_gid == getegid().as_raw();
    let writable = if own_group { EVERYBODY_WRITES } else { OTHERS_WRITE };
    !is_trusted || (stat.st_mode & writable != 0 && !is_sticky)
}

/// Opens a directory by an absolute path, part by part: a part that has just become a link is not followed.
fn open_without_links(directory: &Path) -> Result<OwnedFd, Errno> {
    open_by(directory, DIRECTORY)
}

fn open_by(directory: &Path, last: OFlags) -> Result<OwnedFd, Errno> {
    let mut parts = directory.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(Errno::INVAL);
    }
    let mut opened = rustix::fs::open("/", WAY, Mode::empty())?;
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL);
        };
        let how = if parts.peek().is_some() { WAY } else { last };
        opened = rustix::fs::openat(&opened, name, how | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(opened)
}

/// How a directory on the way is opened: it need not be readable.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::DIRECTORY.union(OFlags::PATH).union(OFlags::CLOEXEC);

/// How a directory on the way is opened.
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = DIRECTORY;

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
    found: Found,
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
                self.found.skipped.has_more = true;
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
                    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
                        Ok(inner) => {
                            if self.judge(&inner, path.clone())? {
                                self.walk(&inner, &path, levels - 1)?;
                            }
                        }
                        // It is gone, or no longer a directory.
                        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {}
                        Err(_) if is_ours(&stat) => self.found.skipped.unreadable += 1,
                        Err(_) => self.found.skipped.of_others += 1,
                    }
                }
                FileType::Directory => self.found.skipped.deep += 1,
                FileType::Symlink => {}
                _ if !is_ours(&stat) => self.found.skipped.of_others += 1,
                FileType::RegularFile if is_open(&stat) => {
                    match rustix::fs::openat(directory, name, FILE, Mode::empty()) {
                        Ok(file) => drop(self.judge(&file, path)?),
                        // A file that its owner may not read cannot be changed by its descriptor.
                        Err(Errno::ACCESS) => self.found.parts.push(OpenPart {
                            path,
                            is_writable: stat.st_mode & OTHERS_WRITE != 0,
                            is_closed: false,
                        }),
                        Err(_) => {}
                    }
                }
                FileType::RegularFile => {}
                _ if is_open(&stat) => self.found.skipped.special += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Judges an open directory or file. Says whether it is this user's own.
    fn judge(&mut self, opened: &OwnedFd, path: PathBuf) -> io::Result<bool> {
        let stat = rustix::fs::fstat(opened)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let skipped = &mut self.found.skipped;
        let skipped = match kind {
            _ if !is_ours(&stat) => Some(&mut skipped.of_others),
            FileType::Directory => None,
            FileType::RegularFile if stat.st_nlink <= 1 => None,
            FileType::RegularFile => Some(&mut skipped.linked),
            _ => Some(&mut skipped.special),
        };
        if let Some(number) = skipped {
            *number += 1;
            return Ok(false);
        }
        if is_open(&stat) {
            let is_closed = self.rights == Rights::TakeAway && close(opened, &stat).is_ok();
            let is_writable = stat.st_mode & OTHERS_WRITE != 0;
            self.found.parts.push(OpenPart { path, is_writable, is_closed });
        }
        Ok(true)
    }
}

fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw()
}

fn is_open(stat: &Stat) -> bool {
    stat.st_mode & OTHERS != 0
}

/// Leaves only the rights of the owner.
fn close(opened: impl AsFd, stat: &Stat) -> io::Result<()> {
    Ok(rustix::fs::fchmod(opened, Mode::from_raw_mode(stat.st_mode & OWNER))?)
}

/// Gives the owner of a directory, if that is this user, all rights of an owner to it, and leaves those of others. The path is absolute, and
/// no part of it may be a link.
pub fn give_owner_all(directory: &Path) -> io::Result<()> {
    let opened = open_by(directory, WAY)?;
    let stat = rustix::fs::fstat(&opened)?;
    if !is_ours(&stat) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mode = (stat.st_mode & MODE) | OWNER;
    if cfg!(target_os = "linux") {
        // It may be a directory that its owner cannot open: it is changed by its descriptor's own path.
        return Ok(rustix::fs::chmod(
            format!("/proc/self/fd/{}", opened.as_raw_fd()),
            Mode::from_raw_mode(mode),
        )?);
    }
    Ok(rustix::fs::fchmod(&opened, Mode::from_raw_mode(mode))?)
}

/// Returns why this user may not create something in a directory; none if that is allowed.
pub fn why_not_create_in(directory: &Path) -> Option<io::ErrorKind> {
    let flags = AccessFlags::W_OK | AccessFlags::X_OK;
    nix::unistd::access(directory, flags).err().map(|error| io::Error::from(error).kind())
}

/// Says whether this user may list a directory and open what is in it, or read a file.
pub fn may_read(path: &Path) -> bool {
    let of_directory = AccessFlags::R_OK | AccessFlags::X_OK;
    let flags = if path.is_dir() { of_directory } else { AccessFlags::R_OK };
    nix::unistd::access(path, flags).is_ok()
}

/// Returns the outermost part of a path that keeps this user from reading what is there; none if nothing does.
pub fn closed_part(path: &Path) -> Option<PathBuf> {
    let around: Vec<_> = path.ancestors().skip(1).collect();
    let is_closed =
        |part: &&Path| part.is_dir() && nix::unistd::access(*part, AccessFlags::X_OK).is_err();
    let outer = around.into_iter().rev().find(is_closed).map(Path::to_owned);
    outer.or_else(|| (path.exists() && !may_read(path)).then(|| path.to_owned()))
}

/// Says whether this user may write to a file or into a directory.
pub fn may_write(path: &Path) -> bool {
    nix::unistd::access(path, AccessFlags::W_OK).is_ok()
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
        let root = guard.path().canonicalize().unwrap().join("root");
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

    #[test]
    fn an_owner_gets_all_rights_back_even_where_the_directory_cannot_be_opened() {
        let (_guard, root) = stage(&[("a/", 0o500), ("b/", 0o000), ("c/", 0o550), ("d", 0o400)]);
        for (name, expected) in [("a", 0o700), ("b", 0o700), ("c", 0o750)] {
            give_owner_all(&root.join(name)).unwrap();
            assert_eq!(mode(&root.join(name)), expected, "{name}");
        }
        symlink("a", root.join("link")).unwrap();
        for refused in ["d", "link", "none"] {
            give_owner_all(&root.join(refused)).unwrap_err();
        }
        assert_eq!(mode(&root.join("d")), 0o400);
        assert_eq!(why_not_create_in(&root), None);
        assert_eq!(why_not_create_in(&root.join("none")), Some(io::ErrorKind::NotFound));
    }

    fn found(root: &Path, rights: Rights) -> Vec<(String, bool, bool)> {
        let found = of_directory(root, rights).unwrap().unwrap_or_default();
        let found = found.parts.into_iter().map(|part| {
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
        let skipped = Skipped { linked: 1, special: 1, ..Skipped::default() };
        assert_eq!(of_directory(&root, Rights::Find).unwrap().unwrap().skipped, skipped);
        let linked = guard.path().join("linked");
        symlink(&outside, &linked).unwrap();
        assert_eq!(found(&linked, Rights::TakeAway), []);
        assert_eq!(found(&guard.path().join("missing"), Rights::TakeAway), []);
        assert_eq!(found(&outside.join("file"), Rights::TakeAway), []);
        let modes = [&outside, &outside.join("file"), &root.join("twice"), &root.join("pipe")];
        assert_eq!(modes.map(|path| mode(path)), [0o777, 0o666, 0o666, 0o666]);
    }

    #[test]
    fn no_link_on_the_way_to_the_directory_is_followed() {
        let (guard, root) = stage(&[("a", 0o644)]);
        let around = guard.path().canonicalize().unwrap();
        fs::create_dir(around.join("project")).unwrap();
        symlink(&around, around.join("project/folder")).unwrap();
        let linked = around.join("project/folder/root");
        assert!(linked.join("a").exists());
        assert_eq!(of_directory(&linked, Rights::TakeAway).unwrap(), None);
        assert_eq!(mode(&root.join("a")), 0o644);
        assert_eq!(found(&root, Rights::TakeAway), [("a".to_owned(), false, true)]);
    }

    #[test]
    fn what_is_not_judged_is_counted() {
        let parts = [("1/", 0o700), ("1/2/", 0o700), ("1/2/3/", 0o700), ("1/2/3/4/", 0o700)];
        let deep = [("1/2/3/4/5/", 0o755), ("1/2/3/4/5/6", 0o666), ("private", 0o600)];
        let (guard, root) = stage(&[parts.as_slice(), &deep].concat());
        // Its further name is as private as the file itself.
        fs::hard_link(root.join("private"), guard.path().join("again")).unwrap();
        let skipped = || of_directory(&root, Rights::TakeAway).unwrap().unwrap().skipped;
        assert_eq!(skipped(), Skipped { deep: 1, ..Skipped::default() });
        assert_eq!(found(&root, Rights::Find), []);
        let closed = root.join("1/2");
        set(&closed, 0o000);
        // Root may read it all the same.
        if !geteuid().is_root() {
            assert_eq!(skipped(), Skipped { unreadable: 1, ..Skipped::default() });
        }
        set(&closed, 0o700);
        let mut search = Search { rights: Rights::Find, names_left: 3, found: Found::default() };
        search.walk(&open_without_links(&root).unwrap(), Path::new(""), LEVELS).unwrap();
        assert!(search.found.skipped.has_more);
    }

    #[test]
    fn a_file_or_directory_of_another_user_is_counted() {
        // Only root can give a file away; the root directory belongs to root.
        let (_guard, root) = stage(&[("theirs", 0o600), ("folder/", 0o700), ("folder/a", 0o600)]);
        if geteuid().is_root() {
            for name in ["theirs", "folder"] {
                std::os::unix::fs::chown(root.join(name), Some(12), None).unwrap();
            }
            let found = of_directory(&root, Rights::TakeAway).unwrap().unwrap();
            let skipped = Skipped { of_others: 2, ..Skipped::default() };
            assert_eq!((found.parts, found.skipped), (Vec::new(), skipped));
        } else {
            let found = of_directory(Path::new("/usr"), Rights::Find).unwrap().unwrap();
            assert_eq!(found.skipped, Skipped { of_others: 1, ..Skipped::default() });
        }
    }
}
