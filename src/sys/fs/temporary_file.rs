//! A file that is written beside the one that it then replaces. Its writer holds a lock on it, so that the next writer can tell the
//! leftovers of dead ones, and sweeps them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::disk::{Disk as _, NO_LINK, RealDisk, Writes, create_private};
use crate::sys::random_ids;

/// The end of a temporary file's name, after the name of its target and an id.
const ENDING: &str = ".tmp";

/// A new file. It is removed when it is dropped before it has replaced its target.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_in_place: bool,
}

impl TemporaryFile {
    /// Creates a file, private to its owner, in the directory of its target.
    pub fn beside(target: &Path) -> io::Result<Self> {
        let path =
            directory(target).join(format!("{}{}{ENDING}", start(target), random_ids::blob()));
        let file = create_private(&path, Writes::Anywhere)?;
        // Where files cannot be locked, leftovers are not swept.
        let _ = file.try_lock();
        Ok(Self { file, path, target: target.to_owned(), is_in_place: false })
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Puts the file in the place of its target. Its content and its name are on disk when this returns.
    pub fn replace_target(self) -> io::Result<()> {
        self.put_in_place()?
    }

    /// Puts the file in the place of its target. Its content is on disk when this returns. The outer error leaves the target as it was.
    /// After the inner one, the file is in place, but a crash of the machine may bring the old one back.
    pub fn put_in_place(mut self) -> io::Result<io::Result<()>> {
        self.file.sync_all()?;
        RealDisk.rename(&self.path, &self.target)?;
        self.is_in_place = true;
        Ok(RealDisk.sync_directory(directory(&self.target)))
    }

    /// Gives the file the name of its target, which no other file may have, and makes that durable.
    pub fn become_target(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        RealDisk.rename_new(&self.path, &self.target)?;
        self.is_in_place = true;
        RealDisk.sync_directory(directory(&self.target))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            // An error here leaves a useless file, which the next writer sweeps.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the temporary files for a target whose writers are dead. One that cannot be removed does no harm.
pub fn sweep(target: &Path) {
    let start = start(target);
    let is_ours = |name: &str| {
        let id = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(ENDING));
        id.is_some_and(random_ids::is_blob)
    };
    sweep_named(directory(target), is_ours);
}

/// Removes the temporary files in a directory whose writers are dead, whatever their targets. One that cannot be removed does no harm.
pub fn sweep_directory(directory: &Path) {
    let is_ours = |name: &str| {
        let rest = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(ENDING));
        let parts = rest.and_then(|rest| rest.rsplit_once('.'));
        parts.is_some_and(|(target, id)| !target.is_empty() && random_ids::is_blob(id))
    };
    sweep_named(directory, is_ours);
}

fn sweep_named(directory: &Path, is_ours: impl Fn(&str) -> bool) {
    let names = RealDisk.list(directory).unwrap_or_default();
    for name in names.iter().filter(|name| is_ours(name)) {
        let path = directory.join(name);
        if let Err(error) = remove_abandoned(&path) {
            tracing::debug!(%error, path = %path.display(), "a temporary file stays");
        }
    }
}

fn remove_abandoned(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).custom_flags(NO_LINK).open(path)?;
    let metadata = file.metadata()?;
    let is_abandoned = metadata.is_file()
        && metadata.uid() == geteuid().as_raw()
        && file.try_lock().map_err(io::Error::from).is_ok();
    if is_abandoned { fs::remove_file(path) } else { Ok(()) }
}

fn directory(target: &Path) -> &Path {
    target.parent().unwrap_or(Path::new("/"))
}

/// Returns the start of the names of a target's temporary files.
fn start(target: &Path) -> String {
    format!(".{}.", target.file_name().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(place: &Path) -> Vec<String> {
        let mut names = RealDisk.list(place).unwrap();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_came_meanwhile_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("target");
        let new = TemporaryFile::beside(&target).unwrap();
        fs::write(&target, "precious").unwrap();
        let refused = new.become_target().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
        fs::remove_file(&target).unwrap();
        TemporaryFile::beside(&target).unwrap().become_target().unwrap();
        assert!(target.exists());
    }

    #[test]
    fn a_temporary_file_replaces_its_target_or_goes() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("a.json");
        fs::write(&target, "old").unwrap();
        drop(TemporaryFile::beside(&target).unwrap());
        assert_eq!(names(place.path()), ["a.json"]);
        let new = TemporaryFile::beside(&target).unwrap();
        new.file().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        new.replace_target().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(place.path()), ["a.json"]);
    }

    #[test]
    fn only_leftovers_of_dead_writers_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let target = at("a.json");
        let written = TemporaryFile::beside(&target).unwrap();
        let id = random_ids::blob();
        let left = format!(".a.json.{id}.tmp");
        let others = [
            format!(".b.json.{id}.tmp"),
            format!("a.json.{id}.tmp"),
            format!(".a.json.{id}.tmp.orig"),
            ".a.json.mine.tmp".to_owned(),
            format!(".a.json.{}.tmp", id.simple()),
        ];
        for name in others.iter().chain([&left]) {
            fs::write(at(name), "").unwrap();
        }
        let link = format!(".a.json.{}.tmp", random_ids::blob());
        symlink("elsewhere", at(&link)).unwrap();
        sweep(&target);
        assert!(!at(&left).exists());
        assert!(others.iter().all(|name| at(name).exists()), "{:?}", names(place.path()));
        assert!(at(&link).is_symlink());
        assert!(written.path.exists(), "its writer is alive");
        sweep_directory(place.path());
        assert!(!at(&others[0]).exists(), "the leftover of another target");
        assert!(others[1..].iter().all(|name| at(name).exists()), "{:?}", names(place.path()));
        assert!(at(&link).is_symlink() && written.path.exists());
        written.replace_target().unwrap();
    }
}
