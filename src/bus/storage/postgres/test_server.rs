//! A PostgreSQL of the tests' own: made in a temporary directory, reached by a socket in it, and ended with the test, however that ends.

#![allow(dead_code, reason = "the unit tests and the tests of processes use different parts")]

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

/// Where Debian keeps its versions.
const DEBIAN: &str = "/usr/lib/postgresql";

/// A user that may run a server in place of root, which may not.
const NOBODY: u32 = 65_534;

/// Runs the server until this process closes the pipe, as its end does, and then removes the directory.
const RUN: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=300 >"$2/log" 2>&1 &
server=$!
read -r line
case "$line" in kill) kill -KILL $server; wait $server; exit ;; esac
kill -QUIT $server
wait $server
rm -rf "$2"
"#;

pub(crate) struct TestServer {
    directory: PathBuf,
    binaries: PathBuf,
    shell: Child,
}

/// Returns the address of a server that all tests of this process share; none if its programs are not on this machine.
pub(crate) fn shared() -> Option<String> {
    static SERVER: OnceLock<Option<TestServer>> = OnceLock::new();
    SERVER.get_or_init(TestServer::start).as_ref().map(TestServer::address)
}

impl TestServer {
    /// Starts a server; none if its programs are not on this machine.
    pub(crate) fn start() -> Option<Self> {
        let found = binaries()?;
        let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap().keep();
        if is_root() {
            std::os::unix::fs::chown(&directory, Some(NOBODY), None).unwrap();
        }
        let binaries = reachable(found, &directory);
        let data = directory.join("data");
        let made = as_user(&binaries.join("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=bridge", "--pgdata"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let shell = run(&binaries, &directory);
        let started = Self { directory, binaries, shell };
        started.wait();
        Some(started)
    }

    /// Returns the address of a database.
    pub(crate) fn address(&self) -> String {
        format!("host={} user=bridge dbname=postgres", self.directory.display())
    }

    /// Returns the directory of its socket.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        use std::io::Write as _;
        self.shell.stdin.take().unwrap().write_all(b"kill\n").unwrap();
        self.shell.wait().unwrap();
    }

    /// Ends all connections to the server, as an operator does.
    pub(crate) fn end_connections(&self) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        self.run_sql(sql);
    }

    /// Has it tell a time that the test moves: its clients find a function of the test before the server's own.
    pub(crate) fn with_movable_clock(self) -> Self {
        self.move_clock(Duration::ZERO);
        self.run_sql(&format!(
            "CREATE SCHEMA moved;
             CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$
                 SELECT pg_catalog.clock_timestamp() + pg_read_file('{}')::bigint * interval '1 ms'
             $$;
             ALTER ROLE bridge SET search_path = moved, pg_catalog;",
            self.ahead().display()
        ));
        self
    }

    /// Moves a movable clock ahead.
    pub(crate) fn move_clock(&self, by: Duration) {
        let before = std::fs::read_to_string(self.ahead()).map_or(0, |ms| ms.parse().unwrap());
        let ahead_ms = before + by.as_millis();
        // The server reads the old time or the new one.
        let new = self.directory.join("ahead.new");
        std::fs::write(&new, ahead_ms.to_string()).unwrap();
        std::fs::rename(&new, self.ahead()).unwrap();
    }

    /// Returns the file that says by how many milliseconds a movable clock is ahead.
    fn ahead(&self) -> PathBuf {
        self.directory.join("ahead")
    }

    fn run_sql(&self, sql: &str) {
        let ran = Command::new(self.binaries.join("psql"))
            .args(["--username=bridge", "--dbname=postgres", "--quiet", "--command", sql, "--host"])
            .arg(&self.directory)
            .stdout(Stdio::null())
            .status();
        assert!(ran.unwrap().success(), "psql");
    }

    /// Starts a killed server anew.
    pub(crate) fn restart(&mut self) {
        self.shell = run(&self.binaries, &self.directory);
        self.wait();
    }

    /// Starts it anew as a replica, which follows nobody.
    pub(crate) fn become_replica(&mut self) {
        self.kill();
        let signal = self.directory.join("data/standby.signal");
        std::fs::write(&signal, "").unwrap();
        if is_root() {
            std::os::unix::fs::chown(&signal, Some(NOBODY), None).unwrap();
        }
        self.restart();
    }

    fn wait(&self) {
        let begun = Instant::now();
        let ready = || {
            let asked = Command::new(self.binaries.join("pg_isready"))
                .arg("--host")
                .arg(&self.directory)
                .stdout(Stdio::null())
                .status();
            asked.is_ok_and(|status| status.success())
        };
        let (_sender, nothing) = mpsc::channel::<()>();
        while !ready() {
            assert!(begun.elapsed() < Duration::from_mins(1), "the server does not start");
            let _ = nothing.recv_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn run(binaries: &Path, directory: &Path) -> Child {
    let shell = as_user(Path::new("/bin/sh"))
        .args(["-c", RUN, "sh"])
        .arg(binaries)
        .arg(directory)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn();
    shell.unwrap()
}

/// Returns a command that runs as a user who may run a server.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // The directory of a new temporary file belongs to this user.
    tempfile::tempdir().is_ok_and(|own| own.path().metadata().is_ok_and(|own| own.uid() == 0))
}

/// Finds the programs of a server: where `PG_BIN` says, else the newest of Debian, else what `e2e/install.sh` has brought.
fn binaries() -> Option<PathBuf> {
    if let Some(binaries) = variable("PG_BIN") {
        return Some(binaries);
    }
    newest_in(Path::new(DEBIAN), "").or_else(|| newest_in(&installed()?, "postgres-"))
}

/// Returns the `bin` of the newest server among the folders whose names begin so.
fn newest_in(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir(folder).ok()?.flatten();
    let named =
        versions.filter(|version| version.file_name().to_string_lossy().starts_with(prefix));
    named.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max()
}

/// Returns where `e2e/install.sh` installs.
fn installed() -> Option<PathBuf> {
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    variable("BRIDGE_E2E_PROGRAMS").or_else(|| Some(cache()?.join("cli-team-bridge/programs")))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Copies programs into the server's directory, if those who run it cannot reach them: they are not root, and these are in its home.
fn reachable(binaries: PathBuf, directory: &Path) -> PathBuf {
    let runs = as_user(&binaries.join("postgres")).arg("--version").stdout(Stdio::null()).status();
    if runs.is_ok_and(|status| status.success()) {
        return binaries;
    }
    let copy = directory.join("programs");
    let all = binaries.parent().unwrap();
    let copied = Command::new("cp").arg("-R").arg(all).arg(&copy).status();
    assert!(copied.unwrap().success(), "the programs of {} can be copied", all.display());
    // Who runs them also removes them.
    let given =
        Command::new("chown").arg("-R").arg(format!("{NOBODY}:{NOBODY}")).arg(&copy).status();
    assert!(given.unwrap().success(), "{} can be given away", copy.display());
    copy.join("bin")
}
