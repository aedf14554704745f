//! The real binary leads agents that try to leave something behind. Whatever ends them, nothing of them is left.
//!
//! Each test marks its agents in their environment, and looks for the mark in all of `/proc`: it asks no registry of ours.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::Client;
use cli_team_bridge::sys::lock::LifeLock;
use cli_team_bridge::sys::process::{group_members, marked};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::sleep;

const BINARY: &str = env!("CARGO_BIN_EXE_cli-team-bridge");

const MARK: &str = "SUPERVISION_TEST";

/// Far more than anything here takes, also on a busy machine: reaching it is a failure.
const FAR: Duration = Duration::from_mins(1);

/// What is promised for the death of a bridge, and for `kill_agent`.
const PROMISED: Duration = Duration::from_secs(10);

/// What becomes of an agent before it speaks ACP: a daemon is left behind, by two forks and a session of its own, that ignores
/// SIGTERM and holds the agent's stdout and stderr open. It tells that it is there by a file with its pid.
const ESCAPE: &str = "(setsid sh -c 'trap \"\" TERM; echo $$ > \"$HIDEOUT/$$\"; \
                      while :; do sleep 1000; done' &) ; ";

/// A project with a profile of agents that carry this test's mark. Dropped, it kills what is left of them, so that a failing
/// test leaves nothing either.
struct Stage {
    folder: tempfile::TempDir,
    mark: String,
}

impl Stage {
    /// `before` is shell, which the agent runs before it becomes the scripted agent; `start` is TOML of the script.
    fn new(before: &str, start: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mark = uuid::Uuid::new_v4().to_string();
        let script = format!(
            "[agents.default.start]\n{start}\n\
             [[agents.default.turns]]\nwhen = 'crash now'\nsteps = [{{ crash = 7 }}]\n\
             [[agents.default.turns]]\nsteps = [{{ say = 'here' }}]\n"
        );
        fs::create_dir_all(folder.path().join(".claude")).unwrap();
        fs::create_dir(folder.path().join("hideout")).unwrap();
        fs::write(folder.path().join("script.toml"), script).unwrap();
        let stage = Self { folder, mark };
        let command = format!("{before}exec {BINARY} scripted-agent --script script.toml");
        let profile = format!(
            "[agents.stubborn]\ncommand = '/bin/sh'\nargs = ['-c', {command:?}]\n\
             env = {{ {MARK} = '{}', HIDEOUT = '{}' }}\n",
            stage.mark,
            stage.folder.path().join("hideout").display()
        );
        fs::write(stage.folder.path().join(".claude/bridge.toml"), profile).unwrap();
        stage
    }

    async fn lead(&self) -> Lead {
        self.lead_after("").await
    }

    /// `before` is shell, which runs in the process that becomes the orchestrator.
    async fn lead_after(&self, before: &str) -> Lead {
        let mut orchestrator = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("{before}exec \"$0\" \"$@\""))
            .args([BINARY, "orchestrator", "--project"])
            .arg(self.folder.path())
            .current_dir(self.folder.path())
            .env("BRIDGE_LOG", "error")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = orchestrator.stdout.take().unwrap();
        let input = orchestrator.stdin.take().unwrap();
        Lead {
            client: Client::connect(output, input).await.unwrap(),
            orchestrator,
        }
    }

    fn left(&self) -> Vec<u32> {
        marked(MARK, &self.mark)
    }

    /// Returns the processes of this test whose command line has this word.
    fn running(&self, word: &str) -> Vec<u32> {
        let runs = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0)
                .any(|found| found == word.as_bytes())
        };
        self.left().into_iter().filter(runs).collect()
    }

    fn escaped(&self) -> usize {
        fs::read_dir(self.folder.path().join("hideout"))
            .unwrap()
            .count()
    }

    fn presences(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join(".claude/bridge/presence");
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Waits until nothing of the agents is left, shims among it, and says how long that took.
    async fn nothing_is_left(&self) -> Duration {
        let began = Instant::now();
        eventually("nothing is left", || self.left().is_empty()).await;
        began.elapsed()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for pid in self.left() {
            // It may be gone by now.
            let _ = signal(pid, Signal::SIGKILL);
        }
    }
}

/// A running orchestrator and its client.
struct Lead {
    orchestrator: Child,
    client: Client,
}

