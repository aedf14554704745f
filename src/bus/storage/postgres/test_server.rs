//! A PostgreSQL of the tests' own: made in a temporary directory, reached by a socket in it, and ended with the value.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian keeps its versions.
const DEBIAN: &str = "/usr/lib/postgresql";

/// A user that may run a server in place of root, which may not.
const NOBODY: u32 = 65_534;

pub(crate) struct TestServer {
    directory: tempfile::TempDir,
    binaries: PathBuf,
    server: Child,
}

impl TestServer {
    /// Starts a server; none if its programs are not on this machine.
    pub(crate) fn start() -> Option<Self> {
        let binaries = binaries()?;
        let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        if nix::unistd::geteuid().is_root() {
            let nobody = Some(NOBODY.into());
            nix::unistd::chown(directory.path(), nobody, None).unwrap();
        }
        let data = directory.path().join("data");
        let made = as_user(&binaries.join("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=bridge", "--pgdata"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = run(&binaries, directory.path());
        let started = Self { directory, binaries, server };
        started.wait();
        Some(started)
    }

    /// Returns the address of a database.
    pub(crate) fn address(&self) -> String {
        format!("host={} user=bridge dbname=postgres", self.directory.path().display())
    }

    /// Kills the server as a power cut would, and starts it anew.
    pub(crate) fn kill_and_restart(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        self.server = run(&self.binaries, self.directory.path());
        self.wait();
    }

    fn wait(&self) {
        let begun = Instant::now();
        let ready = || {
            let path = self.directory.path();
            let asked = Command::new(self.binaries.join("pg_isready"))
                .arg("--host")
                .arg(path)
                .stdout(Stdio::null())
                .status();
            asked.is_ok_and(|status| status.success())
        };
        while !ready() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // SIGQUIT ends all its processes at once.
        let pid = nix::unistd::Pid::from_raw(self.server.id().cast_signed());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT);
        let _ = self.server.wait();
    }
}

fn run(binaries: &Path, directory: &Path) -> Child {
    as_user(&binaries.join("postgres"))
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory)
        .args(["-c", "listen_addresses="])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns a command that runs as a user who may run a server.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Finds the programs of a server: where `PG_BIN` says, or the newest of Debian.
fn binaries() -> Option<PathBuf> {
    if let Some(binaries) = std::env::var_os("PG_BIN") {
        return Some(binaries.into());
    }
    let versions = std::fs::read_dir(DEBIAN).ok()?;
    let binaries = versions.flatten().map(|version| version.path().join("bin"));
    binaries.filter(|path| path.join("initdb").exists()).max()
}
