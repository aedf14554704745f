//! The user's state directory: records of this program that last beyond one run and one project.
//!
//! `$XDG_STATE_HOME/cli-team-bridge`, by default `~/.local/state/cli-team-bridge` (XDG Base Directory Specification). All files in it
//! are private to their owner, and a file that other users may change is refused. A file is replaced as a whole: a reader finds the old
//! or the new content, even after a crash, which may leave a temporary file behind: the folder's owner sweeps it.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{User, geteuid};

use super::disk::{
    FileIdentity, PrivateDirectory, Writes, look_at_directory, open_or_create_private,
    open_private, open_private_to_read, private_directory, touch, touched_ns,
};
use super::temporary_file::{self, TemporaryFile};

use crate::domain::text::shown_path::ShownPath as _;

/// The name of this program's directory.
const NAME: &str = "cli-team-bridge";

/// The most bytes of a file in it: records are short.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// How often a lock is tried whose file goes at that moment. Each time, another process has just held it.
const LOCK_ATTEMPTS: usize = 100;

/// The state directory of a user, or a directory in it. It need not exist: the first write creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDirectory {
    /// The directory of all programs. If it is missing, it is created private to its owner.
    base: PathBuf,
    /// The directories below it, from the outside in. Each is private to its owner.
    parts: Vec<PathBuf>,
}

