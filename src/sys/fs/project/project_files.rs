//! Notes what a file of the project is, and finds the same file later, when anything may be in its place.
//!
//! A path counts as one of the project if its target, with all links resolved, lies in the project or in the same part of another
//! worktree of its repository, and belongs to no bus. The file is opened below that directory without following links, so a link that is
//! put there meanwhile leads nowhere.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::domain::limits;
use crate::domain::messaging::AttachedFile;
use crate::domain::permission::{Ground, Policy, Verdict, judge};
use crate::sys::fs::contained_dir::{Beneath, BeneathError};
use crate::sys::fs::git_worktrees::Worktree;
use crate::sys::fs::real_path::{destination, resolve};

/// How much of a file is hashed at a time.
const PART_BYTES: usize = 64 * 1024;

/// The files of a project.
#[derive(Clone, Debug)]
pub struct ProjectFiles {
    project: PathBuf,
    home: Option<PathBuf>,
}

/// Why a path names no file that members may name to each other. The texts contain no path.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    #[error("it leads out of the project")]
    Outside,
    #[error("it belongs to the bus")]
    OfBus,
    #[error("there is no such file")]
    Missing,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is longer than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("its real path is longer than {} bytes, or is no text", limits::ATTACHED_PATH_BYTES)]
    Path,
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Why a file cannot be shown as text.
#[derive(Debug, thiserror::Error)]
pub enum NoReading {
    #[error("it is not UTF-8 text")]
    NotText,
    #[error(transparent)]
    File(#[from] FileProblem),
}

impl From<BeneathError> for FileProblem {
    fn from(error: BeneathError) -> Self {
        match error {
            BeneathError::Outside => Self::Outside,
            BeneathError::NotAFile => Self::NotAFile,
            BeneathError::TooLong { limit } => Self::TooLong { limit },
            BeneathError::Io(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            BeneathError::Io(error) => Self::Io(error),
        }
    }
}

impl ProjectFiles {
    /// Makes the files of a project, whose directory is looked up with each use.
    pub fn new(project: &Path) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Self { project: project.to_owned(), home }
    }

    /// Notes what a file is now, of at most `limit` bytes. A relative path begins at `cwd`, or at the project if it names no
    /// place of the project from there.
    /// Blocks.
    pub fn note(
        &self,
        cwd: Option<&Path>,
        path: &str,
        limit: u64,
    ) -> Result<AttachedFile, FileProblem> {
        let project = self.project.canonicalize()?;
        let found = cwd.and_then(|cwd| resolve(cwd, Path::new(path)));
        let found = found.filter(|found| found.exists() && self.root_of(&project, found).is_some());
        let place = found.or_else(|| resolve(&project, Path::new(path)));
        let place = place.ok_or(FileProblem::Missing)?;
        let (file, name) = self.open(&project, &place)?;
        let (bytes, sha256) = digest(file, limit)?;
        Ok(AttachedFile { path: name, bytes, sha256 })
    }

