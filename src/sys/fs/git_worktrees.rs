//! Finds the worktrees of a git repository from git's own files (gitrepository-layout(5)), without running git.
//!
//! A project may claim to belong to another repository. So a linked worktree counts only if its repository names it too, and a symbolic
//! link in place of `.git` is not followed.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use nix::unistd::geteuid;

use super::disk::NO_LINK;

/// The most bytes of a file that holds one path.
const LINK_BYTES: u64 = 8 * 1024;

/// A directory with a checkout of a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// The directory that has `.git`, links resolved.
    pub root: PathBuf,
    /// The directory that all worktrees of its repository share.
    common: PathBuf,
}

impl Worktree {
    /// Finds the innermost worktree that a directory, with its links resolved, is in.
    pub fn around(directory: &Path) -> Option<Self> {
        Self::all_around(directory).next()
    }

    /// Finds all worktrees that a directory, with its links resolved, is in, the innermost first.
    pub fn all_around(directory: &Path) -> impl Iterator<Item = Self> {
        directory.ancestors().filter_map(Self::at)
    }

    /// Returns the worktree with this root, if there is one.
    fn at(root: &Path) -> Option<Self> {
        let dot_git = root.join(".git");
        let metadata = fs::symlink_metadata(&dot_git).ok()?;
        // Another user may create `.git` in a world-writable directory, and an empty one may be an accident: git ignores these too.
        let is_empty = metadata.is_dir() && !dot_git.join("HEAD").exists();
        if is_empty || metadata.uid() != geteuid().as_raw() {
            return None;
        }
        let linked = metadata.is_file().then(|| linked(root, &dot_git)).flatten();
        Some(Self { root: root.to_owned(), common: linked.unwrap_or(dot_git) })
    }

    /// Returns the root of the repository's main worktree; none if the repository is bare.
    pub fn main(&self) -> Option<&Path> {
        let is_in_a_worktree =
            self.common.components().next_back() == Some(Component::Normal(".git".as_ref()));
        is_in_a_worktree.then(|| self.common.parent()).flatten()
    }

    /// Returns the directory that all worktrees of the repository share.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// Says whether both are worktrees of one repository.
    pub fn is_of_same_repository(&self, other: &Self) -> bool {
        self.common == other.common
    }
}

/// Returns the directory that a linked worktree shares with the others of its repository.
///
/// Its file `.git` says `gitdir: …/.git/worktrees/NAME`. There, `commondir` leads to the shared `.git`, and `gitdir` back to the file.
/// A submodule has such a file too, but no `commondir`.
fn linked(root: &Path, dot_git: &Path) -> Option<PathBuf> {
    let text = line_of(dot_git)?;
    let own = fs::canonicalize(root.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
    let target = |name: &str| {
        let path = line_of(&own.join(name))?;
        fs::canonicalize(own.join(path.trim_end_matches('\n'))).ok()
    };
    let common = target("commondir")?;
    let is_known = own.parent() == Some(&common.join("worktrees")) && target("gitdir")? == dot_git;
    is_known.then_some(common)
}

/// Reads a file that holds one path. Anything else may be in its place, even an endless file.
fn line_of(path: &Path) -> Option<String> {
    let file = fs::OpenOptions::new().read(true).custom_flags(NO_LINK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut line = String::new();
    file.take(LINK_BYTES).read_to_string(&mut line).ok()?;
    Some(line)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Creates a main worktree, one linked to it, and further folders.
    fn stage(folders: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(guard.path()).unwrap();
        let usual = ["main/.git/HEAD", "main/.git/worktrees/topic", "topic/src"];
        for folder in usual.iter().chain(folders) {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        link(&base, "main/.git", "topic");
        (guard, base)
    }

    /// Ties a linked worktree to its repository, as git does.
    fn link(base: &Path, common: &str, name: &str) {
        let own = base.join(common).join("worktrees").join(name);
        let dot_git = base.join(name).join(".git");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", dot_git.display())).unwrap();
        fs::write(dot_git, format!("gitdir: {}\n", own.display())).unwrap();
    }

    fn around(base: &Path, directory: &str) -> Worktree {
        Worktree::around(&base.join(directory)).unwrap()
    }

    #[test]
    fn a_linked_worktree_and_the_main_one_are_of_one_repository() {
        let (_guard, base) = stage(&["main/src"]);
        let (main, topic) = (around(&base, "main/src"), around(&base, "topic/src"));
        assert_eq!(main.root, base.join("main"));
        assert_eq!(topic.root, base.join("topic"));
        assert!(topic.is_of_same_repository(&main));
        for worktree in [main, topic] {
            assert_eq!(worktree.main(), Some(base.join("main").as_path()));
        }
        // Newer versions of git write relative paths.
        fs::write(base.join("topic/.git"), "gitdir: ../main/.git/worktrees/topic\n").unwrap();
        let back = base.join("main/.git/worktrees/topic/gitdir");
        fs::write(back, "../../../../topic/.git\n").unwrap();
        assert!(around(&base, "topic").is_of_same_repository(&around(&base, "main")));
    }

    #[test]
    fn a_directory_that_only_claims_to_belong_to_a_repository_does_not() {
        let (_guard, base) = stage(&["liar", "thief", "evil/own"]);
        let main = around(&base, "main");
        // The repository knows another directory under that name.
        fs::copy(base.join("topic/.git"), base.join("liar/.git")).unwrap();
        symlink(base.join("main/.git"), base.join("thief/.git")).unwrap();
        // Its own files claim to share those of the other repository.
        let common = base.join("main/.git");
        fs::write(base.join("evil/own/commondir"), common.display().to_string()).unwrap();
        let dot_git = base.join("evil/.git");
        fs::write(base.join("evil/own/gitdir"), dot_git.display().to_string()).unwrap();
        fs::write(dot_git, "gitdir: own\n").unwrap();
        for name in ["liar", "thief", "evil"] {
            let worktree = around(&base, name);
            assert_eq!(worktree.root, base.join(name));
            assert!(!worktree.is_of_same_repository(&main), "{name}");
            assert_eq!(worktree.main(), Some(base.join(name).as_path()), "{name}");
        }
    }

    #[test]
    fn a_directory_that_is_only_named_git_makes_no_worktree() {
        let (_guard, base) = stage(&["main/deep/.git/info"]);
        assert_eq!(around(&base, "main/deep").root, base.join("main"));
    }

    #[test]
    fn a_submodule_is_its_own_main_worktree_and_a_bare_repository_has_none() {
        let folders = ["main/.git/modules/part", "main/part", "bare.git/worktrees/leaf", "leaf"];
        let (_guard, base) = stage(&folders);
        fs::write(base.join("main/part/.git"), "gitdir: ../.git/modules/part\n").unwrap();
        let part = around(&base, "main/part");
        assert_eq!(part.main(), Some(base.join("main/part").as_path()));
        let all: Vec<_> = Worktree::all_around(&base.join("main/part")).collect();
        assert_eq!(all, [part, around(&base, "main")]);

        link(&base, "bare.git", "leaf");
        let leaf = around(&base, "leaf");
        assert_eq!((leaf.root.clone(), leaf.main()), (base.join("leaf"), None));
    }
}
