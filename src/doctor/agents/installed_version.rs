//! The version of a program that npm has installed, read from its package's `package.json` without running the program.

use std::path::Path;

use serde::Deserialize;

use crate::sys::fs::bounded_file;

/// The largest `package.json` that is read: usual ones have a few kilobytes.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

/// How many parent directories are searched: enough for `dist/bin/x.js`, with some to spare.
const DEPTH: usize = 5;

/// The longest version that is shown.
const SHOWN_CHARS: usize = 40;

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// Returns the version of the package with this name that contains a program. Links are followed.
pub(super) fn of_program(program: &Path, package: &str) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let found = real.ancestors().skip(1).take(DEPTH).find_map(|folder| {
        let text = bounded_file::read(&folder.join("package.json"), MAX_PACKAGE_BYTES).ok()?;
        let found: Package = serde_json::from_slice(&text).ok()?;
        (found.name == package).then_some(found.version)
    })?;
    Some(found.chars().take(SHOWN_CHARS).collect())
}

/// Returns the package that a command like `npm install -g @scope/name` installs.
pub(super) fn package_of(install: &str) -> Option<&str> {
    let words: Vec<_> = install.split_whitespace().collect();
    match words[..] {
        ["npm", "install" | "i", "-g", package] => Some(package),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_programs_own_package() {
        let root = tempfile::tempdir().unwrap();
        let package = root.path().join("node_modules/@x/y");
        std::fs::create_dir_all(package.join("dist")).unwrap();
        std::fs::write(root.path().join("package.json"), r#"{"name":"@x/y","version":"9.9.9"}"#)
            .unwrap();
        std::fs::write(package.join("package.json"), r#"{"name":"@x/y","version":"1.2.3"}"#)
            .unwrap();
        std::fs::write(package.join("dist/run.js"), "").unwrap();
        let link = root.path().join("y");
        std::os::unix::fs::symlink(package.join("dist/run.js"), &link).unwrap();
        assert_eq!(of_program(&link, "@x/y").as_deref(), Some("1.2.3"));
        assert_eq!(of_program(&link, "@x/z"), None);
        assert_eq!(of_program(&root.path().join("gone"), "@x/y"), None);
    }

    #[test]
    fn a_package_is_named_by_its_install_command() {
        assert_eq!(package_of("npm install -g @x/y"), Some("@x/y"));
        assert_eq!(package_of("brew install y"), None);
        assert_eq!(package_of("npm install -g"), None);
    }
}
