//! A stable path of this program. Links in the path by which the user starts it stay: package managers keep each version in a directory of
//! its own, which goes with the next one. A program that runs from a package cache is first copied to `~/.local/bin`: once the cache is
//! cleared, an entry that names the cache would start nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::config_file::{make_missing, missing, remove_empty};
use super::edits::config_edit::PROGRAM;
use super::setup_record::{ProgramCopy, sha256};
use crate::domain::text::shell_word::shell_word;
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::bounded_file;
use crate::sys::fs::temporary_file::{self, TemporaryFile};
use crate::sys::process::find_program;

/// The largest program that is copied: ten times the size of this one.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// The path of this program for clients' entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StablePath {
    /// The path by which the user starts the program, outside of any cache.
    Own(PathBuf),
    /// The program is in a package cache: the path of its copy.
    Copy(PathBuf),
}

impl StablePath {
    /// Decides for a program at this path, which the user starts by another one, and a user with this home directory.
    pub fn of(own: &Path, called: &Path, home: &Path) -> Self {
        if is_cached(own) {
            Self::Copy(place_of_copy(home))
        } else if is_cached(called) {
            Self::Own(own.to_owned())
        } else {
            Self::Own(called.to_owned())
        }
    }

    /// Returns the path for clients' entries.
    pub fn path(&self) -> &Path {
        let (Self::Own(path) | Self::Copy(path)) = self;
        path
    }
}

/// Says whether a program is in a package cache.
fn is_cached(program: &Path) -> bool {
    let parts = program.components().filter_map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    // Of npx, bunx and `yarn dlx`; and of `pnpm dlx`.
    let is_of_one_run =
        |part: &&str| *part == "_npx" || part.starts_with("bunx-") || part.starts_with("dlx-");
    let is_cache = |two: &[&str]| two == ["node_modules", ".cache"] || two == ["pnpm", "dlx"];
    parts.iter().any(is_of_one_run) || parts.windows(2).any(is_cache)
}

/// Returns the path by which the user starts the program of this process, whose own path, without links, is `own`.
pub fn called_path(own: &Path, search_path: Option<&OsStr>) -> PathBuf {
    let called = std::env::args_os().next();
    path_of_call(own, called.as_deref(), search_path)
}

/// Returns the path on the search path, so that all calls of the program find the same one, else that of this call. `own` if they lead
/// to another program.
fn path_of_call(own: &Path, called: Option<&OsStr>, search_path: Option<&OsStr>) -> PathBuf {
    let real = |path: &Path| path.canonicalize().ok();
    let Some(itself) = real(own) else {
        return own.to_owned();
    };
    let names = [Some(OsStr::new(PROGRAM)), called];
    let found =
        names.iter().flatten().filter_map(|name| find_program(Path::new(name), search_path));
    let is_plain = |path: &PathBuf| !path.components().any(|part| part == Component::ParentDir);
    let mut same = found.filter(|path| is_plain(path) && real(path).as_ref() == Some(&itself));
    same.next().unwrap_or_else(|| own.to_owned())
}

/// Returns the search path without package caches: `npx` puts one first, for as long as it runs.
pub fn lasting_search_path(search_path: Option<&OsStr>) -> Option<OsString> {
    let folders = std::env::split_paths(search_path?).filter(|folder| !is_cached(folder));
    std::env::join_paths(folders).ok()
}

/// Returns how the user calls the program at this path later: by its name where that finds it, else by the path. Where nothing is, the
/// program runs from a package cache, and was not copied out of it.
pub fn later_call(program: &Path, search_path: Option<&OsStr>) -> String {
    if !program.exists() {
        return format!("npx -y {PROGRAM}");
    }
    let lasting = lasting_search_path(search_path);
    match find_program(Path::new(PROGRAM), lasting.as_deref()) {
        Some(found) if is_same(&found, program) => PROGRAM.to_owned(),
        _ => shell_word(&program.to_string_lossy()),
    }
}

/// Says whether two paths lead to the same program, to copies of one, or to one and its launcher.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let (real_one, real_other) = (real(one), real(other));
    let both = real_one.as_ref().zip(real_other.as_ref());
    let is_one = both.is_some_and(|(one, other)| {
        one == other || is_launcher(one, other) || is_launcher(other, one)
    });
    is_one || has_same_bytes(one, other).unwrap_or(false)
}

/// Says whether a file is the launcher of the npm package that brings the program of this path: both are below the same `node_modules`.
fn is_launcher(file: &Path, program: &Path) -> bool {
    let package = file.parent().filter(|_| file.ends_with(Path::new(PROGRAM).join("bin.js")));
    let modules = package.and_then(Path::parent);
    modules.is_some_and(|modules| modules.ends_with("node_modules") && program.starts_with(modules))
}

