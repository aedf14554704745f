//! Which project a command is about: whose team, whose bus.
//!
//! `--project`; else, in a linked git worktree, the main worktree, so that the sessions in several worktrees of a repository
//! share a bus; else the nearest parent that has a bus; else the current directory. Links are resolved.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The directory of the bus in a project.
const BUS: &str = ".claude/bridge";

/// Why there is no such project.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProjectError {
    /// What `--project` names cannot be used.
    #[error("the project `{}` cannot be used: {source}", path.display())]
    Unusable {
        /// The path as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is there and is no directory.
    #[error("the project `{}` is not a directory: name the directory that the team works in", path.display())]
    NotADirectory {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The current directory is gone, or may not be read.
    #[error("the current directory cannot be used: {source}; name the project with --project")]
    NoCurrentDirectory {
        /// What the system said.
        source: io::Error,
    },
}

/// Finds the project: the one that is named, else that of the current directory.
pub(super) fn find(named: Option<&Path>) -> Result<PathBuf, ProjectError> {
    if let Some(path) = named {
        let resolved = fs::canonicalize(path).map_err(|source| ProjectError::Unusable {
            path: path.to_owned(),
            source,
        })?;
        return if resolved.is_dir() {
            Ok(resolved)
        } else {
            Err(ProjectError::NotADirectory {
                path: path.to_owned(),
            })
        };
    }
    let current = std::env::current_dir()
        .and_then(fs::canonicalize)
        .map_err(|source| ProjectError::NoCurrentDirectory { source })?;
    Ok(of_directory(&current))
}

/// Finds the project that a directory belongs to, as if it were the current one.
pub(super) fn find_from(directory: &Path) -> Result<PathBuf, ProjectError> {
    let resolved = fs::canonicalize(directory).map_err(|source| ProjectError::Unusable {
        path: directory.to_owned(),
        source,
    })?;
    Ok(of_directory(&resolved))
}

/// Returns the directory of a project's bus.
pub(super) fn bus_directory(project: &Path) -> PathBuf {
    project.join(BUS)
}

/// Finds the project that a directory, with its links resolved, belongs to.
fn of_directory(directory: &Path) -> PathBuf {
    let mut parents = directory.ancestors();
    main_worktree(directory)
        .or_else(|| {
            parents
                .find(|parent| parent.join(BUS).is_dir())
                .map(Path::to_owned)
        })
        .unwrap_or_else(|| directory.to_owned())
}

/// Returns the main worktree, if the directory is in a linked one.
///
/// A linked worktree has a file `.git` that says `gitdir: …/.git/worktrees/NAME`; the file `commondir` in there leads to the
/// `.git` that all worktrees share (gitrepository-layout(5)). A submodule has such a file too, and no `commondir`.
fn main_worktree(directory: &Path) -> Option<PathBuf> {
    let worktree = directory
        .ancestors()
        .find(|parent| parent.join(".git").exists())?;
    let file = worktree.join(".git");
    if !file.is_file() {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let own = worktree.join(text.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    // A bare repository has no main worktree.
    let is_in_a_worktree =
        common.components().next_back() == Some(Component::Normal(".git".as_ref()));
    is_in_a_worktree.then(|| common.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with its own links resolved, and folders in it.
    fn folders(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let guard = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(guard.path()).unwrap();
        for name in names {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        (guard, root)
    }

    #[test]
    fn a_named_project_wins_with_its_links_resolved() {
        let (_guard, root) = folders(&["real/.claude/bridge"]);
        symlink(root.join("real"), root.join("link")).unwrap();
        assert_eq!(find(Some(&root.join("link"))).unwrap(), root.join("real"));
    }

    #[test]
    fn a_named_project_must_be_a_directory() {
        let (_guard, root) = folders(&[]);
        let missing = find(Some(&root.join("missing"))).unwrap_err();
        assert!(
            matches!(missing, ProjectError::Unusable { .. }),
            "{missing}"
        );
        fs::write(root.join("file"), "").unwrap();
        let file = find(Some(&root.join("file"))).unwrap_err();
        assert!(file.to_string().contains("is not a directory"), "{file}");
    }

    #[test]
    fn the_nearest_parent_with_a_bus_is_the_project() {
        let (_guard, root) = folders(&[".claude/bridge", "inner/.claude/bridge", "inner/src/deep"]);
        assert_eq!(
            of_directory(&root.join("inner/src/deep")),
            root.join("inner")
        );
        let (_guard, root) = folders(&[".claude/bridge", "src"]);
        assert_eq!(of_directory(&root.join("src")), root);
    }

    #[test]
    fn without_a_bus_the_directory_itself_is_the_project() {
        let (_guard, root) = folders(&["src", ".git"]);
        assert_eq!(of_directory(&root.join("src")), root.join("src"));
    }

    #[test]
    fn a_linked_worktree_belongs_to_the_main_one() {
        let (_guard, root) = folders(&[
            "main/.git/worktrees/topic",
            "topic/src",
            "topic/.claude/bridge",
        ]);
        let own = root.join("main/.git/worktrees/topic");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(
            root.join("topic/.git"),
            format!("gitdir: {}\n", own.display()),
        )
        .unwrap();
        assert_eq!(of_directory(&root.join("topic/src")), root.join("main"));
        fs::write(
            root.join("topic/.git"),
            "gitdir: ../main/.git/worktrees/topic\n",
        )
        .unwrap();
        assert_eq!(of_directory(&root.join("topic")), root.join("main"));
    }

    #[test]
    fn a_submodule_and_a_bare_repository_have_no_main_worktree() {
        let (_guard, root) = folders(&[
            "main/.git/modules/part",
            "main/part",
            "bare.git/worktrees/topic",
            "topic",
        ]);
        fs::write(
            root.join("main/part/.git"),
            "gitdir: ../.git/modules/part\n",
        )
        .unwrap();
        assert_eq!(
            of_directory(&root.join("main/part")),
            root.join("main/part")
        );

        let own = root.join("bare.git/worktrees/topic");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(
            root.join("topic/.git"),
            format!("gitdir: {}\n", own.display()),
        )
        .unwrap();
        assert_eq!(of_directory(&root.join("topic")), root.join("topic"));
    }
}
