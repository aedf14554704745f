//! Resolves the links of a path, even if its last parts do not exist yet.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The longest path to resolve, in bytes and in parts. The system accepts no more bytes, and each part may cost an access to the disk.
const LONGEST_BYTES: usize = 4096;
const MOST_PARTS: usize = 256;

/// The most links in one path: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Returns the target of a path, with every link and `..` resolved. A relative path begins at `base`.
///
/// The last parts may be missing, like those of a file that is about to be created. `None` if the target is uncertain: a dangling link,
/// `..` after a missing part, an unreadable directory, a path that is too long. Blocks for a few accesses to the disk.
pub fn resolve(base: &Path, path: &Path) -> Option<PathBuf> {
    let whole = base.join(path);
    if whole.as_os_str().len() > LONGEST_BYTES || whole.components().count() > MOST_PARTS {
        return None;
    }
    let mut ancestors: Vec<_> = whole.ancestors().collect();
    ancestors.reverse();
    // The system follows a path part by part, so no part after the first missing one exists.
    let there = ancestors.partition_point(|ancestor| ancestor.metadata().is_ok());
    let ancestor = ancestors[..there].last()?;
    if let Some(next) = ancestors.get(there)
        && !next.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        return None;
    }
    let real = ancestor.canonicalize().ok()?;
    let missing = whole.strip_prefix(ancestor).ok()?;
    let mut parts = missing.components();
    if let Some(first) = parts.clone().next() {
        let next = real.join(first);
        // It exists but could not be followed: a dangling link.
        if next.symlink_metadata().is_ok() || !real.is_dir() {
            return None;
        }
    }
    let is_plain = parts.all(|part| matches!(part, Component::Normal(_)));
    if missing.as_os_str().is_empty() {
        // Joining an empty path would add a slash, and the result would no longer name a file.
        return Some(real);
    }
    is_plain.then(|| real.join(missing))
}

/// Returns the target that a path would have if all its parts existed: a dangling link counts, and `..` after a missing part means the
/// part before it. A relative path begins at `base`.
///
/// A file created at the target is the one that the path names from then on. `None` for a cycle of links, or a path that is too long.
pub fn destination(base: &Path, path: &Path) -> Option<PathBuf> {
    walk(base, path, |_| {})
}

/// Returns all places through which a path leads: each directory and each link on the way, and its target last. A relative path begins at
/// `base`.
///
/// `None` where [`destination`] has none.
pub fn places_on_the_way(base: &Path, path: &Path) -> Option<Vec<PathBuf>> {
    let mut places = Vec::new();
    walk(base, path, |place| places.push(place.to_owned()))?;
    Some(places)
}

