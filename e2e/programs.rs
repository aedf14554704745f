//! The real programs that `install.sh` has put into the cache.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that `install.sh` reads: each program's name in the tests, its npm package and its version.
const PROGRAMS: &str = include_str!("programs.txt");

/// The installed programs.
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Finds the folder that `install.sh` installs into.
    pub(crate) fn find() -> Self {
        let folder = |variable: &str| {
            std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let cache = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        let programs = folder("BRIDGE_E2E_PROGRAMS")
            .or_else(|| Some(cache()?.join("cli-team-bridge/programs")))
            .unwrap_or_default();
        Self { folder: programs }
    }

    /// Returns the first of these programs that is not installed.
    pub(crate) fn missing<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| !self.place(name).is_dir())
    }

    /// Returns a `PATH` with exactly these programs, `node` and the system's programs.
    pub(crate) fn path(&self, names: &[&str]) -> OsString {
        let bin = |name: &&str| self.place(name).join("node_modules/.bin");
        let folders = ["node"].iter().chain(names).map(bin);
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        std::env::join_paths(folders.chain(system)).unwrap()
    }

    /// Returns the command of an installed program.
    pub(crate) fn command(&self, name: &str) -> PathBuf {
        self.place(name).join("node_modules/.bin").join(name)
    }

    /// Returns the executable of an npm package that ships one package for each platform.
    pub(crate) fn native(&self, name: &str, package: &str, program: &str) -> PathBuf {
        let modules = self.place(name).join("node_modules");
        let folder = modules.join(Path::new(package).parent().unwrap());
        let prefix = format!("{}-", Path::new(package).file_name().unwrap().to_str().unwrap());
        let mut platforms = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let platform =
            platforms.find(|entry| entry.file_name().to_str().unwrap().starts_with(&prefix));
        platform.unwrap().path().join(program)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}", version(name)))
    }
}

/// Returns the version of a program.
pub(crate) fn version(name: &str) -> &'static str {
    let rows = PROGRAMS.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row.first() == Some(&name));
    row.and_then(|row| row.get(2).copied())
        .unwrap_or_else(|| panic!("programs.txt has `{name}` with its version"))
}
