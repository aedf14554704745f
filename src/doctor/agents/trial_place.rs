//! The directory for the trials of agents: for this user alone, and below none that others may change.
//!
//! Agents look for their settings in the directories above the one in which they start, and some run programs that these name. So a
//! place below one where others may create files, such as `/tmp`, is not used. The room is a git repository of its own, because most
//! agents look no further up than its root.
//!
//! It is removed at the end. What a killed doctor left is removed by the next one: a live doctor holds a lock on its room.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::disk::{
    FileIdentity, NO_LINK, PrivateDirectory, belongs_to_us, private_directory,
};
use crate::sys::fs::open_parents::{self, OpenParent, RightsOfOthers};
use crate::sys::random_ids;

/// The name of this program's directory.
const NAME: &str = "cli-team-bridge";

/// The beginning of a room's name, before an id.
const ROOM: &str = "trial-";

/// How often another room is made, if a doctor that began at the same time takes one for a leftover.
const ATTEMPTS: usize = 8;

/// Why there is no place for trials.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    /// Others could give the agents their settings.
    #[error("{}, and agents read settings in all directories above theirs", says(.0))]
    Open(OpenParent),
    #[error("cannot use {}: {why}", path.shown())]
    Unusable { path: PathBuf, why: String },
    #[error("neither HOME nor XDG_CACHE_HOME is set")]
    Nowhere,
}

/// A room, removed when this is dropped.
#[derive(Debug)]
pub(super) struct TrialPlace {
    room: PathBuf,
    /// The directories to remove if nothing else is in them: those created for it, the outermost first, and this program's own.
    made: Vec<PathBuf>,
    /// Shows other doctors that this one lives.
    _lock: File,
}

impl TrialPlace {
    /// Makes a room in the first usable one of the cache directory, the runtime directory and the temporary directory that these variables
    /// name. The error is about the first.
    pub(super) fn make(
        variable: impl Fn(&str) -> Option<PathBuf>,
        temporary: PathBuf,
    ) -> Result<Self, PlaceError> {
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        let places = [cache, absolute("XDG_RUNTIME_DIR"), Some(temporary)];
        let mut first_problem = None;
        for place in places.into_iter().flatten() {
            match Self::make_in(&place.join(NAME)) {
                Ok(place) => return Ok(place),
                Err(error) => drop(first_problem.get_or_insert(error)),
            }
        }
        Err(first_problem.unwrap_or(PlaceError::Nowhere))
    }

    fn make_in(directory: &Path) -> Result<Self, PlaceError> {
        let unusable = |error: io::Error| PlaceError::Unusable {
            path: directory.to_owned(),
            why: error.to_string(),
        };
        let open = open_parents::above(directory).map_err(unusable)?;
        if let Some(open) = open.into_iter().next() {
            return Err(PlaceError::Open(open));
        }
        let around = directory.parent().unwrap_or(Path::new("/"));
        let mut made = make_missing(around).map_err(unusable)?;
        let room = match private_directory(directory) {
            Ok(PrivateDirectory::Untrusted(why)) => {
                Err(PlaceError::Unusable { path: directory.to_owned(), why: why.to_owned() })
            }
            Ok(PrivateDirectory::Found | PrivateDirectory::Made) => {
                // It is this program's own, perhaps left empty by a killed doctor.
                made.push(directory.to_owned());
                sweep(directory);
                make_room(directory).map_err(unusable)
            }
            Err(error) => Err(unusable(error)),
        };
        match room {
            Ok((room, lock)) => Ok(Self { room, made, _lock: lock }),
            Err(error) => {
                remove_empty(&made);
                Err(error)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.room
    }
}

impl Drop for TrialPlace {
    fn drop(&mut self) {
        // If this fails, the next doctor removes it.
        let _ = fs::remove_dir_all(&self.room);
        remove_empty(&self.made);
    }
}

/// Says what others may do in a directory.
fn says(OpenParent { path, rights }: &OpenParent) -> String {
    let path = path.shown();
    match rights {
        RightsOfOthers::Own => format!("{path} belongs to another user"),
        RightsOfOthers::Change | RightsOfOthers::Add => format!("others may write to {path}"),
    }
}

fn make_room(directory: &Path) -> io::Result<(PathBuf, File)> {
    let directory = directory.canonicalize()?;
    for _ in 0..ATTEMPTS {
        let room = directory.join(format!("{ROOM}{}", random_ids::blob()));
        DirBuilder::new().mode(0o700).create(&room)?;
        let Ok(lock) = open(&room) else {
            continue;
        };
        let is_here = || {
            let identity = FileIdentity::from(&fs::symlink_metadata(&room).ok()?);
            Some(identity == FileIdentity::from(&lock.metadata().ok()?))
        };
        if lock.try_lock().is_ok() && is_here() == Some(true) {
            make_repository(&room)?;
            return Ok((room, lock));
        }
    }
    Err(io::Error::other("another doctor removes each room"))
}

/// Makes the least that git and agents take for a repository (gitrepository-layout(5)).
fn make_repository(room: &Path) -> io::Result<()> {
    let git = room.join(".git");
    for part in ["objects", "refs"] {
        fs::create_dir_all(git.join(part))?;
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")
}

/// Removes the rooms of doctors that were killed. One that cannot be removed does no harm.
fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(ROOM));
        if id.is_some_and(random_ids::is_blob)
            && belongs_to_us(&entry.path())
            && let Ok(room) = open(&entry.path())
            && room.try_lock().is_ok()
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, path = %entry.path().shown(), "a room for trials stays");
        }
    }
}