impl StateDirectory {
    /// Finds the state directory by the variables `XDG_STATE_HOME` and `HOME`. Only absolute values count. None without either.
    pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        Self::find_as("XDG_STATE_HOME", ".local/state", variable)
    }

    /// Finds the directory of a kind by its own variable, or else in `HOME`.
    fn find_as(
        own: &str,
        in_home: &str,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<Self> {
        let absolute = |name: &str| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let base = absolute(own).or_else(|| Some(absolute("HOME")?.join(in_home)))?;
        Some(Self { base, parts: vec![PathBuf::from(NAME)] })
    }

    /// Finds the cache directory of this process in the same way: `$XDG_CACHE_HOME/cli-team-bridge`, by default `~/.cache/cli-team-bridge`.
    /// What is in it may be deleted at any time.
    pub fn cache_of_process() -> Option<Self> {
        let find = |variable: &dyn Fn(&str) -> Option<OsString>| {
            Self::find_as("XDG_CACHE_HOME", ".cache", variable)
        };
        find(&|name| std::env::var_os(name)).or_else(|| {
            let home = User::from_uid(geteuid()).ok().flatten()?.dir;
            find(&|name| (name == "HOME").then(|| home.clone().into_os_string()))
        })
    }

    /// Creates the directory if it is missing, and refuses one that other users may change. Returns its path.
    pub fn prepare(&self) -> io::Result<PathBuf> {
        self.create()?;
        Ok(self.path())
    }

    /// Finds the state directory of this process by its environment, or else by the home directory that the system knows of its user:
    /// some clients start programs without `HOME`.
    pub fn of_process() -> Option<Self> {
        Self::find(|name| std::env::var_os(name)).or_else(|| {
            let home = User::from_uid(geteuid()).ok().flatten()?.dir;
            Self::find(|name| (name == "HOME").then(|| home.clone().into_os_string()))
        })
    }

    /// Returns a directory in it.
    #[must_use]
    pub fn inner(&self, name: &str) -> Self {
        let mut inner = self.clone();
        inner.parts.push(PathBuf::from(name));
        inner
    }

    /// Returns the path, which may not exist.
    pub fn path(&self) -> PathBuf {
        self.levels().last().unwrap_or_else(|| self.base.clone())
    }

    /// Reads a file; none if it does not exist. Refuses a file that is not this user's own or not a plain file.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.file(name)?;
        for level in self.levels() {
            match look_at_directory(&level) {
                Ok(PrivateDirectory::Untrusted(reason)) => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
                    return Err(named(&level, &error));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(named(&level, &error)),
            }
        }
        let file = match open_private_to_read(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(named(&path, &error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(|error| named(&path, &error))?;
        Ok(Some(bytes))
    }

    /// Writes or replaces a file. It is on disk when this returns.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.file(name)?;
        self.create()?;
        // Two processes that write at once do not share a temporary file.
        let written = || -> io::Result<()> {
            let new = TemporaryFile::beside(&path)?;
            new.file().write_all(bytes)?;
            new.replace_target()
        };
        written().map_err(|error| named(&path, &error))
    }

    /// Removes the temporary files in it that killed processes have left. Says whether there is a directory that this user may trust.
    pub fn sweep(&self) -> bool {
        let is_ours =
            |level: PathBuf| matches!(look_at_directory(&level), Ok(PrivateDirectory::Found));
        let is_usable = self.levels().all(is_ours);
        if is_usable {
            temporary_file::sweep_directory(&self.path());
        }
        is_usable
    }

    /// Returns the names of its files with the time of the last write or renewal, in milliseconds since 1970, without temporary files. A
    /// missing directory has none.
    pub fn names(&self) -> io::Result<Vec<(String, i64)>> {
        let path = self.path();
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(named(&path, &error)),
        };
        let of = |name: OsString| {
            let name = name.into_string().ok()?;
            let touched = touched_ns(&path.join(&name)).ok()? / 1_000_000;
            (!name.starts_with('.')).then_some((name, i64::try_from(touched).ok()?))
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        Ok(names.filter_map(of).collect())
    }

    /// Sets the time of a record to now, because the path that it is about was seen.
    pub fn renew(&self, name: &str) -> io::Result<()> {
        let path = self.file(name)?;
        let renewed = open_private(&path, Writes::AtTheEnd).and_then(|file| touch(&file));
        renewed.map_err(|error| named(&path, &error))
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.file(name)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Takes a lock that one process at a time holds, until it is dropped; none if another one holds it, and an error that names the path if
    /// the directory cannot be made. The file of the lock goes with it,
    /// and so do the directories that were created for it, if nothing else is in them then.
    pub fn lock(&self, name: &str) -> io::Result<Option<StateLock>> {
        let path = self.file(name)?;
        let is_missing = |path: &&PathBuf| !path.exists();
        let own: Vec<_> = self.levels().collect();
        let around = self.base.ancestors().map(Path::to_owned).collect::<Vec<_>>();
        let mut made: Vec<_> = around.iter().take_while(|path| is_missing(path)).cloned().collect();
        made.reverse();
        let around = made.clone();
        made.extend(own);
        let mut gone = None;
        for _ in 0..LOCK_ATTEMPTS {
            let file = self.create().and_then(|()| {
                let file = open_or_create_private(&path, Writes::Anywhere);
                file.map_err(|error| named(&path, &error))
            });
            let file = match file {
                // The last holder has just removed the directory. Where none can be made, this error is the only one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    gone = Some(error);
                    continue;
                }
                file => file.inspect_err(|_| remove_empty(&made))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(named(&path, &error)),
            }
            // The last holder may have removed the file in between.
            let is_in_place = fs::symlink_metadata(&path).is_ok_and(|there| {
                file.metadata()
                    .is_ok_and(|own| FileIdentity::from(&own) == FileIdentity::from(&there))
            });
            if is_in_place {
                return Ok(Some(StateLock { path, directories: made, around, _file: file }));
            }
            gone = None;
        }
        gone.map_or(Ok(None), Err)
    }

    /// Returns the path of a file. Refuses a name that leads elsewhere.
    fn file(&self, name: &str) -> io::Result<PathBuf> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(_)), None) => Ok(self.path().join(name)),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the name of a file must be one part of a path",
            )),
        }
    }

    fn levels(&self) -> impl Iterator<Item = PathBuf> {
        self.parts.iter().scan(self.base.clone(), |path, part| {
            *path = path.join(part);
            Some(path.clone())
        })
    }

    /// Creates the directory with its parents, or refuses one that other users may change.
    fn create(&self) -> io::Result<()> {
        create_with_parents(&self.base).map_err(|error| named(&self.base, &error))?;
        for level in self.levels() {
            match private_directory(&level).map_err(|error| named(&level, &error))? {
                PrivateDirectory::Found | PrivateDirectory::Made => {}
                PrivateDirectory::Untrusted(reason) => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
                    return Err(named(&level, &error));
                }
            }
        }
        Ok(())
    }
}

