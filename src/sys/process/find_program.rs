//! Finding a program: at its path, or in an absolute folder of the search path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Finds a program: an absolute path, a path with a slash (from the current directory), or a name on `search_path`.
///
/// The result is absolute. Relative entries of the search path are skipped: with them, a project could bring its own program under a
/// well-known name.
pub fn find_program(name: &Path, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if has_directory(name) {
        return std::path::absolute(name).ok().filter(|path| is_executable(path));
    }
    let directories = std::env::split_paths(search_path?);
    directories
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path))
}

/// Says whether a program is named by a path, which needs no search.
pub fn has_directory(program: &Path) -> bool {
    program.as_os_str().as_bytes().contains(&b'/')
}

/// Says whether the path is a file that we may execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// Says whether a program is more than an empty file, which no client can start. One that cannot be looked at counts as more.
pub fn has_content(path: &Path) -> bool {
    path.metadata().map_or(true, |found| found.len() > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_are_found_by_path_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tool");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let search = Some(folder.path().as_os_str());
        assert_eq!(find_program(Path::new("tool"), search), None, "not executable yet");

        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_program(Path::new("tool"), search), Some(program.clone()));
        assert_eq!(find_program(&program, None), Some(program));
        assert_eq!(find_program(Path::new("tool"), None), None);
        assert_eq!(find_program(Path::new("./tool"), search), None, "a path is not looked up");
        assert_eq!(find_program(folder.path(), None), None, "a directory is no program");
    }

    #[test]
    fn relative_entries_of_the_search_path_are_skipped() {
        assert_eq!(
            find_program(Path::new("sh"), Some(OsStr::new("/nowhere:../../../../../../bin:."))),
            None
        );
        assert_eq!(
            find_program(Path::new("sh"), Some(OsStr::new("bin:/bin"))),
            Some(PathBuf::from("/bin/sh"))
        );
    }
}
