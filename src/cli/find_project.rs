//! Finds the project of a command, and so its team and bus.
//!
//! The project is the one given with `--project`. Else, inside a git repository, it is the root of the main worktree, or the
//! nearest parent within it that has a bus, so that the sessions in all worktrees of a repository share one. Else it is the nearest
//! parent that has a bus, else the current directory. Links are resolved. The home directory, its parents, and the root of the file
//! system are never projects: a bus there would be shared by everything below.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::disk;
use crate::sys::fs::git_worktrees::Worktree;

/// The directory of the bus in a project.
const BUS: &str = ".claude/bridge";

/// A project, and the directory in which this process works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Project {
    /// The directory that has the bus.
    pub(super) root: PathBuf,
    /// Where agents of an orchestrator started here work: the root, or the same place in the linked worktree that contains the
    /// current directory.
    pub(super) ground: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ProjectError {
    /// The path given with `--project` cannot be used.
    #[error("cannot use the project `{}`: {source}", path.shown())]
    Unusable { path: PathBuf, source: io::Error },
    /// It exists and is not a directory.
    #[error("the project `{}` is not a directory", path.shown())]
    NotADirectory { path: PathBuf },
    /// The current directory is gone, or may not be read.
    #[error("cannot use the current directory: {source}")]
    NoCurrentDirectory { source: io::Error },
    /// The current directory is the home directory, or contains it.
    #[error("`{}` cannot be a project: it is or contains your home directory", path.shown())]
    TooWide { path: PathBuf },
}

impl ProjectError {
    /// Returns what to do about it, if that is known.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unusable { .. } => None,
            Self::NotADirectory { .. } => Some("name the project's directory"),
            Self::NoCurrentDirectory { .. } => Some("name the project with --project"),
            Self::TooWide { .. } => {
                Some("start in the project's directory, or name that directory")
            }
        }
    }
}

impl Project {
    pub(super) fn bus_directory(&self) -> PathBuf {
        bus_directory(&self.root)
    }
}

/// Finds the project: the named one, else that of the current directory.
pub(super) fn find(named: Option<&Path>) -> Result<Project, ProjectError> {
    if let Some(path) = named {
        let resolved = fs::canonicalize(path)
            .map_err(|source| ProjectError::Unusable { path: path.to_owned(), source })?;
        return if resolved.is_dir() {
            Ok(Project { root: resolved.clone(), ground: resolved })
        } else {
            Err(ProjectError::NotADirectory { path: path.to_owned() })
        };
    }
    of_directory(&current_directory()?, home().as_deref())
}

/// Returns the current directory with its links resolved.
pub(super) fn current_directory() -> Result<PathBuf, ProjectError> {
    std::env::current_dir()
        .and_then(fs::canonicalize)
        .map_err(|source| ProjectError::NoCurrentDirectory { source })
}

/// Finds the project that a directory belongs to, as if it were the current one.
pub(super) fn find_from(directory: &Path) -> Result<Project, ProjectError> {
    let resolved = fs::canonicalize(directory)
        .map_err(|source| ProjectError::Unusable { path: directory.to_owned(), source })?;
    of_directory(&resolved, home().as_deref())
}

/// Says whether one of these places is in a project, in the project or worktree of the current directory, or in another worktree of
/// either repository.
pub(super) fn is_around(places: &[PathBuf], project: &Path) -> bool {
    let home = home();
    let here = current_directory().ok();
    let found = here.as_deref().and_then(|here| of_directory(here, home.as_deref()).ok());
    let (root, ground) = found.map(|project| (project.root, project.ground)).unzip();
    let mut grounds: Vec<_> =
        [Some(project.to_owned()), root, ground].into_iter().flatten().collect();
    let repositories = grounds.iter().filter_map(|ground| Worktree::around(ground));
    // A home that is a repository of settings is no project.
    let is_wide = |root: &Path| is_too_wide(root, home.as_deref());
    let repositories: Vec<_> =
        repositories.filter(|repository| !is_wide(&repository.root)).collect();
    grounds.extend(repositories.iter().map(|repository| repository.root.clone()));
    places.iter().any(|place| {
        grounds.iter().any(|ground| place.starts_with(ground))
            || Worktree::around(place).is_some_and(|worktree| {
                repositories.iter().any(|repository| repository.is_of_same_repository(&worktree))
            })
    })
}

