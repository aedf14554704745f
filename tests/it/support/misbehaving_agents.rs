//! A project whose agents misbehave, and the orchestrator that leads them. Each agent carries a mark in its environment. Tests look
//! for the mark in all of `/proc`, so that they do not rely on a registry of ours.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind::WouldBlock;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::Client;
use cli_team_bridge::sys::process::marked;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::sleep;

/// Returns the binary under test: the one built with the tests, unless `BRIDGE_BINARY` names another.
pub(crate) fn binary() -> String {
    let built = env!("CARGO_BIN_EXE_cli-team-bridge").to_owned();
    std::env::var("BRIDGE_BINARY").unwrap_or(built)
}

pub(crate) const MARK: &str = "SUPERVISION_TEST";

/// Far longer than anything here takes, even on a busy machine: a test that reaches it has failed.
pub(crate) const FAR: Duration = Duration::from_mins(1);

/// The promised time limit for the death of a bridge, and for `kill_agent`.
const PROMISED: Duration = Duration::from_secs(10);

/// Returns the promised time limit as it is on this machine now: where several processes share a processor, each waits longer for its
/// turn.
pub(crate) fn promised() -> Duration {
    PROMISED * processes_per_processor()
}

/// Returns how many processes there are for each processor, of those that could run in the last minute or can now; at least one.
fn processes_per_processor() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut words = load.split(' ');
    let minute = words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or_default();
    let now = words.nth(2).and_then(|word| word.split_once('/')?.0.parse::<u32>().ok());
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let runnable = minute.max(f64::from(now.unwrap_or_default()));
    let share = runnable / f64::from(u32::try_from(processors).unwrap_or(u32::MAX));
    // A thousand processes on each processor are no machine to test on.
    (1..1_000).find(|count| f64::from(*count) >= share).unwrap_or(1_000)
}

/// Shell that an agent runs before it speaks ACP. It leaves a daemon behind, by two forks and a session of its own. The daemon
/// ignores SIGTERM, holds the agent's stdout and stderr open, and writes a file with its pid.
pub(crate) const ESCAPE: &str = "(setsid sh -c 'trap \"\" TERM; echo $$ > \"$HIDEOUT/$$\"; \
                      while :; do sleep 1000; done' &) ; ";

/// A project with a profile of agents that carry this test's mark. When it is dropped, it kills the agents that are left, so that
/// even a failing test leaves none.
pub(crate) struct Wild {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) mark: String,
    /// The directory of the user's own configuration file.
    pub(crate) own: tempfile::TempDir,
}

/// How the agents of a profile behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habit {
    pub(crate) profile: &'static str,
    /// Shell that the agent runs before it becomes the scripted agent. `$AGENT` is the scripted agent's command.
    pub(crate) before: &'static str,
    /// TOML of the script's `start`.
    pub(crate) start: &'static str,
    /// TOML of the profile, besides its command.
    pub(crate) settings: &'static str,
}

impl Habit {
    pub(crate) const fn new(
        profile: &'static str,
        before: &'static str,
        start: &'static str,
    ) -> Self {
        Self { profile, before, start, settings: "" }
    }
}

impl Wild {
    /// A project of one profile, `stubborn`.
    pub(crate) fn new(before: &'static str, start: &'static str) -> Self {
        Self::of(&[Habit::new("stubborn", before, start)])
    }

