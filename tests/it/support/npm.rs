//! The npm packages of this binary, as people install them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use super::{Stage, fake_registry};

/// npm's name of this platform, if there is a package for it.
pub(crate) const PLATFORM: Option<&str> = if cfg!(all(target_os = "linux", target_arch = "x86_64"))
{
    Some("linux-x64")
} else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
    Some("linux-arm64")
} else {
    None
};

/// Removes a function of newer versions of Node.js, so that the launcher stays beside the program.
const WITHOUT_EXECVE: &str = "process.execve = undefined;\n";

/// The packages, made once for all tests, and installed.
pub(crate) struct Packages {
    pub(crate) folder: PathBuf,
    pub(crate) tarballs: Vec<String>,
    /// Locked as long as this process lives: the folder is in use.
    _in_use: File,
}

/// All tests share them: packing a binary takes seconds.
static PACKAGES: LazyLock<Option<Packages>> = LazyLock::new(Packages::make);

/// The file in a folder of packages that its process keeps locked.
const LOCK: &str = "in-use";

/// Removes the packages of earlier runs, except of those that are still running.
fn remove_unused(folders: &Path) {
    for folder in std::fs::read_dir(folders).into_iter().flatten().flatten() {
        let lock = File::open(folder.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

impl Packages {
    /// Returns the packages; none where Node.js or npm is missing, and on platforms without a package.
    pub(crate) fn of_this_binary() -> Option<&'static Self> {
        PACKAGES.as_ref()
    }

    /// Starts a registry that serves the packages as the public one does after a release, and returns its address.
    pub(crate) fn registry(&self) -> String {
        fake_registry::start(self.tarballs.iter().map(|tarball| self.packed(tarball)).collect())
    }

    /// Returns the README's `npx -y cli-team-bridge`, for a user with a stage's home who is in its project, and for a registry.
    pub(crate) fn npx(&self, registry: &str, stage: &Stage) -> Command {
        let environment = stage.environment();
        let of_stage = environment.iter().rfind(|(name, _)| name == "PATH").unwrap().1.clone();
        // npm may be in a place of its own.
        let path = [of_stage, std::env::var_os("PATH").unwrap_or_default()];
        let folders = path.iter().flat_map(std::env::split_paths);
        let mut npx = self.command("npx");
        npx.args(["-y", "cli-team-bridge"])
            .envs(environment.iter().cloned())
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("TERM", "xterm-256color")
            .env("npm_config_registry", registry)
            .current_dir(stage.project());
        npx
    }

    /// Says whether this platform has a package, and Node.js and npm are there to make it.
    pub(crate) fn can_be_made() -> bool {
        let answers = |program: &str| {
            let asked = Command::new(program).arg("--version").output();
            asked.is_ok_and(|output| output.status.success())
        };
        PLATFORM.is_some() && answers("node") && answers("npm")
    }

    fn make() -> Option<Self> {
        let platform = PLATFORM.filter(|_| Self::can_be_made())?;
        let folders = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm_packages");
        remove_unused(&folders);
        let folder = folders.join(std::process::id().to_string());
        std::fs::create_dir_all(folder.join("home")).unwrap();
        let in_use = File::create(folder.join(LOCK)).unwrap();
        in_use.lock().unwrap();
        std::fs::write(folder.join("without_execve.cjs"), WITHOUT_EXECVE).unwrap();
        let mut packages = Self { folder, tarballs: Vec::new(), _in_use: in_use };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/npm/pack.mjs");
        let build = format!("{platform}={}", packages.program().display());
        let mut pack = packages.command("node");
        let packed = checked(pack.arg(script).arg(packages.folder.join("packed")).arg(build));
        packages.tarballs = packed.lines().map(str::to_owned).collect();
        let mut install = packages.command("npm");
        install.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"]);
        checked(install.args(packages.specifiers()).current_dir(packages.project("installed")));
        Some(packages)
    }

    /// Returns this binary, stripped if `strip` is installed: npm compresses all of it, twice.
    fn program(&self) -> PathBuf {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_cli-team-bridge"));
        let stripped = self.folder.join("stripped");
        let strip = Command::new("strip").arg("-o").args([&stripped, &binary]).status();
        if strip.is_ok_and(|status| status.success()) { stripped } else { binary }
    }

    /// Returns a command with its own home and environment, and without a registry that answers.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.join("home"))
            .env("npm_config_registry", "http://127.0.0.1:9/")
            .stdin(Stdio::null());
        command
    }

    /// Makes a folder to install into.
    pub(crate) fn project(&self, name: &str) -> PathBuf {
        let project = self.folder.join(name);
        std::fs::create_dir(&project).unwrap();
        project
    }

    /// Returns npm's specifiers of the tarballs: the platform's build under its alias, then the launcher.
    fn specifiers(&self) -> [String; 2] {
        let [build, launcher] = &self.tarballs[..] else {
            panic!("two tarballs are packed: {:?}", self.tarballs);
        };
        let file = |tarball: &String| format!("file:{}", self.packed(tarball).display());
        let alias = format!("cli-team-bridge-{}", PLATFORM.unwrap());
        [format!("{alias}@{}", file(build)), file(launcher)]
    }

    pub(crate) fn packed(&self, name: &str) -> PathBuf {
        self.folder.join("packed").join(name)
    }

    /// Returns the launcher as npm has linked it.
    pub(crate) fn launcher(&self) -> PathBuf {
        self.folder.join("installed/node_modules/.bin/cli-team-bridge")
    }

    pub(crate) fn manifest(&self, package: &str) -> Value {
        let file = self.folder.join("installed/node_modules").join(package).join("package.json");
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }
}

/// Runs a command that must succeed, and returns its stdout.
pub(crate) fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