/// Says whether a directory is never a project: the home directory, or one around it. The root of the file system contains everything,
/// with or without a home.
fn is_too_wide(place: &Path, home: Option<&Path>) -> bool {
    place.parent().is_none() || home.is_some_and(|home| home.starts_with(place))
}

/// Returns the directory of a project's bus.
pub(super) fn bus_directory(project: &Path) -> PathBuf {
    project.join(BUS)
}

/// Returns the project whose bus has this directory.
pub(super) fn of_bus(directory: &Path) -> Option<PathBuf> {
    let project = directory.parent()?.parent()?;
    (bus_directory(project) == directory).then(|| project.to_owned())
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    fs::canonicalize(home).ok()
}

/// Finds the project that a directory, with its links resolved, belongs to.
fn of_directory(directory: &Path, home: Option<&Path>) -> Result<Project, ProjectError> {
    let is_too_wide = |place: &Path| is_too_wide(place, home);
    // In a world-writable directory, another user's bus must not capture every project below.
    let has_bus = |place: &Path| {
        let bus = place.join(BUS);
        bus.is_dir() && disk::belongs_to_us(&bus)
    };
    if let Some(worktree) = Worktree::around(directory) {
        let main = worktree.main().unwrap_or(&worktree.root);
        let inner = directory.strip_prefix(&worktree.root);
        let parts = inner.unwrap_or(Path::new("")).ancestors();
        let part = parts
            .take_while(|part| !part.as_os_str().is_empty())
            .find(|part| has_bus(&main.join(part)));
        let at = |root: &Path| part.map_or_else(|| root.to_owned(), |part| root.join(part));
        let project = Project { root: at(main), ground: at(&worktree.root) };
        // Some users keep their settings in a repository that is their home: its other contents are not one project.
        if !is_too_wide(&project.root) {
            return Ok(project);
        }
    }
    let parents = directory.ancestors();
    let root = parents
        .take_while(|parent| !is_too_wide(parent))
        .find(|parent| has_bus(parent))
        .unwrap_or(directory);
    if is_too_wide(root) {
        return Err(ProjectError::TooWide { path: root.to_owned() });
    }
    Ok(Project { root: root.to_owned(), ground: root.to_owned() })
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

    /// Checks the project and the ground of a directory, all below a root. The home is a directory in it.
    #[track_caller]
    fn check(root: &Path, directory: &str, (project, ground): (&str, &str)) {
        let found = of_directory(&root.join(directory), Some(&root.join("home")));
        let expected = Project { root: root.join(project), ground: root.join(ground) };
        assert_eq!(found.unwrap(), expected, "{directory}");
    }

    /// Ties a linked worktree to the repository of another directory, as git does.
    fn link(root: &Path, main: &str, name: &str) {
        let own = root.join(main).join(".git/worktrees").join(name);
        let dot_git = root.join(name).join(".git");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", dot_git.display())).unwrap();
        fs::write(dot_git, format!("gitdir: {}\n", own.display())).unwrap();
    }

    #[test]
    fn a_named_project_wins_with_its_links_resolved() {
        let (_guard, root) = folders(&["real/.claude/bridge"]);
        symlink(root.join("real"), root.join("link")).unwrap();
        let found = find(Some(&root.join("link"))).unwrap();
        assert_eq!((&found.root, &found.ground), (&root.join("real"), &root.join("real")));
    }

    #[test]
    fn a_named_project_must_be_a_directory() {
        let (_guard, root) = folders(&[]);
        let missing = find(Some(&root.join("missing"))).unwrap_err();
        assert!(matches!(missing, ProjectError::Unusable { .. }), "{missing}");
        fs::write(root.join("file"), "").unwrap();
        let file = find(Some(&root.join("file"))).unwrap_err();
        assert!(file.to_string().contains("is not a directory"), "{file}");
    }

    #[test]
    fn outside_of_git_the_nearest_parent_with_a_bus_is_the_project_else_the_directory_itself() {
        let (_guard, root) =
            folders(&["a/.claude/bridge", "a/b/.claude/bridge", "a/b/c", "a/d", "e/f"]);
        check(&root, "a/b/c", ("a/b", "a/b"));
        check(&root, "a/d", ("a", "a"));
        check(&root, "e/f", ("e/f", "e/f"));
    }

    #[test]
    fn in_a_repository_its_root_is_the_project_and_the_search_ends_there() {
        let (_guard, root) = folders(&["a/.claude/bridge", "a/r/.git/HEAD", "a/r/src/deep"]);
        check(&root, "a/r/src/deep", ("a/r", "a/r"));
        check(&root, "a/r", ("a/r", "a/r"));
        fs::create_dir_all(root.join("a/r/src/.claude/bridge")).unwrap();
        check(&root, "a/r/src/deep", ("a/r/src", "a/r/src"));
        check(&root, "a/r", ("a/r", "a/r"));
    }

    #[test]
    fn a_linked_worktree_belongs_to_the_main_one_and_its_agents_work_in_it() {
        let (_guard, root) =
            folders(&["main/.git/HEAD", "topic/src", "topic/part/x", "topic/.claude/bridge"]);
        link(&root, "main", "topic");
        check(&root, "topic/src", ("main", "topic"));
        check(&root, "topic", ("main", "topic"));
        fs::create_dir_all(root.join("main/part/.claude/bridge")).unwrap();
        check(&root, "topic/part/x", ("main/part", "topic/part"));
        check(&root, "topic/src", ("main", "topic"));
    }

    #[test]
    fn a_worktree_without_a_main_one_is_its_own_project() {
        let (_guard, root) = folders(&["main/.git/modules/part", "main/part/src", "liar"]);
        fs::write(root.join("main/part/.git"), "gitdir: ../.git/modules/part\n").unwrap();
        check(&root, "main/part/src", ("main/part", "main/part"));
        // It names a repository that does not know it.
        fs::write(root.join("liar/.git"), "gitdir: ../main/.git\n").unwrap();
        check(&root, "liar", ("liar", "liar"));
    }

    #[test]
    fn a_file_of_the_repository_is_around_its_projects() {
        let (_guard, root) = folders(&["main/.git/HEAD", "main/part", "topic", "other/.git/HEAD"]);
        link(&root, "main", "topic");
        for (place, project, expected) in [
            ("main/x.toml", "main", true),
            ("main/x.toml", "main/part", true),
            ("topic/x.toml", "main", true),
            ("main/part/x.toml", "topic", true),
            ("other/x.toml", "main", false),
            ("x.toml", "main", false),
            ("no-repository/x.toml", "no-repository", true),
        ] {
            let is_around = is_around(&[root.join(place)], &root.join(project));
            assert_eq!(is_around, expected, "{place} {project}");
        }
    }

    #[test]
    fn neither_the_home_directory_nor_what_is_around_it_is_a_project() {
        let (_guard, root) = folders(&[
            ".claude/bridge",
            "home/.claude/bridge",
            "home/.git/HEAD",
            "home/x/y",
            "home/z/.claude/bridge",
            "home/z/src",
        ]);
        // Neither an old bus there nor a repository of settings makes it one.
        check(&root, "home/x/y", ("home/x/y", "home/x/y"));
        check(&root, "home/z/src", ("home/z", "home/z"));
        for wide in [root.join("home"), root.clone(), PathBuf::from("/")] {
            let refused = of_directory(&wide, Some(&root.join("home"))).unwrap_err();
            assert!(
                refused.hint().is_some_and(|hint| hint.contains("name that directory")),
                "{refused}"
            );
        }
        assert!(of_directory(Path::new("/"), None).is_err());
    }
}