    /// A project with a profile for each habit.
    pub(crate) fn of(habits: &[Habit]) -> Self {
        let (folder, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mark = uuid::Uuid::new_v4().to_string();
        fs::create_dir_all(folder.path().join(".claude")).unwrap();
        let hideout = folder.path().join("hideout");
        fs::create_dir(&hideout).unwrap();
        // Some of them talk without an end.
        let mut profiles = "[limits]\nmessages_per_minute = 0\n".to_owned();
        for habit in habits {
            let Habit { profile, before, start, settings } = habit;
            let script = format!(
                "[agents.default.start]\n{start}\n\
                 [[agents.default.turns]]\nwhen = 'crash now'\nsteps = [{{ crash = 7 }}]\n\
                 [[agents.default.turns]]\nwhen = 'talk on'\nsteps = [{{ repeat = 100000, steps = [\
                 {{ call = 'send_message', with = {{ to = 'orchestrator', content = 'more' }} }}] }}]\n\
                 [[agents.default.turns]]\nwhen = 'work slowly'\nsteps = [{{ sleep_ms = 700 }}, {{ say = 'slow work' }}]\n\
                 [[agents.default.turns]]\nsteps = [{{ say = 'here' }}]\n"
            );
            fs::write(folder.path().join(format!("{profile}.toml")), script).unwrap();
            let binary = binary();
            let command = format!("{before}exec {binary} scripted-agent --script {profile}.toml");
            let table = format!(
                "[agents.{profile}]\ncommand = '/bin/sh'\nargs = ['-c', {command:?}]\n{settings}\n\
                 env = {{ {MARK} = '{mark}', HIDEOUT = '{}', \
                 AGENT = '{binary} scripted-agent --script {profile}.toml' }}\n",
                hideout.display()
            );
            profiles.push_str(&table);
        }
        fs::write(own.path().join("profiles.toml"), profiles).unwrap();
        Self { folder, mark, own }
    }

    pub(crate) async fn lead(&self) -> Lead {
        self.lead_after("").await
    }

    /// Starts an orchestrator; `before` is shell that runs first in the same process.
    pub(crate) async fn lead_after(&self, before: &str) -> Lead {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(format!("{before}exec \"$0\" \"$@\""))
            .args([&binary(), "orchestrator", "--project"])
            .arg(self.folder.path())
            .arg("--config")
            .arg(self.own.path().join("profiles.toml"))
            .current_dir(self.folder.path())
            .env("BRIDGE_LOG", "error")
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let began = Instant::now();
        let mut orchestrator = loop {
            match command.spawn() {
                // The flood of another test may have taken all pids for a moment.
                Err(error) if error.kind() == WouldBlock && began.elapsed() < FAR => {
                    sleep(Duration::from_millis(5)).await;
                }
                started => break started.unwrap(),
            }
        };
        let output = orchestrator.stdout.take().unwrap();
        let input = orchestrator.stdin.take().unwrap();
        Lead { client: Client::connect(output, input).await.unwrap(), orchestrator }
    }

    pub(crate) fn left(&self) -> Vec<u32> {
        marked(MARK, &self.mark)
    }

    /// Returns the processes of this test whose command line contains an argument.
    pub(crate) fn running(&self, argument: &str) -> Vec<u32> {
        let runs = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
        };
        self.left().into_iter().filter(runs).collect()
    }

    /// Says whether the log has a stop request for an agent.
    pub(crate) fn has_stop_request(&self) -> bool {
        let log = self.folder.path().join(".claude/bridge/log");
        let segments = fs::read_dir(log).unwrap().flatten();
        segments
            .filter_map(|entry| fs::read_to_string(entry.path()).ok())
            .any(|text| text.contains("\"stop_asked\""))
    }

    /// Locks the bus, as a process in a long write does, until the file is dropped.
    pub(crate) fn hold_bus(&self) -> Flock<File> {
        let lock = File::open(self.folder.path().join(".claude/bridge/lock")).unwrap();
        Flock::lock(lock, FlockArg::LockExclusive).unwrap()
    }

    pub(crate) fn escaped(&self) -> usize {
        fs::read_dir(self.folder.path().join("hideout")).unwrap().count()
    }

