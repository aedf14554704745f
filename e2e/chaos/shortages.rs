//! Faults that a bridge survives: a full disk, a bus locked by another process, no free descriptors, and a copy and a clone of its
//! project that are opened beside it.
//!
//! During a shortage the bridge may refuse anything. Afterwards no acknowledged message is lost or duplicated, every task has ended,
//! and agents take the next one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use super::random_kills::Row;
use super::wild::{Habit, Lead, Wild, eventually};

/// How long a shortage lasts: longer than a command waits for the bus, and longer than a turn takes.
const SHORTAGE_TIME: Duration = Duration::from_secs(3);

/// The pause between two messages during a shortage.
const PAUSE: Duration = Duration::from_millis(100);

const TAME: Habit = Habit::new("tame", "", "");

/// A resource that runs short.
#[derive(Clone, Copy, Debug)]
enum Shortage {
    Disk,
    Bus,
    Descriptors,
}

/// A shortage, until it is dropped.
enum Lasting {
    Limit(u32, Resource, Rlimit),
    Lock(File),
}

impl Shortage {
    fn description(self) -> &'static str {
        match self {
            Self::Disk => "an orchestrator's disk is full for 3 s, in the middle of a turn",
            Self::Bus => "another process holds the bus for 3 s, in the middle of a turn",
            Self::Descriptors => {
                "an orchestrator may open no file for 3 s, in the middle of a turn"
            }
        }
    }

    fn begin(self, wild: &Wild, lead: &Lead) -> Lasting {
        match self {
            // Files cannot grow; their contents stay.
            Self::Disk => Lasting::limit(lead.pid(), Resource::Fsize, 0),
            Self::Descriptors => Lasting::limit(lead.pid(), Resource::Nofile, 0),
            Self::Bus => {
                let lock = File::open(wild.folder.path().join(".claude/bridge/lock")).unwrap();
                flock(&lock, FlockOperation::LockExclusive).unwrap();
                Lasting::Lock(lock)
            }
        }
    }
}

impl Lasting {
    fn limit(pid: u32, resource: Resource, current: u64) -> Self {
        let at = Pid::from_raw(i32::try_from(pid).unwrap());
        // The orchestrator inherited our limits.
        let short = Rlimit { current: Some(current), ..rustix::process::getrlimit(resource) };
        let before = prlimit(at, resource, short).unwrap();
        Self::Limit(pid, resource, before)
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        match self {
            Self::Limit(pid, resource, before) => {
                let at = Pid::from_raw(i32::try_from(*pid).unwrap());
                prlimit(at, *resource, *before).unwrap();
            }
            Self::Lock(lock) => flock(lock, FlockOperation::Unlock).unwrap(),
        }
    }
}

pub(super) async fn run(runs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for shortage in [Shortage::Disk, Shortage::Bus, Shortage::Descriptors] {
        rows.push(survive(shortage, runs).await);
    }
    rows.push(open_beside(runs).await);
    rows
}