impl Lead {
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.client.call(tool, arguments, FAR).await.unwrap()
    }

    /// Starts an agent; when this returns, it has had a turn.
    async fn start(&self, name: &str) {
        let given = json!({ "agent": "stubborn", "name": name, "prompt": "hello", "wait": true });
        let result = self.call("assign_task", given).await;
        assert_eq!(result["status"], "done", "{result}");
    }

    async fn kill(&self, name: &str) -> Duration {
        let began = Instant::now();
        let killed = self.call("kill_agent", json!({ "agent": name })).await;
        assert_eq!(killed["killed"], true);
        began.elapsed()
    }

    /// Waits until the agent's status is that it is dead.
    async fn says_dead(&self, name: &str) {
        let began = Instant::now();
        loop {
            let status = self.call("get_agent_status", json!({})).await;
            let agents = status["agents"].as_array().unwrap();
            if agents
                .iter()
                .any(|agent| agent["name"] == name && agent["status"] == "dead")
            {
                return;
            }
            assert!(began.elapsed() < FAR, "`{name}` is still said to live");
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn pid(&self) -> u32 {
        self.orchestrator.id().unwrap()
    }

    fn open_files(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap();
        let shown = |path: &Path| {
            fs::read_link(path).map(|to| format!("{} {}", path.display(), to.display()))
        };
        let files = entries.filter_map(|entry| shown(&entry.unwrap().path()).ok());
        files.collect()
    }

    async fn close(mut self) {
        self.client.close().await;
        let exit = tokio::time::timeout(FAR, self.orchestrator.wait()).await;
        assert!(exit.unwrap().unwrap().success());
    }
}

fn signal(pid: u32, signal: Signal) -> nix::Result<()> {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal)
}

async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < FAR, "{what}: not within {FAR:?}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the dead that their parent has not reaped.
fn zombies_of(parent: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let dead = format!(") Z {parent} ");
    stats.filter(|stat| stat.contains(&dead)).collect()
}

#[tokio::test]
async fn what_escapes_dies_with_its_agent_however_that_ends() {
    let stage = Stage::new(ESCAPE, "");
    let lead = stage.lead().await;
    for (count, end) in ["killed", "shut-down", "crashed", "shot"]
        .into_iter()
        .enumerate()
    {
        lead.start(end).await;
        eventually("a daemon is there", || stage.escaped() > count).await;
        assert_eq!(stage.running("__shim").len(), 1);
        let began = Instant::now();
        match end {
            "killed" => {
                lead.kill(end).await;
                assert_eq!(
                    stage.left(),
                    Vec::<u32>::new(),
                    "it is gone when that is told"
                );
            }
            "shut-down" => {
                lead.call("shutdown_agent", json!({ "agent": end })).await;
            }
            "crashed" => {
                let task = json!({ "agent": end, "prompt": "crash now" });
                lead.call("assign_task", task).await;
            }
            _ => {
                let [agent] = stage.running("scripted-agent")[..] else {
                    panic!("one agent runs");
                };
                signal(agent, Signal::SIGKILL).unwrap();
            }
        }
        stage.nothing_is_left().await;
        lead.says_dead(end).await;
        println!("{end}: {} ms", began.elapsed().as_millis());
    }
    // A presence goes after the end of its owner has been told.
    eventually("only the orchestrator's presence is left", || {
        stage.presences().len() == 1
    })
    .await;
    lead.close().await;
}

#[tokio::test]
async fn nothing_is_left_when_the_orchestrator_is_killed() {
    let stage = Stage::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let mut lead = stage.lead().await;
    for name in ["one", "two", "three"] {
        lead.start(name).await;
    }
    eventually("the daemons are there", || stage.escaped() == 3).await;
    let presences = stage.presences();
    assert_eq!(presences.len(), 4);
    assert!(
        presences
            .iter()
            .all(|path| LifeLock::is_held(path).unwrap())
    );

    lead.orchestrator.kill().await.unwrap();
    let held = |path: &&PathBuf| LifeLock::is_held(path).unwrap();
    assert!(
        presences.iter().filter(held).count() >= stage.running("__shim").len(),
        "an agent's presence is held until its tree is gone"
    );
    let took = stage.nothing_is_left().await;
    assert!(took < PROMISED, "{took:?}");
    assert_eq!(presences.iter().filter(held).count(), 0);
    println!("three agents: {} ms", took.as_millis());
}

#[tokio::test]
async fn nothing_is_left_when_a_shim_is_killed() {
    let stage = Stage::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let lead = stage.lead().await;
    for (count, blow) in [Signal::SIGKILL, Signal::SIGTERM].into_iter().enumerate() {
        let name = blow.as_str().to_lowercase();
        lead.start(&name).await;
        eventually("a daemon is there", || stage.escaped() > count).await;
        let [shim] = stage.running("__shim")[..] else {
            panic!("one agent has one shim");
        };
        signal(shim, blow).unwrap();
        let took = stage.nothing_is_left().await;
        assert!(took < PROMISED, "{took:?}");
        println!("{blow}: {} ms", took.as_millis());
        lead.says_dead(&name).await;
        assert_eq!(zombies_of(lead.pid()), Vec::<String>::new());
    }
    lead.close().await;
}

