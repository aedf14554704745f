//! Guarded places of a project besides those with guarded names: the targets of its links, and git's directories.
//!
//! A dangling link counts too: a file created at its target is what the link finds.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::domain::permission::GUARDED;
use crate::sys::fs::real_path::destination;

/// How much of a `.git` file is read: it holds one path.
const LINK_BYTES: u64 = 8 * 1024;

/// How deep, and among how many entries, links are searched in a guarded directory: hooks, settings and skills are at its top, and
/// each question searches again.
const LINKS_DEPTH: usize = 2;
pub(crate) const LINKS_ENTRIES: usize = 1000;

/// Directories of git that hold many files, and nothing that runs or instructs.
const SKIPPED: [&str; 5] = ["objects", "refs", "logs", "rr-cache", "worktrees"];

/// The entries that make a directory with a `HEAD` a git directory, or make programs run once it is one.
const PARTS_OF_GIT: [&str; 7] =
    ["commondir", "config", "config.worktree", "hooks", "info", "objects", "refs"];

/// Returns the targets of a project's guarded names, the targets of links in guarded directories, and the directories of its
/// repository; and whether the list is complete. `also` has the names that a profile guards besides.
pub(crate) fn places(root: &Path, also: &[String]) -> (Vec<PathBuf>, bool) {
    let names = GUARDED.into_iter().chain(also.iter().map(String::as_str));
    let mut places: Vec<_> = names
        .filter_map(|name| destination(root, Path::new(name)))
        .chain(git_directories(root))
        .collect();
    places.sort();
    places.dedup();
    let mut linked = Vec::new();
    let mut are_all = true;
    for place in &places {
        are_all &= links_in(place, LINKS_DEPTH, &mut LINKS_ENTRIES.clone(), &mut linked);
    }
    // A link to the whole project is no reason to guard all of it.
    linked.retain(|place| !root.starts_with(place));
    places.extend(linked);
    (places, are_all)
}

/// Finds the targets of the links in a directory. Returns whether it has examined all entries.
fn links_in(directory: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) -> bool {
    let is_git = git_places(directory) == [directory];
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let (name, kind) = (entry.file_name(), entry.file_type());
        if kind.as_ref().is_ok_and(fs::FileType::is_symlink) {
            found.extend(destination(directory, name.as_ref()));
        } else if depth > 1
            && kind.is_ok_and(|kind| kind.is_dir())
            && !(is_git && SKIPPED.iter().any(|skipped| name == *skipped))
            && !links_in(&entry.path(), depth - 1, left, found)
        {
            return false;
        }
    }
    true
}

/// Returns the parts of a directory that belong to git, whatever the directory is called: all of it if git would use it as a git
/// directory; if it only has a `HEAD`, the entries that would make it one. A directory without a `HEAD` is none, and creating a
/// `HEAD` is asked about everywhere.
pub(crate) fn git_places(directory: &Path) -> Vec<PathBuf> {
    let there = |name: &str| directory.join(name).symlink_metadata();
    if !there("HEAD").is_ok_and(|head| !head.is_dir()) {
        return Vec::new();
    }
    let has = |name: &str| there(name).is_ok();
    if has("commondir") || has("objects") && has("refs") {
        return vec![directory.to_owned()];
    }
    PARTS_OF_GIT.map(|part| directory.join(part)).into()
}

/// Returns the git directories of the repository around a directory. Its `.git` may be a file that only names one.
fn git_directories(root: &Path) -> Vec<PathBuf> {
    let named = root.ancestors().map(|directory| directory.join(".git"));
    let Some(git) = named.into_iter().find(|git| git.exists()) else {
        return Vec::new();
    };
    let directory = if git.is_file() {
        line_of(&git).and_then(|line| named_by(&git, line.strip_prefix("gitdir:")?))
    } else {
        destination(root, &git)
    };
    let Some(directory) = directory else {
        return Vec::new();
    };
    let common = directory.join("commondir");
    let common = line_of(&common).and_then(|line| named_by(&common, &line));
    common.into_iter().chain([directory]).collect()
}

/// Returns the directory that a line of a file names, relative to that file or absolute.
fn named_by(file: &Path, line: &str) -> Option<PathBuf> {
    destination(file.parent()?, Path::new(line.trim()))
}

fn line_of(file: &Path) -> Option<String> {
    // Checked before opening: opening a pipe would wait for its writer.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut line = String::new();
    let mut limited = fs::File::open(file).ok()?.take(LINK_BYTES);
    limited.read_to_string(&mut line).ok()?;
    Some(line)
}