/// Opens a directory, and no link to one.
fn open(directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(NO_LINK).open(directory)?;
    let is_directory = file.metadata()?.is_dir();
    if is_directory { Ok(file) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Creates a directory and its missing parents for this user alone; returns those it created, the outermost first.
fn make_missing(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut missing: Vec<_> = directory.ancestors().take_while(|path| !path.exists()).collect();
    missing.reverse();
    for path in &missing {
        DirBuilder::new().mode(0o700).create(path)?;
    }
    Ok(missing.into_iter().map(Path::to_owned).collect())
}

/// Removes directories as far as they are empty, the innermost first.
fn remove_empty(directories: &[PathBuf]) {
    for directory in directories.iter().rev() {
        // Another doctor may have a room in it.
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    /// A directory below none that others may change: that of this program.
    fn base() -> Option<tempfile::TempDir> {
        let own = std::env::current_exe().unwrap();
        let base = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
        open_parents::above(base.path()).unwrap().is_empty().then_some(base)
    }

    fn make(base: &Path, temporary: &Path) -> Result<TrialPlace, PlaceError> {
        let home = base.join("home");
        TrialPlace::make(|name| (name == "HOME").then(|| home.clone()), temporary.to_owned())
    }

    #[test]
    fn a_room_is_private_a_repository_and_gone_in_the_end() {
        // A checkout that others may write to cannot show this.
        let Some(base) = base() else { return };
        let place = make(base.path(), Path::new("/tmp")).unwrap();
        let cache = base.path().canonicalize().unwrap().join("home/.cache/cli-team-bridge");
        assert_eq!(place.path().parent().unwrap(), cache);
        assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o700);
        assert!(place.path().join(".git/HEAD").exists());
        let second = make(base.path(), Path::new("/tmp")).unwrap();
        assert!(place.path().exists() && second.path() != place.path());
        drop(place);
        assert!(second.path().exists());
        drop(second);
        let left = fs::read_dir(&cache).map_or(0, Iterator::count);
        assert_eq!(left, 0);
    }

    #[test]
    fn a_place_below_one_where_others_may_write_is_not_used() {
        let Some(base) = base() else { return };
        let (home, temporary) = (base.path().join("home"), base.path().join("tmp"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&home, Permissions::from_mode(0o1777)).unwrap();
        let place = make(base.path(), &temporary).unwrap();
        assert!(place.path().starts_with(temporary.canonicalize().unwrap()), "{place:?}");
        fs::set_permissions(&temporary, Permissions::from_mode(0o777)).unwrap();
        let error = make(base.path(), &temporary).unwrap_err();
        let open = format!("others may write to {}, and agents read", home.display());
        assert!(error.to_string().starts_with(&open), "{error}");
        assert!(fs::read_dir(&home).unwrap().next().is_none(), "nothing is made there");
    }

    #[test]
    fn rooms_of_killed_doctors_are_swept_and_others_stay() {
        let Some(base) = base() else { return };
        let cache = base.path().join("home/.cache/cli-team-bridge");
        let place = make(base.path(), Path::new("/tmp")).unwrap();
        let left = cache.join(format!("{ROOM}{}", random_ids::blob()));
        let others = [cache.join("trial-mine"), cache.join("other")];
        for path in others.iter().chain([&left]) {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "").unwrap();
        }
        let link = cache.join(format!("{ROOM}{}", random_ids::blob()));
        symlink(&others[1], &link).unwrap();
        let second = make(base.path(), Path::new("/tmp")).unwrap();
        assert!(!left.exists());
        assert!(place.path().exists() && second.path().exists());
        assert!(link.is_symlink() && others.iter().all(|path| path.join("file").exists()));
    }
}