fn has_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (bounded_file::open(one)?, bounded_file::open(other)?);
    let length = |file: &File| Ok::<_, io::Error>(file.metadata()?.len());
    if length(&one)? != length(&other)? || length(&one)? > MOST_BYTES {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let count = left.len().min(right.len());
        if count == 0 || left[..count] != right[..count] {
            return Ok(left.is_empty() && right.is_empty());
        }
        one.consume(count);
        other.consume(count);
    }
}

/// Returns where a program is copied to.
pub fn place_of_copy(home: &Path) -> PathBuf {
    home.join(".local/bin").join(PROGRAM)
}

/// Why the program cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("`{}` is another program or version, and setup did not put it there: remove it, or run its own `setup`", .0.shown())]
    Taken(PathBuf),
    #[error("failed to copy this program to `{}`: {source}", path.shown())]
    Io { path: PathBuf, source: io::Error },
}

/// Copies this program to a place, unless it is already there. The record of the copy is kept first, so that it can be undone after a kill;
/// none is kept of a copy that setup did not make.
pub fn copy_to(
    own: &Path,
    place: &Path,
    earlier: Option<ProgramCopy>,
    keep: impl Fn(&ProgramCopy) -> io::Result<()>,
) -> Result<(), CopyError> {
    let failed = |source| CopyError::Io { path: place.to_owned(), source };
    let hash_of = |path: &Path| bounded_file::read(path, MOST_BYTES).map(|bytes| sha256(&bytes));
    let sha = hash_of(own).map_err(failed)?;
    let ours = earlier.filter(|copy| copy.path == place);
    let present = match hash_of(place) {
        Ok(present) if present == sha => return Ok(()),
        Ok(present) if ours.as_ref().is_some_and(|copy| copy.is_ours(&present)) => Some(present),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !place.is_symlink() => None,
        Ok(_) | Err(_) => return Err(CopyError::Taken(place.to_owned())),
    };
    let directory = place.parent().unwrap_or(Path::new("/"));
    let directories = ours.map_or_else(|| missing(directory), |copy| copy.directories);
    let record = |sha256_before| ProgramCopy {
        path: place.to_owned(),
        sha256: sha.clone(),
        sha256_before,
        directories: directories.clone(),
    };
    let was_there = present.is_some();
    keep(&record(present)).map_err(failed)?;
    let copied = || -> io::Result<()> {
        make_missing(directory)?;
        temporary_file::sweep(place);
        let new = TemporaryFile::beside(place)?;
        io::copy(&mut fs::File::open(own)?, &mut new.file())?;
        new.file().set_permissions(Permissions::from_mode(0o755))?;
        // A process that runs the earlier copy keeps its file.
        new.replace_target()
    };
    copied().map_err(failed)?;
    if was_there { keep(&record(None)).map_err(failed) } else { Ok(()) }
}

