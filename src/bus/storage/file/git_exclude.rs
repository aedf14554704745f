//! Keeps the bus directory out of git, by the repository's own `info/exclude`, which git does not share.
//!
//! A project may bring symbolic or hard links in place of these files. None is followed, and nothing is created outside of a
//! repository that [`Worktree`] accepts.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::sys::fs::disk::{NO_LINK, make_directory};
use crate::sys::fs::git_worktrees::Worktree;

/// The most bytes read of an exclude file: people write it by hand.
const MAX_BYTES: u64 = 1024 * 1024;

/// Only the owner writes to the file, whatever the umask.
const OWNER_WRITES: u32 = 0o644;

/// Adds the directory to the exclude file of the repository around `project`, if there is one and it is not listed yet.
pub(crate) fn from_git(project: &Path, directory: &Path) -> io::Result<()> {
    let Some(worktree) = Worktree::around(project) else {
        return Ok(());
    };
    let Ok(relative) = directory.strip_prefix(&worktree.root) else {
        return Ok(());
    };
    let Some(line) = relative.to_str().map(pattern) else {
        return Ok(());
    };
    if line.contains(['\n', '\r']) {
        // A pattern is one line, and cannot express a line break.
        return Err(io::Error::other("its path contains a line break"));
    }
    let info = worktree.common().join("info");
    // Each directory itself, never a link: it could lead to another user's file.
    for directory in [worktree.common(), &info] {
        match fs::symlink_metadata(directory) {
            Ok(metadata) if metadata.is_dir() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory == info => {
                make_directory(&info)?;
            }
            Ok(_) => {
                return Err(io::Error::other("it is not a directory inside the repository"));
            }
            Err(error) => return Err(error),
        }
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(OWNER_WRITES)
        .custom_flags(NO_LINK)
        .open(info.join("exclude"))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("`info/exclude` is not a plain file"));
    }
    if metadata.nlink() > 1 {
        let why = "`info/exclude` has a second name (a hard link), so it may be another user's \
            file";
        return Err(io::Error::other(why));
    }
    let mut present = String::new();
    (&mut file).take(MAX_BYTES).read_to_string(&mut present)?;
    if present.lines().any(|present| present.trim_end() == line) {
        return Ok(());
    }
    let before = if present.is_empty() || present.ends_with('\n') { "" } else { "\n" };
    // A single write: at worst, two processes at once both add the line.
    file.write_all(format!("{before}{line}\n").as_bytes())
}

/// Writes a relative path as a pattern that matches that directory alone.
fn pattern(relative: &str) -> String {
    let mut line = String::with_capacity(relative.len() + 1);
    for character in relative.chars() {
        if matches!(character, '*' | '?' | '[' | '\\' | ' ')
            || (line.is_empty() && matches!(character, '!' | '#'))
        {
            line.push('\\');
        }
        line.push(character);
    }
    line.push('/');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], project: &str, expected: (&str, &str)) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let project = directory.path().canonicalize().unwrap().join(project);
        fs::create_dir_all(&project).unwrap();
        for _ in 0..2 {
            from_git(&project, &project.join(".claude/bridge")).unwrap();
        }
        let (path, text) = expected;
        assert_eq!(fs::read_to_string(directory.path().join(path)).unwrap_or_default(), text);
    }

    #[test]
    fn the_bus_is_excluded_once() {
        check(
            &[(".git/HEAD", ""), (".git/info/exclude", "# mine")],
            "",
            (".git/info/exclude", "# mine\n.claude/bridge/\n"),
        );
    }

    #[test]
    fn a_project_below_the_root_is_excluded_by_its_path() {
        check(
            &[(".git/HEAD", "")],
            "a/my [app]",
            (".git/info/exclude", "a/my\\ \\[app]/.claude/bridge/\n"),
        );
    }

    #[test]
    fn a_linked_worktree_uses_the_exclude_file_of_its_repository() {
        check(
            &[
                ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
                ("main/.git/worktrees/tree/commondir", "../..\n"),
                ("main/.git/worktrees/tree/gitdir", "../../../../tree/.git\n"),
            ],
            "tree",
            ("main/.git/info/exclude", ".claude/bridge/\n"),
        );
    }

    #[test]
    fn no_symbolic_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let (settings, project) = (base.join("settings"), base.join("project"));
        fs::write(&settings, "mine\n").unwrap();
        fs::create_dir_all(project.join(".git/info")).unwrap();
        fs::write(project.join(".git/HEAD"), "").unwrap();
        let exclude = project.join(".git/info/exclude");
        std::os::unix::fs::symlink(&settings, &exclude).unwrap();
        from_git(&project, &project.join(".claude/bridge")).unwrap_err();
        assert_eq!(fs::read_to_string(&settings).unwrap(), "mine\n");

        fs::remove_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(base.join("elsewhere")).unwrap();
        fs::write(project.join(".git"), "gitdir: ../elsewhere\n").unwrap();
        from_git(&project, &project.join(".claude/bridge")).unwrap_err();
        assert!(!base.join("elsewhere/info").exists());
    }

    #[test]
    fn a_hard_link_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().canonicalize().unwrap().join("project");
        let settings = project.join("../settings");
        fs::create_dir_all(project.join(".git/info")).unwrap();
        fs::write(project.join(".git/HEAD"), "").unwrap();
        fs::write(&settings, "mine\n").unwrap();
        fs::hard_link(&settings, project.join(".git/info/exclude")).unwrap();
        let refused = from_git(&project, &project.join(".claude/bridge")).unwrap_err();
        assert!(refused.to_string().contains("hard link"), "{refused}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), "mine\n");
    }

    #[test]
    fn a_path_with_a_line_break_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".git/HEAD"), "").unwrap();
        for name in ["a\nb", "a\rb"] {
            let project = root.join(name);
            fs::create_dir(&project).unwrap();
            let refused = from_git(&project, &project.join(".claude/bridge")).unwrap_err();
            assert!(refused.to_string().contains("line break"), "{refused}");
        }
        assert!(!root.join(".git/info/exclude").exists());
    }

    #[test]
    fn nothing_happens_outside_of_git() {
        check(&[], "", (".git/info/exclude", ""));
        // An empty `.git` is no repository: some programs leave one for a moment.
        check(&[(".git/info/keep", "")], "", (".git/info/exclude", ""));
    }
}
