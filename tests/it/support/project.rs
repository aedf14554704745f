//! A project of a test's own, where this binary runs as orchestrator, peer and agents; nothing of it outlives the test.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::{Forms, Lifecycle};
use cli_team_bridge::supervisor::{self, ChildSpec, Exit, Pipes, Shim, Supervised};
use cli_team_bridge::sys::process::marked;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use super::Member;

/// The variable that marks every process of a stage: agents, their endpoints and their children inherit it from the orchestrator.
const MARK: &str = "HOME";

/// How long a test waits for the last process of a stage to end: far longer than it takes even on a busy machine. The promised times
/// are those of `misbehaving_agents`.
const GONE: Duration = Duration::from_mins(1);

/// A temporary project. It is declared before its members, so it is dropped after them, and proves that no process is left.
pub(crate) struct Stage {
    root: tempfile::TempDir,
    project: PathBuf,
    home: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Stage {
    /// Builds a project whose agents of the profile `scripted` play this script.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_root(tempfile::tempdir().unwrap(), script)
    }

    /// Builds the same in a directory. The doctor tries agents out only where nobody else may create files above, as below cargo's
    /// directory for tests (`CARGO_TARGET_TMPDIR`), but not below `/tmp`.
    pub(crate) fn with_root(root: tempfile::TempDir, script: &str) -> Self {
        let base = root.path().canonicalize().unwrap();
        let (project, home) = (base.join("project"), base.join("home"));
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("script.toml"), script).unwrap();
        Self { root, project, home, env: Vec::new() }
    }

    /// Writes a plan file, `plan.toml`, into the project.
    pub(crate) fn with_plan(self, toml: &str) -> Self {
        std::fs::write(self.project.join("plan.toml"), toml).unwrap();
        self
    }

    /// Adds variables to the environment of the programs that are started.
    pub(crate) fn with_env(mut self, env: Vec<(OsString, OsString)>) -> Self {
        self.env.extend(env);
        self
    }

    /// Adds profiles of the user's own, which need no approval.
    pub(crate) fn with_profiles(self, toml: &str) -> Self {
        let folder = self.home.join(".config/cli-team-bridge");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), toml).unwrap();
        self
    }

    /// Adds profiles with these names whose agents play the script, for runs without `--scripted`.
    pub(crate) fn with_scripted_profiles(self, names: &[&str]) -> Self {
        let profile = |name: &&str| {
            format!(
                "[agents.{name}]\ncommand = \"$self\"\nargs = [\"scripted-agent\"]\n\
                 env_pass = [\"BRIDGE_SCRIPT\"]\n"
            )
        };
        self.with_profiles(&names.iter().map(profile).collect::<String>())
    }

    /// Writes the file that the project brings along.
    pub(crate) fn with_project_file(self, toml: &str) -> Self {
        std::fs::write(self.project.join(".claude/bridge.toml"), toml).unwrap();
        self
    }

    /// Adds a variable to the environment of the programs that are started.
    #[cfg(target_os = "linux")]
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn bus(&self) -> PathBuf {
        self.project.join(".claude/bridge")
    }

    /// Starts an orchestrator and connects to it.
    pub(crate) async fn orchestrator(&self) -> Member {
        let (child, pipes) = self.start(&["orchestrator"]).await;
        Member::connect(child, pipes).await
    }

    /// Starts an orchestrator with further arguments, and connects to it.
    pub(crate) async fn orchestrator_with(&self, arguments: &[&str]) -> Member {
        let all: Vec<&str> = std::iter::once(&"orchestrator").chain(arguments).copied().collect();
        let (child, pipes) = self.start(&all).await;
        Member::connect(child, pipes).await
    }

    /// Starts an orchestrator in a directory, from which it finds its project itself, and connects to it.
    pub(crate) async fn orchestrator_in(&self, directory: &Path) -> Member {
        let program = env!("CARGO_BIN_EXE_cli-team-bridge").into();
        let (child, pipes) =
            self.spawn_in(directory, program, vec!["orchestrator".into()], None).await;
        Member::connect(child, pipes).await
    }

    /// Copies the project as `cp -r` does, for the same user.
    pub(crate) fn copied(&self) -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap().join("copy");
        let copied =
            std::process::Command::new("cp").arg("-r").args([&self.project, &project]).status();
        assert!(copied.unwrap().success());
        Self { root, project, home: self.home.clone(), env: self.env.clone() }
    }

    /// Makes another project of the same user. It is dropped first, after all members of both have closed.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        Self { root, project, home: self.home.clone(), env: self.env.clone() }
    }

    /// Moves the project to another name, as `mv` does.
    pub(crate) fn move_project(&mut self) {
        let moved = self.project.with_file_name("moved");
        std::fs::rename(&self.project, &moved).unwrap();
        self.project = moved;
    }

    /// Starts an orchestrator whose client's user fills in forms, and connects to it.
    pub(crate) async fn orchestrator_of(&self, lifecycle: Lifecycle, forms: Forms) -> Member {
        let (child, pipes) = self.start(&["orchestrator"]).await;
        Member::connect_as(child, pipes, lifecycle, Some(forms)).await
    }

    /// Starts a peer and connects to it.
    pub(crate) async fn peer(&self, name: &str) -> Member {
        let (child, pipes) = self.start(&["peer", "--name", name]).await;
        Member::connect(child, pipes).await
    }

    /// Starts a peer through another program, which runs this binary with the arguments after its own, and connects to it.
    #[cfg(target_os = "linux")]
    pub(crate) async fn peer_by(&self, program: &[&str], name: &str) -> Member {
        let (child, pipes) = self.start_by(program, &["peer", "--name", name]).await;
        Member::connect(child, pipes).await
    }

    /// Starts this binary in the project through another program.
    #[cfg(target_os = "linux")]
    pub(crate) async fn start_by(
        &self,
        program: &[&str],
        arguments: &[&str],
    ) -> (Supervised, Pipes) {
        let own = [arguments, &["--project"]].concat();
        let mut args: Vec<OsString> = program[1..].iter().map(OsString::from).collect();
        args.push(env!("CARGO_BIN_EXE_cli-team-bridge").into());
        args.extend(own.iter().map(OsString::from));
        args.push(self.project.clone().into());
        self.spawn(program[0].into(), args).await
    }

    /// Starts this binary in the project.
    pub(crate) async fn start(&self, arguments: &[&str]) -> (Supervised, Pipes) {
        let mut args: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        args.extend(["--project".into(), self.project.clone().into()]);
        self.spawn(env!("CARGO_BIN_EXE_cli-team-bridge").into(), args).await
    }

    /// Starts this binary in a directory, without naming the project.
    pub(crate) async fn start_in(
        &self,
        directory: &Path,
        arguments: &[&str],
    ) -> (Supervised, Pipes) {
        let args = arguments.iter().map(OsString::from).collect();
        let program = env!("CARGO_BIN_EXE_cli-team-bridge").into();
        self.spawn_in(directory, program, args, None).await
    }

    async fn spawn(&self, program: PathBuf, args: Vec<OsString>) -> (Supervised, Pipes) {
        self.spawn_in(self.root.path(), program, args, None).await
    }

    /// Starts a program, behind a shim, as agents are, if one is given.
    pub(crate) async fn spawn_below(
        &self,
        program: PathBuf,
        args: Vec<OsString>,
        shim: Option<Shim>,
    ) -> (Supervised, Pipes) {
        self.spawn_in(self.root.path(), program, args, shim).await
    }

    async fn spawn_in(
        &self,
        directory: &Path,
        program: PathBuf,
        args: Vec<OsString>,
        shim: Option<Shim>,
    ) -> (Supervised, Pipes) {
        let env = self.environment();
        supervisor::spawn(ChildSpec { program, args, env, cwd: directory.to_owned(), shim })
            .await
            .unwrap()
    }

    /// Runs a command of this binary to its end, without a terminal; returns its exit, and its stdout followed by its stderr.
    pub(crate) async fn ended(&self, arguments: &[&str], shim: Option<Shim>) -> (Exit, String) {
        let args = arguments.iter().map(OsString::from).collect();
        let program = env!("CARGO_BIN_EXE_cli-team-bridge").into();
        let (child, mut pipes) = self.spawn_below(program, args, shim).await;
        drop(pipes.stdin);
        let mut said = String::new();
        let running = async {
            pipes.stdout.read_to_string(&mut said).await.unwrap();
            child.exited().await
        };
        let exit = tokio::time::timeout(super::DEADLINE, running).await;
        let exit = exit.expect("a command without questions ends");
        (exit, said + &child.stderr_tail())
    }

    /// Returns the environment of the programs that a test starts.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut env = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            (MARK.into(), self.home.clone().into()),
            ("BRIDGE_SCRIPT".into(), self.home.join("script.toml").into()),
        ];
        env.retain(|(name, _)| self.env.iter().all(|(own, _)| own != name));
        env.extend(self.env.iter().cloned());
        env
    }

    /// Returns the live processes of this stage.
    pub(crate) fn processes(&self) -> Vec<u32> {
        marked(MARK, &self.home.to_string_lossy())
    }

    /// Returns the live processes whose command line contains an argument.
    pub(crate) fn running(&self, argument: &str) -> Vec<u32> {
        let runs = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
        };
        self.processes().into_iter().filter(runs).collect()
    }

    /// Returns all lines of the log so far, in their order; none before there is a log.
    pub(crate) fn log_lines(&self) -> Vec<Value> {
        let segments = match std::fs::read_dir(self.bus().join("log")) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            segments => segments.unwrap(),
        };
        let mut segments: Vec<_> = segments.map(|entry| entry.unwrap().path()).collect();
        segments.sort();
        let mut all = Vec::new();
        for path in segments {
            let bytes = std::fs::read(path).unwrap();
            // A line that is still being written, or that a test damaged, is skipped.
            let lines = bytes.split(|byte| *byte == b'\n');
            all.extend(lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()));
        }
        all
    }

    /// Returns all events of the log so far, in their order.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.log_lines().into_iter();
        let events = lines.filter_map(|mut line| line.get_mut("events").map(Value::take));
        events.filter_map(|events| events.as_array().cloned()).flatten().collect()
    }

    /// Returns all events of one kind.
    pub(crate) fn events_of(&self, kind: &str) -> Vec<Value> {
        let events = self.events().into_iter();
        events.filter_map(|event| event.get(kind).cloned()).collect()
    }

    /// Checks that the log is all that is left after the end of all members.
    pub(crate) fn check_nobody_is_left(&self) {
        assert!(self.gone(), "left: {}", self.left());
        let presence: Vec<_> = std::fs::read_dir(self.bus().join("presence"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(presence.is_empty(), "presence is left: {presence:?}");
        let view = std::fs::read_to_string(self.bus().join("agents.json")).unwrap();
        let view: Value = serde_json::from_str(&view).unwrap();
        assert_eq!(view["agents"], serde_json::json!([]), "{view}");
        assert!(!self.events().is_empty(), "the log stays");
    }

    /// Waits until no process is left; a reaped tree takes a moment to disappear.
    fn gone(&self) -> bool {
        let deadline = Instant::now() + GONE;
        while !self.processes().is_empty() {
            if Instant::now() > deadline {
                return false;
            }
            pause();
        }
        true
    }

    /// Describes the processes that are left.
    fn left(&self) -> String {
        let described = self.processes().into_iter().map(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
        });
        described.collect::<Vec<_>>().join("; ")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A second panic would hide the test's own message, but its processes must not outlive it.
            let deadline = Instant::now() + GONE;
            while !self.processes().is_empty() && Instant::now() < deadline {
                for pid in self.processes() {
                    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
                    // It may have ended by itself.
                    let _ = kill(pid, Signal::SIGKILL);
                }
                pause();
            }
            return;
        }
        assert!(self.gone(), "processes outlive the test: {}", self.left());
    }
}

/// Pauses without a runtime: the channel never has a message.
fn pause() {
    let (_sender, receiver) = mpsc::channel::<()>();
    let _ = receiver.recv_timeout(super::PAUSE);
}