/// Removes the copy if it has not changed since setup made it. Says whether the copy is gone.
pub fn remove_copy(copy: &ProgramCopy) -> io::Result<bool> {
    match bounded_file::read(&copy.path, MOST_BYTES) {
        Ok(bytes) if copy.is_ours(&sha256(&bytes)) => {
            fs::remove_file(&copy.path)?;
            remove_empty(&copy.directories);
            Ok(true)
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remove_empty(&copy.directories);
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_in_a_package_cache_is_copied() {
        let check = |own: &str, expected: &str| {
            let own = Path::new(own);
            let stable = StablePath::of(own, own, Path::new("/home/u"));
            assert_eq!(stable.path(), Path::new(expected), "{own:?}");
        };
        let copy = "/home/u/.local/bin/cli-team-bridge";
        check("/home/u/.npm/_npx/1f/node_modules/x/bin/cli-team-bridge", copy);
        check("/p/node_modules/.cache/x/cli-team-bridge", copy);
        check("/home/u/.cache/pnpm/dlx/1f/node_modules/x/bin/cli-team-bridge", copy);
        check("/tmp/bunx-0-cli-team-bridge@latest/node_modules/x/bin/cli-team-bridge", copy);
        check("/tmp/xfs-1f/dlx-7/node_modules/x/bin/cli-team-bridge", copy);
        for own in ["/home/u/.cargo/bin/cli-team-bridge", "/usr/lib/node_modules/x/cli-team-bridge"]
        {
            check(own, own);
        }
        let (own, link) = (Path::new("/cellar/1/x"), Path::new("/bin/x"));
        assert_eq!(StablePath::of(own, link, Path::new("/home/u")).path(), link);
        let cached = Path::new("/c/_npx/1/x");
        assert_eq!(StablePath::of(own, cached, Path::new("/home/u")).path(), own);
    }

    #[test]
    fn links_by_which_the_program_is_started_stay() {
        let around = tempfile::tempdir().unwrap();
        let around = around.path().canonicalize().unwrap();
        for folder in ["cellar/1", "bin", "other", "stranger"] {
            fs::create_dir_all(around.join(folder)).unwrap();
        }
        let own = around.join("cellar/1").join(PROGRAM);
        for program in [own.clone(), around.join("stranger").join(PROGRAM)] {
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        }
        for folder in ["bin", "other"] {
            std::os::unix::fs::symlink(&own, around.join(folder).join(PROGRAM)).unwrap();
        }
        let check = |called: &str, search: &str, expected: &str| {
            let called = around.join(called);
            let called = if called.is_file() { called.as_os_str() } else { OsStr::new(PROGRAM) };
            let search = around.join(search);
            let found = path_of_call(&own, Some(called), Some(search.as_os_str()));
            assert_eq!(found, around.join(expected).join(PROGRAM), "{called:?} {search:?}");
        };
        check("", "bin", "bin");
        check("other/cli-team-bridge", "none", "other");
        check("other/cli-team-bridge", "bin", "bin");
        check("cellar/1/cli-team-bridge", "bin", "bin");
        check("other/cli-team-bridge", "stranger", "other");
        check("bin/../other/cli-team-bridge", "none", "cellar/1");
        check("", "none", "cellar/1");
        check("stranger/cli-team-bridge", "none", "cellar/1");
    }

    #[test]
    fn a_program_is_called_by_its_name_only_where_that_finds_it_after_npx_has_ended() {
        let around = tempfile::tempdir().unwrap();
        let around = around.path();
        let [cache, bin, other] = ["_npx/1/node_modules/.bin", "bin", "other"].map(|folder| {
            let program = around.join(folder).join(PROGRAM);
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(&program, if folder == "other" { "another" } else { "the same" }).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
            program
        });
        let check = |folders: &[&Path], expected: &str| {
            let folders = folders.iter().map(|program| program.parent().unwrap());
            let search = std::env::join_paths(folders).unwrap();
            assert_eq!(later_call(&bin, Some(&search)), expected, "{search:?}");
        };
        let by_path = bin.to_str().unwrap();
        check(&[&cache, &bin], PROGRAM);
        check(&[&cache], by_path);
        check(&[&other, &bin], by_path);
        assert_eq!(later_call(&bin, None), by_path);
        assert_eq!(later_call(&around.join("none"), None), "npx -y cli-team-bridge");
        assert!(is_same(&cache, &bin) && !is_same(&other, &bin));
        assert!(!is_same(&around.join("none"), &around.join("none")));
    }

    #[test]
    fn the_launcher_of_the_npm_package_is_the_program_that_it_starts() {
        let around = tempfile::tempdir().unwrap();
        let modules = around.path().join("lib/node_modules");
        let launcher = modules.join(PROGRAM).join("bin.js");
        let nested = "cli-team-bridge/node_modules/cli-team-bridge-linux-x64/bin/cli-team-bridge";
        let program = modules.join(nested);
        let stranger = around.path().join("other").join(PROGRAM);
        for (path, text) in [(&launcher, "js"), (&program, "program"), (&stranger, "another")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let link = around.path().join(PROGRAM);
        std::os::unix::fs::symlink(&launcher, &link).unwrap();
        assert!(is_same(&link, &program) && is_same(&program, &link));
        assert!(!is_same(&link, &stranger));
    }

    #[test]
    fn a_copy_is_made_once_renewed_and_removed_and_another_program_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let (own, place) = (home.path().join("own"), home.path().join("bin/cli-team-bridge"));
        fs::write(&own, "one").unwrap();
        let kept = std::cell::RefCell::new(None::<ProgramCopy>);
        let copy = |earlier: Option<ProgramCopy>| {
            copy_to(&own, &place, earlier, |copy| {
                kept.replace(Some(copy.clone()));
                Ok(())
            })
        };
        copy(None).unwrap();
        let one = kept.take().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "one");
        copy(Some(one.clone())).unwrap();
        assert_eq!(kept.take(), None, "it is there already");
        fs::write(&own, "two").unwrap();
        copy(Some(one.clone())).unwrap();
        let two = kept.take().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "two");
        copy(None).unwrap();
        assert_eq!(kept.take(), None, "setup did not make it");
        fs::write(&own, "three").unwrap();
        assert!(matches!(copy(None), Err(CopyError::Taken(_))));
        assert!(!remove_copy(&one).unwrap(), "another version has replaced it");
        // One that was killed before it replaced the earlier copy.
        let killed = copy_to(&own, &place, Some(two), |copy| {
            kept.replace(Some(copy.clone()));
            Err(io::Error::other("killed"))
        });
        assert!(killed.is_err());
        fs::write(&own, "four").unwrap();
        copy(kept.take()).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "four");
        assert!(remove_copy(&kept.take().unwrap()).unwrap());
        assert!(!home.path().join("bin").exists());
    }
}