    pub(crate) fn presences(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join(".claude/bridge/presence");
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Waits until no process of the agents is left, including their shims, and returns how long that took.
    pub(crate) async fn nothing_is_left(&self) -> Duration {
        let began = Instant::now();
        eventually("nothing is left", || self.left().is_empty()).await;
        began.elapsed()
    }
}

impl Drop for Wild {
    fn drop(&mut self) {
        for pid in self.left() {
            // It may be gone by now.
            let _ = signal(pid, Signal::SIGKILL);
        }
    }
}

/// A running orchestrator and its client.
pub(crate) struct Lead {
    pub(crate) orchestrator: Child,
    pub(crate) client: Client,
}

impl Lead {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.client.call(tool, arguments, FAR).await.unwrap()
    }

    /// Starts an agent, and waits for the end of its first turn.
    pub(crate) async fn start(&self, name: &str) {
        self.start_of("stubborn", name).await;
    }

    /// Starts an agent of a profile, and waits for the end of its first turn.
    pub(crate) async fn start_of(&self, profile: &str, name: &str) {
        let given = json!({ "agent": profile, "name": name, "prompt": "hello", "wait": true });
        let result = self.call("assign_task", given).await;
        assert_eq!(result["status"], "done", "{result}");
    }

    /// Starts `talker`, an agent of a profile that sends message after message.
    pub(crate) async fn start_talker(&self, profile: &str) {
        let talks = json!({ "agent": profile, "name": "talker", "prompt": "talk on" });
        self.call("assign_task", talks).await;
    }

    /// Waits until `talker` has sent something.
    pub(crate) async fn hears_talk(&self) {
        let given = json!({ "from": "talker", "timeout_seconds": 50 });
        let heard = self.call("wait_for_message", given).await;
        assert_eq!(heard["message"]["content"], "more", "{heard}");
    }

    pub(crate) async fn kill(&self, name: &str) -> Duration {
        let began = Instant::now();
        let killed = self.call("kill_agent", json!({ "agent": name })).await;
        assert_eq!(killed["killed"], true);
        began.elapsed()
    }

    /// Waits until the agent's status is `dead`.
    pub(crate) async fn says_dead(&self, name: &str) {
        let began = Instant::now();
        loop {
            let status = self.call("get_agent_status", json!({})).await;
            let agents = status["agents"].as_array().unwrap();
            if agents.iter().any(|agent| agent["name"] == name && agent["status"] == "dead") {
                return;
            }
            assert!(began.elapsed() < FAR, "`{name}` is still reported as live");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends the orchestrator SIGTERM twice, waits until it and all its agents have ended, and returns how long that took.
    pub(crate) async fn terminate_twice(&mut self, wild: &Wild, limit: Duration) -> Duration {
        let began = Instant::now();
        for _ in 0..2 {
            signal(self.pid(), Signal::SIGTERM).unwrap();
            // The second signal counts only after the first has been handled.
            eventually("it is ending", || wild.has_stop_request()).await;
        }
        let exit = tokio::time::timeout(limit, self.orchestrator.wait()).await;
        assert!(exit.unwrap().unwrap().success());
        wild.nothing_is_left().await;
        let took = began.elapsed();
        assert!(took < promised(), "{took:?}");
        assert_eq!(wild.presences().len(), 0);
        took
    }

    pub(crate) fn pid(&self) -> u32 {
        self.orchestrator.id().unwrap()
    }

    pub(crate) fn open_files(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap();
        let shown = |path: &Path| {
            fs::read_link(path).map(|to| format!("{} {}", path.display(), to.display()))
        };
        let files = entries.filter_map(|entry| shown(&entry.unwrap().path()).ok());
        files.collect()
    }

    pub(crate) async fn close(mut self) {
        self.client.close().await;
        let exit = tokio::time::timeout(FAR, self.orchestrator.wait()).await;
        assert!(exit.unwrap().unwrap().success());
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) -> nix::Result<()> {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal)
}

pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < FAR, "{what}: not within {FAR:?}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the dead children that a process has not reaped.
pub(crate) fn zombies_of(parent: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let dead = format!(") Z {parent} ");
    stats.filter(|stat| stat.contains(&dead)).collect()
}