/// A shortage comes and goes several times while an agent works and gets messages.
async fn survive(shortage: Shortage, runs: usize) -> Row {
    let wild = Wild::of(&[TAME]);
    // A write beyond the size limit raises SIGXFSZ, which would end the process.
    let lead = wild.lead_after("trap '' XFSZ; ").await;
    lead.start_of("tame", "worker").await;
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for run in 0..runs {
        let slow = json!({ "agent": "worker", "prompt": "work slowly" });
        let slow = lead.call("assign_task", slow).await["task_id"].clone();
        until_task(&lead, &slow, |status| status == "running").await;
        let lasting = shortage.begin(&wild, &lead);
        let began = Instant::now();
        for number in 0.. {
            let text = format!("words {run}-{number}.");
            let message = json!({ "to": "worker", "content": text });
            match lead.client.call("send_message", message, super::wild::FAR).await {
                Ok(_) => acknowledged.push(text),
                Err(_) => refused += 1,
            }
            if began.elapsed() > SHORTAGE_TIME {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        drop(lasting);
        let ended =
            until_task(&lead, &slow, |status| !matches!(status, "queued" | "running")).await;
        assert_eq!(ended, "done", "{shortage:?}, run {run}");
        let result = lead.call("get_task_result", json!({ "task_id": slow })).await;
        assert_eq!(result["output"], "slow work", "{shortage:?}, run {run}: {result}");
        let more = json!({ "agent": "worker", "prompt": "hello", "wait": true });
        let more = lead.call("assign_task", more).await;
        assert_eq!(more["status"], "done", "{shortage:?}, run {run}: {more}");
        let another = format!("another-{run}");
        lead.start_of("tame", &another).await;
        lead.kill(&another).await;
    }
    eventually("every acknowledged message is seen once", || {
        let (sent, seen) = sent_and_seen(&wild);
        let is_seen_once = |text: &String| {
            let ids = sent.get(text).map_or(&[][..], Vec::as_slice);
            ids.len() == 1 && seen.get(&ids[0]) == Some(&1)
        };
        acknowledged.iter().all(is_seen_once)
    })
    .await;
    lead.close().await;
    wild.nothing_is_left().await;
    Row {
        fault: shortage.description(),
        runs,
        result: format!(
            "its task is done, the next one too; {} messages acknowledged and seen once, {refused} refused",
            acknowledged.len()
        ),
    }
}

/// A copy and a clone of a project are opened and used beside it, and do not affect it.
async fn open_beside(runs: usize) -> Row {
    for _ in 0..runs {
        let wild = Wild::of(&[TAME]);
        let lead = wild.lead().await;
        lead.start_of("tame", "worker").await;
        let worker = wild.running("scripted-agent");
        let project = wild.folder.path();
        let mut beside = vec![beside(&wild, |to| {
            Command::new("cp").arg("-a").arg(project.join(".")).arg(to).status()
        })];
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(project).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            git.args(arguments).stdout(std::process::Stdio::null()).status()
        };
        if git(&["init", "-q"]).is_ok_and(|status| status.success()) {
            assert!(git(&["add", "tame.toml"]).unwrap().success());
            assert!(git(&["commit", "-q", "-m", "all"]).unwrap().success());
            beside.push(self::beside(&wild, |to| {
                Command::new("git").args(["clone", "-q"]).arg(project).arg(to).status()
            }));
        }
        for other in beside {
            let second = other.lead().await;
            let members = second.call("list_agents", json!({})).await;
            let names = members["agents"].as_array().unwrap().iter();
            let names: Vec<_> = names.map(|member| member["name"].clone()).collect();
            assert!(!names.contains(&json!("worker")), "{names:?}");
            second.start_of("tame", "worker").await;
            second.close().await;
            assert_eq!(
                wild.running("scripted-agent"),
                worker,
                "the first project's agent lives on"
            );
            // Its drop would end every process with its mark, which the first project's processes share.
            let Wild { folder, .. } = &*std::mem::ManuallyDrop::new(other);
            fs::remove_dir_all(folder.path()).unwrap();
        }
        let more = json!({ "agent": "worker", "prompt": "hello", "wait": true });
        let more = lead.call("assign_task", more).await;
        assert_eq!(more["status"], "done", "{more}");
        lead.close().await;
        wild.nothing_is_left().await;
    }
    Row {
        fault: "a copy and a clone of a project with a live agent are opened and used beside it",
        runs,
        result: "each has a bus of its own; the agent lives on, and works".to_owned(),
    }
}

/// Makes another folder with the contents of a project.
fn beside(wild: &Wild, fill: impl Fn(&Path) -> std::io::Result<std::process::ExitStatus>) -> Wild {
    let folder = tempfile::tempdir().unwrap();
    assert!(fill(folder.path()).unwrap().success());
    let own = tempfile::tempdir().unwrap();
    let profiles = |of: &Path| of.join("profiles.toml");
    fs::copy(profiles(wild.own.path()), profiles(own.path())).unwrap();
    Wild { folder, mark: wild.mark.clone(), own }
}

/// Waits until the status of a task is one that `matches` accepts, and returns it.
async fn until_task(lead: &Lead, task: &Value, matches: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        let status = lead.call("get_task_status", json!({ "task_id": task })).await;
        let status = status["status"].as_str().unwrap().to_owned();
        if matches(&status) {
            return status;
        }
        assert!(began.elapsed() < super::wild::FAR, "the task stays {status}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads from the log the ids of the messages with each text, and how often each message was seen.
fn sent_and_seen(wild: &Wild) -> (BTreeMap<String, Vec<String>>, BTreeMap<String, usize>) {
    let (mut sent, mut seen) = (BTreeMap::new(), BTreeMap::new());
    let log = wild.folder.path().join(".claude/bridge/log");
    let mut segments: Vec<_> =
        fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    let text: String = segments.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut held: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let events = lines.flat_map(|line| line["events"].as_array().cloned().unwrap_or_default());
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for event in events {
        let call = |event: &Value| (string(&event["session"]), string(&event["call"]));
        if let Some(message) = event.get("message_sent") {
            let ids: &mut Vec<_> = sent.entry(string(&message["body"]["text"])).or_default();
            ids.push(string(&message["id"]));
        } else if let Some(handed) = event.get("message_handed") {
            let ids = handed["ids"].as_array().into_iter().flatten().map(string);
            held.entry(call(handed)).or_default().extend(ids);
        } else if let Some(of_call) = event.get("message_returned") {
            held.remove(&call(of_call));
        } else if let Some(of_call) = event.get("message_seen") {
            for id in held.remove(&call(of_call)).unwrap_or_default() {
                *seen.entry(id).or_default() += 1;
            }
        }
    }
    (sent, seen)
}