/// A held lock of a state directory.
#[derive(Debug)]
pub struct StateLock {
    path: PathBuf,
    /// The directories to remove if they are empty, the outermost first.
    directories: Vec<PathBuf>,
    /// Those of them that were created around the state directory for this lock.
    around: Vec<PathBuf>,
    _file: File,
}

impl StateLock {
    /// Returns the directories that were created around the state directory for this lock, the outermost first.
    pub fn made(&self) -> &[PathBuf] {
        &self.around
    }

    /// Lets directories that an earlier lock has created go with this one, if they are empty then.
    pub fn take_over(&mut self, made: &[PathBuf]) {
        let further = made.iter().filter(|directory| !self.directories.contains(directory));
        let further: Vec<_> = further.cloned().collect();
        self.directories.extend(further);
        self.directories.sort_by_key(|directory| directory.components().count());
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        // An unlocked file does no harm. A directory with something else in it stays.
        let _ = fs::remove_file(&self.path);
        remove_empty(&self.directories);
    }
}

/// Removes those of these directories that are there, the innermost first, until one that has something in it.
fn remove_empty(directories: &[PathBuf]) {
    let is_left = |error: io::Error| error.kind() != io::ErrorKind::NotFound;
    let _ = directories.iter().rev().any(|one| fs::remove_dir(one).is_err_and(is_left));
}

/// Creates a directory with its parents, private to the owner, as the specification demands.
fn create_with_parents(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)
}

/// Adds the path to an error, for people.
fn named(path: &Path, error: &io::Error) -> io::Error {
    let named = Named { path: path.to_owned(), why: error.to_string() };
    io::Error::new(error.kind(), named)
}

/// An error with its path.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    why: String,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path.shown(), self.why)
    }
}

impl std::error::Error for Named {}