/// Walks along a path to its [`destination`], and calls `pass` with each place on the way.
fn walk(base: &Path, path: &Path, mut pass: impl FnMut(&Path)) -> Option<PathBuf> {
    let whole = base.join(path);
    let mut real = PathBuf::new();
    let mut links = 0;
    // The remaining parts, the next one last.
    let mut ahead = Vec::new();
    let push = |ahead: &mut Vec<PathBuf>, path: &Path| {
        let parts = path.components().rev();
        ahead.extend(parts.map(|part| PathBuf::from(part.as_os_str())));
        let is_short = path.as_os_str().len() <= LONGEST_BYTES && ahead.len() <= MOST_PARTS;
        is_short.then_some(())
    };
    push(&mut ahead, &whole)?;
    while let Some(part) = ahead.pop() {
        match part.components().next()? {
            Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::RootDir | Component::Prefix(_) => real = part,
            Component::Normal(name) => {
                let next = real.join(name);
                pass(&next);
                let Ok(target) = next.read_link() else {
                    real = next;
                    continue;
                };
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                push(&mut ahead, &target)?;
            }
        }
    }
    real.is_absolute().then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A project with all kinds of links, and a directory outside of it.
    fn stage() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir(base.join("outside")).unwrap();
        fs::write(base.join("outside/secret"), "x").unwrap();
        fs::write(project.join("src/main.rs"), "x").unwrap();
        symlink("../outside", project.join("out")).unwrap();
        symlink("src", project.join("in")).unwrap();
        symlink("../outside/not-yet", project.join("dangling")).unwrap();
        symlink("loop", project.join("loop")).unwrap();
        (root, base)
    }

    fn resolved(base: &Path, path: &str) -> Option<String> {
        let found = resolve(&base.join("project"), Path::new(path))?;
        let inner = found.strip_prefix(base).unwrap_or(&found);
        Some(inner.to_string_lossy().into_owned())
    }

    #[test]
    fn links_are_followed_even_to_files_that_do_not_exist_yet() {
        let (_root, base) = stage();
        let check = |path: &str, expected: &str| {
            assert_eq!(resolved(&base, path).as_deref(), Some(expected), "{path}");
        };
        check("src/main.rs", "project/src/main.rs");
        check("src/new/deep.rs", "project/src/new/deep.rs");
        check("in/main.rs", "project/src/main.rs");
        check("in/new.rs", "project/src/new.rs");
        check("out/secret", "outside/secret");
        check("out/new", "outside/new");
        check("src/../../outside/secret", "outside/secret");
        // `..` after a link means the parent of the link's target.
        check("out/../outside/secret", "outside/secret");
        check("./src/./main.rs", "project/src/main.rs");
        assert_eq!(resolve(&base, Path::new("/")).as_deref(), Some(Path::new("/")));
    }

    #[test]
    fn an_uncertain_target_is_not_guessed() {
        let (_root, base) = stage();
        for path in ["dangling", "dangling/x", "loop", "missing/../src/main.rs", "src/main.rs/x"] {
            assert_eq!(resolved(&base, path), None, "{path}");
        }
    }

    #[test]
    fn a_missing_file_has_a_destination() {
        let (_root, base) = stage();
        let project = base.join("project");
        symlink("chain/../dangling", project.join("first")).unwrap();
        symlink("first", project.join("second")).unwrap();
        symlink(base.join("outside"), project.join("absolute")).unwrap();
        let check = |path: &str, expected: Option<&str>| {
            let found = destination(&project, Path::new(path));
            assert_eq!(found, expected.map(|place| base.join(place)), "{path}");
        };
        check("dangling", Some("outside/not-yet"));
        check("dangling/x", Some("outside/not-yet/x"));
        check("second", Some("outside/not-yet"));
        check("missing/../src/./new.rs", Some("project/src/new.rs"));
        check("absolute/../project/in/main.rs", Some("project/src/main.rs"));
        check("out/secret", Some("outside/secret"));
        check("loop", None);
        check(&"x/".repeat(300), None);
        check(&"x".repeat(5000), None);
    }

    #[test]
    fn a_path_leads_through_directories_and_links() {
        let (_root, base) = stage();
        let check = |path: &str, expected: &[&str]| {
            let places = places_on_the_way(&base, Path::new(path)).unwrap();
            let below = places.iter().filter_map(|place| place.strip_prefix(&base).ok());
            let below: Vec<_> = below.filter(|place| *place != Path::new("")).collect();
            assert_eq!(below, expected.iter().map(Path::new).collect::<Vec<_>>(), "{path}");
        };
        check("project/src/main.rs", &["project", "project/src", "project/src/main.rs"]);
        check("project/out/secret", &["project", "project/out", "outside", "outside/secret"]);
        assert_eq!(places_on_the_way(&base, Path::new("project/loop")), None);
    }

    #[test]
    fn a_path_that_is_too_long_is_not_resolved() {
        let (_root, base) = stage();
        let long = |parts: usize, length: usize| vec!["x".repeat(length); parts].join("/");
        assert!(resolved(&base, &long(200, 1)).is_some());
        assert_eq!(resolved(&base, &long(300, 1)), None);
        assert_eq!(resolved(&base, &long(30, 200)), None);
    }
}
