//! The user's state directory: records of this program that last beyond one run and one project.
//!
//! `$XDG_STATE_HOME/cli-team-bridge`, by default `~/.local/state/cli-team-bridge` (XDG Base Directory Specification). All files in it
//! are private to their owner, and a file that other users may change is refused. A file is replaced as a whole: a reader finds the old
//! or the new content, even after a crash, which may leave a temporary file behind: the folder's owner sweeps it.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{User, geteuid};

use super::disk::{
    PrivateDirectory, Writes, look_at_directory, open_private, private_directory, touch, touched_ns,
};
use super::temporary_file::{self, TemporaryFile};

/// The name of this program's directory.
const NAME: &str = "cli-team-bridge";

/// The most bytes of a file in it: records are short.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

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
        let absolute = |name: &str| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let base = absolute("XDG_STATE_HOME").or_else(|| {
            let home = absolute("HOME")?;
            Some(home.join(".local").join("state"))
        })?;
        Some(Self { base, parts: vec![PathBuf::from(NAME)] })
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
        let file = match open_private(&path, Writes::Anywhere) {
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
        write!(f, "`{}`: {}", self.path.display(), self.why)
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
    fn no_name_leads_elsewhere() {
        let (_home, state) = state();
        for name in ["", ".", "..", "a/b", "/etc/passwd", "../x"] {
            assert!(state.write(name, b"x").is_err(), "{name}");
            assert!(state.read(name).is_err(), "{name}");
        }
    }
}