    /// Says whether a file is no longer what was noted. Blocks.
    pub fn is_changed(&self, noted: &AttachedFile) -> Result<bool, FileProblem> {
        let project = self.project.canonicalize()?;
        let (file, _) = self.find(&project, noted)?;
        if file.metadata()?.len() != noted.bytes {
            return Ok(true);
        }
        match digest(file, limits::ATTACHED_FILES_BYTES) {
            Ok((_, sha256)) => Ok(sha256 != noted.sha256),
            // It grows at this moment.
            Err(FileProblem::TooLong { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reads a noted file as it is now. Says whether it is no longer what was noted. Blocks.
    pub fn read(&self, noted: &AttachedFile) -> Result<(String, bool), NoReading> {
        let project = self.project.canonicalize().map_err(FileProblem::from)?;
        let (file, _) = self.find(&project, noted)?;
        let (limit, mut bytes) = (limits::MAX_FILE_BYTES, Vec::new());
        file.take(limit + 1).read_to_end(&mut bytes).map_err(FileProblem::from)?;
        if bytes.len() as u64 > limit {
            return Err(FileProblem::TooLong { limit }.into());
        }
        let is_changed = HEXLOWER.encode(&Sha256::digest(&bytes)) != noted.sha256;
        let text = String::from_utf8(bytes).map_err(|_| NoReading::NotText)?;
        Ok((text, is_changed))
    }

    fn find(&self, project: &Path, noted: &AttachedFile) -> Result<(File, String), FileProblem> {
        let place = resolve(project, Path::new(&noted.path)).ok_or(FileProblem::Missing)?;
        self.open(project, &place)
    }

    /// Opens a place with its links resolved. Returns its name too: relative to the project, or absolute outside of it.
    fn open(&self, project: &Path, place: &Path) -> Result<(File, String), FileProblem> {
        let root = self.root_of(project, place).ok_or(FileProblem::Outside)?;
        let bus = Path::new(".claude/bridge");
        let buses =
            [project, &root].map(|root| destination(root, bus).unwrap_or_else(|| root.join(bus)));
        let ground = Ground {
            project: root.clone(),
            buses: buses.into(),
            knows_all_guarded: true,
            ..Ground::default()
        };
        if judge(Policy::Rules, "read", &[Some(place.to_owned())], &ground) != Verdict::Allow {
            return Err(FileProblem::OfBus);
        }
        let inner = place.strip_prefix(&root).map_err(|_| FileProblem::Outside)?;
        if inner.as_os_str().is_empty() {
            return Err(FileProblem::NotAFile);
        }
        let name = place.strip_prefix(project).unwrap_or(place).to_str();
        let name = name.filter(|name| {
            name.len() <= limits::ATTACHED_PATH_BYTES && !name.contains(char::is_control)
        });
        let name = name.ok_or(FileProblem::Path)?.to_owned();
        Ok((Beneath::open(&root)?.open_to_read(inner)?, name))
    }

    /// Returns the directory of the project that a place is in: the project itself, or the same part of another worktree of its
    /// repository, but not one that holds the home directory or the project.
    fn root_of(&self, project: &Path, place: &Path) -> Option<PathBuf> {
        if place.starts_with(project) {
            return Some(project.to_owned());
        }
        let own = Worktree::around(project)?;
        let mut around = Worktree::all_around(place.parent()?);
        let there = around.find(|there| there.is_of_same_repository(&own))?;
        let root = there.root.join(project.strip_prefix(&own.root).ok()?);
        let home = self.home.as_ref().and_then(|home| fs::canonicalize(home).ok());
        let is_too_wide = root.parent().is_none()
            || project.starts_with(&root)
            || home.is_some_and(|home| home.starts_with(&root));
        (place.starts_with(&root) && !is_too_wide).then_some(root)
    }
}

/// Returns the length and the hash of a file of at most `limit` bytes.
fn digest(mut file: File, limit: u64) -> Result<(u64, String), FileProblem> {
    let (mut hasher, mut bytes, mut part) = (Sha256::new(), 0_u64, vec![0; PART_BYTES]);
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            return Ok((bytes, HEXLOWER.encode(&hasher.finalize())));
        }
        bytes += read as u64;
        if bytes > limit {
            return Err(FileProblem::TooLong { limit });
        }
        hasher.update(&part[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;

    /// A project with all kinds of files, and a directory outside of it.
    fn stage() -> (tempfile::TempDir, PathBuf, ProjectFiles) {
        let guard = tempfile::tempdir().unwrap();
        let base = guard.path().canonicalize().unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir_all(project.join(".claude/bridge")).unwrap();
        fs::create_dir(base.join("outside")).unwrap();
        fs::write(base.join("outside/secret"), "s").unwrap();
        fs::write(project.join(".claude/bridge/bus.json"), "{}").unwrap();
        fs::write(project.join("src/a.rs"), "fn a() {}\n").unwrap();
        symlink("src/a.rs", project.join("in")).unwrap();
        symlink("../outside/secret", project.join("out")).unwrap();
        symlink("../outside", project.join("away")).unwrap();
        symlink(".claude/bridge/bus.json", project.join("bus")).unwrap();
        nix::unistd::mkfifo(&project.join("pipe"), Mode::S_IRWXU).unwrap();
        let files = ProjectFiles { home: Some(base.clone()), ..ProjectFiles::new(&project) };
        (guard, base, files)
    }

    #[test]
    fn a_file_is_noted_by_its_real_place_in_the_project() {
        let (_guard, base, files) = stage();
        let project = base.join("project");
        let absolute = project.join("src/a.rs");
        let src = project.join("src");
        for (cwd, path) in [
            (None, "src/a.rs"),
            (None, "in"),
            (None, "src/../src/./a.rs"),
            (None, absolute.to_str().unwrap()),
            (Some(src.as_path()), "a.rs"),
            // A model that works in a directory may mean the project all the same.
            (Some(src.as_path()), "src/a.rs"),
        ] {
            let noted = files.note(cwd, path, 10).unwrap();
            assert_eq!((noted.path.as_str(), noted.bytes), ("src/a.rs", 10), "{path}");
            assert_eq!(noted.sha256, HEXLOWER.encode(&Sha256::digest("fn a() {}\n")));
            assert!(!files.is_changed(&noted).unwrap());
        }
    }

    #[test]
    fn what_is_no_file_of_the_project_is_refused_without_waiting() {
        let (_guard, base, files) = stage();
        let outside = base.join("outside/secret");
        for (path, problem) in [
            ("out", "leads out of the project"),
            ("away/secret", "leads out of the project"),
            ("../outside/secret", "leads out of the project"),
            (outside.to_str().unwrap(), "leads out of the project"),
            ("/dev/zero", "leads out of the project"),
            (".claude/bridge/bus.json", "belongs to the bus"),
            ("bus", "belongs to the bus"),
            ("src", "not a regular file"),
            (".", "not a regular file"),
            ("pipe", "not a regular file"),
            ("none", "no such file"),
            ("", "not a regular file"),
            ("a\0b", "no such file"),
            ("src/a.rs/x", "no such file"),
        ] {
            let refused = files.note(Some(&base), path, 100).unwrap_err().to_string();
            assert!(refused.contains(problem), "{path:?}: {refused}");
        }
        let refused = files.note(None, "src/a.rs", 9).unwrap_err().to_string();
        assert_eq!(refused, "it is longer than 9 bytes");
    }

    #[test]
    fn a_file_is_read_as_it_is_now_and_what_took_its_place_is_checked_again() {
        let (_guard, base, files) = stage();
        let place = base.join("project/src/a.rs");
        let noted = files.note(None, "src/a.rs", 100).unwrap();
        assert_eq!(files.read(&noted).unwrap(), ("fn a() {}\n".to_owned(), false));
        fs::write(&place, "fn b() {}\n").unwrap();
        assert!(files.is_changed(&noted).unwrap());
        assert_eq!(files.read(&noted).unwrap(), ("fn b() {}\n".to_owned(), true));
        fs::write(&place, "longer than before").unwrap();
        assert!(files.is_changed(&noted).unwrap());
        fs::write(&place, [0xff, 0xfe]).unwrap();
        assert!(matches!(files.read(&noted), Err(NoReading::NotText)));
        File::create(&place).unwrap().set_len(limits::MAX_FILE_BYTES + 1).unwrap();
        let problem = files.read(&noted).unwrap_err().to_string();
        assert_eq!(problem, "it is longer than 8388608 bytes");
        fs::remove_file(&place).unwrap();
        let gone = files.read(&noted).unwrap_err().to_string();
        assert_eq!(gone, "there is no such file");
        symlink("../../outside/secret", &place).unwrap();
        let out = files.read(&noted).unwrap_err().to_string();
        assert_eq!(out, "it leads out of the project");
        assert!(matches!(files.is_changed(&noted), Err(FileProblem::Outside)));
    }

    #[test]
    fn a_worktree_of_the_same_repository_is_the_project_too_but_never_the_home_directory() {
        let (_guard, base, files) = stage();
        let own = base.join("project/.git/worktrees/topic");
        fs::create_dir_all(&own).unwrap();
        fs::write(base.join("project/.git/HEAD"), "").unwrap();
        fs::create_dir(base.join("topic")).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", base.join("topic/.git").display())).unwrap();
        fs::write(base.join("topic/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(base.join("topic/b.rs"), "b").unwrap();
        let topic = base.join("topic");
        let noted = files.note(Some(&topic), "b.rs", 100).unwrap();
        assert_eq!(noted.path, topic.join("b.rs").to_str().unwrap());
        assert_eq!(files.read(&noted).unwrap(), ("b".to_owned(), false));
        let at_home = ProjectFiles { home: Some(topic.clone()), ..files };
        let absolute = topic.join("b.rs");
        let refused = at_home.note(None, absolute.to_str().unwrap(), 100);
        assert!(matches!(refused, Err(FileProblem::Outside)), "{refused:?}");
    }
}
