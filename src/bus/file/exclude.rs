//! Keeps the bus directory out of git, by the repository's own `info/exclude`, which nobody shares.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Adds the directory to the exclude file of the repository around `project`, if there is one and it is not listed yet.
pub(super) fn from_git(project: &Path, directory: &Path) -> io::Result<()> {
    let Some((root, common)) = repository(project)? else {
        return Ok(());
    };
    let Ok(relative) = directory.strip_prefix(&root) else {
        return Ok(());
    };
    let Some(line) = relative.to_str().map(pattern) else {
        return Ok(());
    };
    let path = common.join("info").join("exclude");
    let present = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if present.lines().any(|present| present.trim_end() == line) {
        return Ok(());
    }
    fs::create_dir_all(common.join("info"))?;
    let before = if present.is_empty() || present.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    // One write, so that two who come at once at worst both add the line.
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)?
        .write_all(format!("{before}{line}\n").as_bytes())
}

/// Finds the nearest worktree around a directory, and the directory that its repository's worktrees have in common.
fn repository(project: &Path) -> io::Result<Option<(PathBuf, PathBuf)>> {
    for root in project.ancestors() {
        let dot_git = root.join(".git");
        let Ok(metadata) = fs::metadata(&dot_git) else {
            continue;
        };
        if metadata.is_dir() {
            return Ok(Some((root.to_owned(), dot_git)));
        }
        // In a linked worktree or a submodule it is a file that says where the directory is.
        let text = fs::read_to_string(&dot_git)?;
        let Some(target) = text.trim_end().strip_prefix("gitdir: ") else {
            return Ok(None);
        };
        let own = root.join(target);
        let common = match fs::read_to_string(own.join("commondir")) {
            Ok(common) => own.join(common.trim_end()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => own,
            Err(error) => return Err(error),
        };
        return Ok(Some((root.to_owned(), common)));
    }
    Ok(None)
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
        let project = directory.path().join(project);
        fs::create_dir_all(&project).unwrap();
        for _ in 0..2 {
            from_git(&project, &project.join(".claude/bridge")).unwrap();
        }
        let (path, text) = expected;
        assert_eq!(
            fs::read_to_string(directory.path().join(path)).unwrap_or_default(),
            text
        );
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
            ],
            "tree",
            ("main/.git/info/exclude", ".claude/bridge/\n"),
        );
    }

    #[test]
    fn nothing_happens_outside_of_git() {
        check(&[], "", (".git/info/exclude", ""));
    }
}