#[tokio::test]
async fn who_was_a_child_before_is_taken_for_no_agent() {
    let stage = Stage::new(ESCAPE, "");
    let stranger = format!("{MARK}={} sleep 1000 > /dev/null & ", stage.mark);
    let lead = stage.lead_after(&stranger).await;
    eventually("the stranger is there", || {
        stage.running("sleep").len() == 1
    })
    .await;
    let stranger = stage.left();
    lead.start("agent").await;
    eventually("a daemon is there", || stage.escaped() == 1).await;
    let [shim] = stage.running("__shim")[..] else {
        panic!("one agent has one shim");
    };
    signal(shim, Signal::SIGKILL).unwrap();
    eventually("only the stranger is left", || stage.left() == stranger).await;
    lead.says_dead("agent").await;
    lead.close().await;
    assert_eq!(stage.left(), stranger);
}

#[tokio::test]
async fn a_stopped_agent_and_a_stopped_shim_are_killed_in_time() {
    let stage = Stage::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let lead = stage.lead().await;
    for (count, word) in ["scripted-agent", "__shim"].into_iter().enumerate() {
        lead.start(word.trim_matches('_')).await;
        eventually("a daemon is there", || stage.escaped() > count).await;
        let [stopped] = stage.running(word)[..] else {
            panic!("it runs");
        };
        signal(stopped, Signal::SIGSTOP).unwrap();
        let took = lead.kill(word.trim_matches('_')).await;
        assert!(took < PROMISED, "{word}: {took:?}");
        stage.nothing_is_left().await;
        println!("{word}: {} ms", took.as_millis());
    }
    lead.close().await;
}

#[tokio::test]
async fn starting_and_killing_again_and_again_leaves_nothing_open() {
    let cycles: usize = std::env::var("BRIDGE_CYCLES").map_or(20, |cycles| cycles.parse().unwrap());
    let stage = Stage::new(ESCAPE, "");
    let lead = stage.lead().await;
    let mut before = BTreeSet::new();
    for cycle in 0..=cycles {
        lead.start(&format!("agent-{cycle}")).await;
        lead.kill(&format!("agent-{cycle}")).await;
        assert_eq!(stage.left(), Vec::<u32>::new());
        if cycle == 0 {
            // The first one opens what stays open: the watcher of signals, threads.
            before = lead.open_files();
        }
    }
    let after = lead.open_files();
    assert!(
        after.len().abs_diff(before.len()) <= 2,
        "{before:#?}\n{after:#?}"
    );
    assert_eq!(zombies_of(lead.pid()), Vec::<String>::new());
    println!(
        "{cycles} cycles: {} open files, then {}",
        before.len(),
        after.len()
    );
    lead.close().await;
}

#[tokio::test]
async fn an_agent_gets_its_three_pipes_and_nothing_else_of_its_guard() {
    let list = "(cd /proc/$$/fd && echo *) > files; ";
    let stage = Stage::new(list, "");
    let lead = stage.lead().await;
    lead.start("looker").await;
    let files = fs::read_to_string(stage.folder.path().join("files")).unwrap();
    // Files that this test was started with are inherited by all; they are in any child.
    let plain = tempfile::tempdir().unwrap();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", list]).current_dir(plain.path());
    assert!(shell.stdin(Stdio::null()).status().unwrap().success());
    let inherited = fs::read_to_string(plain.path().join("files")).unwrap();
    assert_eq!(files, inherited, "neither lifeline nor presence");
    let [agent] = stage.running("scripted-agent")[..] else {
        panic!("one agent runs");
    };
    let status = fs::read_to_string(format!("/proc/{agent}/status")).unwrap();
    let blocked = status.lines().find(|line| line.starts_with("SigBlk:"));
    let blocked = blocked.unwrap().split_whitespace().last().unwrap();
    assert!(blocked.bytes().all(|digit| digit == b'0'), "{blocked}");
    assert!(group_members(agent).contains(&agent), "it leads its group");
    lead.close().await;
}

#[tokio::test]
async fn the_end_of_the_client_ends_everything() {
    let stage = Stage::new(ESCAPE, "");
    let lead = stage.lead().await;
    for name in ["one", "two"] {
        lead.start(name).await;
    }
    eventually("the daemons are there", || stage.escaped() == 2).await;
    lead.close().await;
    assert_eq!(stage.left(), Vec::<u32>::new());
    assert_eq!(stage.presences(), Vec::<PathBuf>::new());
}