/// Returns the text of a state directory's error without its path, for models.
pub fn without_path(error: &io::Error) -> String {
    let named = error.get_ref().and_then(|inner| inner.downcast_ref());
    named.map_or_else(|| error.to_string(), |Named { why, .. }| why.clone())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn find(variables: &[(&str, &Path)]) -> Option<StateDirectory> {
        StateDirectory::find(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_os_str().to_owned())
        })
    }

    /// A state directory in a home of its own.
    fn state() -> (tempfile::TempDir, StateDirectory) {
        let home = tempfile::tempdir().unwrap();
        let state = find(&[("HOME", home.path())]).unwrap();
        (home, state)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_path_follows_the_specification() {
        let (home, own, relative) = (Path::new("/home/u"), Path::new("/state"), Path::new("x"));
        let check = |variables: &[(&str, &Path)], expected: Option<&str>| {
            let found = find(variables).map(|state| state.path());
            assert_eq!(found.as_deref(), expected.map(Path::new), "{variables:?}");
        };
        let default = "/home/u/.local/state/cli-team-bridge";
        check(&[("HOME", home)], Some(default));
        check(&[("HOME", home), ("XDG_STATE_HOME", relative)], Some(default));
        let both = [("HOME", home), ("XDG_STATE_HOME", own)];
        check(&both, Some("/state/cli-team-bridge"));
        check(&[("HOME", relative)], None);
        check(&[], None);
    }

    #[test]
    fn a_written_file_reads_back_and_is_private() {
        let (_home, state) = state();
        let inner = state.inner("part");
        assert_eq!(inner.read("file").unwrap(), None);
        assert!(!state.path().exists(), "reading creates nothing");
        for text in ["one", "another"] {
            inner.write("file", text.as_bytes()).unwrap();
            assert_eq!(inner.read("file").unwrap().unwrap(), text.as_bytes());
        }
        assert_eq!(mode(&state.path()), 0o700);
        assert_eq!(mode(&inner.path()), 0o700);
        assert_eq!(mode(&inner.path().join("file")), 0o600);
        let names = fs::read_dir(inner.path()).unwrap();
        assert_eq!(names.count(), 1, "no temporary file is left");
        inner.remove("file").unwrap();
        inner.remove("file").unwrap();
        assert_eq!(inner.read("file").unwrap(), None);
    }

    #[test]
    fn a_reader_finds_one_whole_text_during_concurrent_writes() {
        let (_home, state) = state();
        let texts = [b"a".repeat(10_000), b"b".repeat(20_000)];
        state.write("file", &texts[0]).unwrap();
        std::thread::scope(|scope| {
            for text in &texts {
                let state = &state;
                scope.spawn(move || {
                    for _ in 0..20 {
                        state.write("file", text).unwrap();
                    }
                });
            }
            for _ in 0..100 {
                let read = state.read("file").unwrap().unwrap();
                assert!(texts.contains(&read), "{} bytes", read.len());
            }
        });
    }

    #[test]
    fn a_file_that_other_users_may_change_is_refused() {
        let (_home, state) = state();
        state.write("file", b"x").unwrap();
        let link = state.path().join("link");
        symlink(state.path().join("file"), link).unwrap();
        let refused = state.read("link").unwrap_err().to_string();
        assert!(refused.contains("link`: it is a symbolic link"), "{refused}");

        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = state.write("file", b"y").unwrap_err().to_string();
        assert!(refused.contains("others may write to it"), "{refused}");
        let refused = state.read("file").unwrap_err();
        let text = without_path(&refused);
        assert!(text.starts_with("others may write to it"), "{text}");
        let refused = refused.to_string();
        assert!(refused.ends_with(&format!("`: {text}")), "{refused}");
        let refused = state.inner("part").write("file", b"y").unwrap_err();
        assert!(refused.to_string().contains("others may write to it"), "{refused}");
    }

    #[test]
    fn one_process_at_a_time_holds_a_lock_and_leaves_nothing() {
        let (home, state) = state();
        let held = state.lock("setup.lock").unwrap().unwrap();
        assert!(state.lock("setup.lock").unwrap().is_none());
        assert!(state.lock("other.lock").unwrap().is_some());
        assert_eq!(mode(&state.path().join("setup.lock")), 0o600);
        drop(held);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        state.write("file", b"x").unwrap();
        drop(state.lock("setup.lock").unwrap().unwrap());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1, "another file stays");
        // What a killed process left is no lock.
        fs::write(state.path().join("setup.lock"), "").unwrap();
        fs::set_permissions(state.path().join("setup.lock"), fs::Permissions::from_mode(0o600))
            .unwrap();
        assert!(state.lock("setup.lock").unwrap().is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_the_directory_cannot_be_made_a_lock_is_an_error_and_not_held_by_another() {
        // Not even root can make directories here, and the kernel says that there is none.
        let state = find(&[("HOME", Path::new("/proc"))]).unwrap();
        let error = state.lock("setup.lock").unwrap_err();
        assert!(error.to_string().starts_with("`/proc/.local/state`: "), "{error}");
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".local"), "").unwrap();
        let state = find(&[("HOME", home.path())]).unwrap();
        let error = state.lock("setup.lock").unwrap_err();
        assert!(error.to_string().contains(".local/state`: "), "{error}");
    }

    #[test]
    fn threads_that_take_a_lock_in_turn_never_hold_it_together() {
        let (_home, state) = state();
        let holders = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut taken = 0;
                    while taken < 50 {
                        let Some(held) = state.lock("lock").unwrap() else { continue };
                        let before = holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        assert_eq!(before, 0);
                        holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        drop(held);
                        taken += 1;
                    }
                });
            }
        });
    }

    #[test]
    fn no_name_leads_elsewhere() {
        let (_home, state) = state();
        for name in ["", ".", "..", "a/b", "/etc/passwd", "../x"] {
            assert!(state.write(name, b"x").is_err(), "{name}");
            assert!(state.read(name).is_err(), "{name}");
        }
    }
}
