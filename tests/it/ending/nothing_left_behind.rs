//! The real binary leads agents that try to leave processes behind. Whatever ends the agents, nothing is left.
//!
//! Each test marks its agents in their environment, and looks for the mark in all of `/proc`: it relies on no registry of ours.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use cli_team_bridge::sys::fs::file_lock::LifeLock;
use cli_team_bridge::sys::process::{self, group_members};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::misbehaving_agents::{
    ESCAPE, MARK, Wild, eventually, promised, signal, zombies_of,
};

#[tokio::test]
async fn an_escaped_process_dies_with_its_agent_however_the_agent_ends() {
    let stage = Wild::new(ESCAPE, "");
    let lead = stage.lead().await;
    for (count, end) in ["killed", "shut-down", "crashed", "shot"].into_iter().enumerate() {
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
                    "it is gone when the kill is confirmed"
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
    // A presence is removed after the end of its owner has been reported.
    eventually("only the orchestrator's presence is left", || stage.presences().len() == 1).await;
    lead.close().await;
}

#[tokio::test]
async fn nothing_is_left_when_the_orchestrator_is_killed() {
    let stage = Wild::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let mut lead = stage.lead().await;
    for name in ["one", "two", "three"] {
        lead.start(name).await;
    }
    eventually("the daemons are there", || stage.escaped() == 3).await;
    let presences = stage.presences();
    assert_eq!(presences.len(), 4);
    assert!(presences.iter().all(|path| LifeLock::is_held(path).unwrap()));

    lead.orchestrator.kill().await.unwrap();
    let held = |path: &&PathBuf| LifeLock::is_held(path).unwrap();
    assert!(
        presences.iter().filter(held).count() >= stage.running("__shim").len(),
        "an agent's presence is held until its tree is gone"
    );
    let took = stage.nothing_is_left().await;
    assert!(took < promised(), "{took:?}");
    assert_eq!(presences.iter().filter(held).count(), 0);
    println!("three agents: {} ms", took.as_millis());
}

#[tokio::test]
async fn nothing_is_left_when_a_shim_is_killed() {
    let stage = Wild::new(ESCAPE, "ignore_term = true\nignore_eof = true");
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
        assert!(took < promised(), "{took:?}");
        println!("{blow}: {} ms", took.as_millis());
        lead.says_dead(&name).await;
        eventually("the dead are reaped", || zombies_of(lead.pid()).is_empty()).await;
    }
    lead.close().await;
}

/// A fork bomb that an agent leaves behind: a hundred processes in a session of their own, outside of the agent's control group. Each
/// starts the next one and exits at once, until the test's directory is gone. Dead processes keep their ids until they are reaped.
/// So a process waits while the machine has more than 8,000 tasks, and the flood never takes the ids that other programs need.
const FLOOD: &str = "(setsid sh -c 'for group in /sys/fs/cgroup /sys/fs/cgroup/unified; do \
                     echo $$ > $group/cgroup.procs; done 2> /dev/null; trap \"\" TERM; \
                     crowded() { read -r one five fifteen tasks last < /proc/loadavg; [ \"${tasks#*/}\" -gt 8000 ]; }; \
                     flow() { crowded && sleep 0.2; [ -d \"$HIDEOUT\" ] && { flow & }; exit 0; }; \
                     count=0; while [ $count -lt 100 ]; do flow & count=$((count + 1)); done; \
                     echo > \"$HIDEOUT/flood\"' < /dev/null > /dev/null 2>&1 &) ; ";

#[tokio::test]
async fn a_fork_bomb_is_ended_in_time_and_reaped() {
    let wild = Wild::new(FLOOD, "");
    let lead = wild.lead().await;
    for end in ["killed", "shot"] {
        let flood = wild.folder.path().join("hideout/flood");
        lead.start(end).await;
        eventually("the flood is there", || flood.exists()).await;
        fs::remove_file(flood).unwrap();
        if end == "killed" {
            let took = lead.kill(end).await;
            assert!(took < promised(), "{took:?}");
        } else {
            // Then the orchestrator inherits the flood.
            let [shim] = wild.running("__shim")[..] else {
                panic!("one agent has one shim");
            };
            signal(shim, Signal::SIGKILL).unwrap();
            lead.says_dead(end).await;
        }
        let took = wild.nothing_is_left().await;
        assert!(took < promised(), "{took:?}");
        eventually("the dead are reaped", || zombies_of(lead.pid()).is_empty()).await;
    }
    lead.close().await;
}

#[tokio::test]
async fn directories_are_writable_only_by_their_owner_whatever_the_umask() {
    let wild = Wild::new("", "");
    let claude = wild.folder.path().join(".claude");
    fs::remove_dir(&claude).unwrap();
    let lead = wild.lead_after("umask 0; ").await;
    lead.call("list_agents", json!({})).await;
    for made in [claude, wild.folder.path().join("state")] {
        let mode = fs::metadata(&made).unwrap().permissions().mode();
        assert_eq!(mode & 0o022, 0, "{}: {mode:o}", made.display());
    }
    lead.close().await;
}

#[tokio::test]
async fn the_next_bridge_ends_what_a_dead_bridge_and_its_shims_leave() {
    let wild = Wild::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let mut lead = wild.lead().await;
    for name in ["one", "two"] {
        lead.start(name).await;
    }
    eventually("the daemons are there", || wild.escaped() == 2).await;
    // A stopped bridge cannot end the orphans that it inherits when its shims die.
    signal(lead.pid(), Signal::SIGSTOP).unwrap();
    for shim in wild.running("__shim") {
        signal(shim, Signal::SIGKILL).unwrap();
    }
    lead.orchestrator.kill().await.unwrap();
    assert_eq!(wild.running("scripted-agent").len(), 2, "they are left");
    let groups: Vec<PathBuf> = wild.left().into_iter().flat_map(groups_of).collect();

    let next = wild.lead().await;
    let took = wild.nothing_is_left().await;
    assert!(took < promised(), "{took:?}");
    println!("by the next bridge: {} ms", took.as_millis());
    eventually("their control groups are gone", || !groups.iter().any(|group| group.exists()))
        .await;
    next.says_dead("one").await;
    eventually("only the next bridge's presence is left", || wild.presences().len() == 1).await;
    let view = wild.folder.path().join(".claude/bridge/agents.json");
    eventually("the view names the next bridge alone", || {
        let view = fs::read_to_string(&view).unwrap_or_default();
        let view: Value = serde_json::from_str(&view).unwrap_or_default();
        let names = view["agents"].as_array().map(|agents| {
            let names = agents.iter().map(|agent| agent["name"].clone());
            names.collect::<Vec<_>>()
        });
        names == Some(vec![json!("orchestrator")])
    })
    .await;
    next.start("three").await;
    next.close().await;
}

/// The daemon has left its parent, its session and its marked environment. Only its control group shows its agent.
#[tokio::test]
async fn a_daemon_without_our_environment_is_ended_by_the_next_bridge_where_there_are_control_groups()
 {
    let unknown =
        "(env -i setsid sh -c 'echo $$ > \"$0\"; exec sleep 1000' \"$HIDEOUT/unknown\" &) ; ";
    let wild = Wild::new(format!("{ESCAPE}{unknown}").leak(), "");
    let mut lead = wild.lead().await;
    lead.start("agent").await;
    let note = wild.folder.path().join("hideout/unknown");
    let pid = || fs::read_to_string(&note).unwrap_or_default().trim().parse::<u32>().ok();
    eventually("both daemons are there", || wild.escaped() == 2 && pid().is_some()).await;
    let daemon = pid().unwrap();
    let started = process::start_time(daemon).unwrap();
    let lives = || process::start_time(daemon) == Some(started);
    assert!(!wild.left().contains(&daemon), "it has no mark");
    let [shim] = wild.running("__shim")[..] else {
        panic!("one agent has one shim");
    };
    let is_grouped = control_group(daemon) != control_group(shim);
    signal(lead.pid(), Signal::SIGSTOP).unwrap();
    signal(shim, Signal::SIGKILL).unwrap();
    lead.orchestrator.kill().await.unwrap();
    assert!(lives());
    let next = wild.lead().await;
    wild.nothing_is_left().await;
    if is_grouped {
        eventually("it is ended", || !lives()).await;
    } else {
        println!("skipped: no control group can be made here");
        signal(daemon, Signal::SIGKILL).unwrap();
    }
    next.close().await;
}

/// Returns the control group that the bridge made for a process, if it could.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let all = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let own = all.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = own.filter(|group| group.contains("cli-team-bridge-"));
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let places = mounts.into_iter().zip(own.into_iter().cycle());
    let places = places.map(|(mount, group)| PathBuf::from(mount).join(group));
    places.filter(|group| group.exists()).collect()
}

#[tokio::test]
async fn a_stopped_shim_of_a_dead_bridge_is_ended_by_the_next_bridge() {
    let wild = Wild::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let mut lead = wild.lead().await;
    lead.start("agent").await;
    eventually("a daemon is there", || wild.escaped() == 1).await;
    let [shim] = wild.running("__shim")[..] else {
        panic!("one agent has one shim");
    };
    signal(shim, Signal::SIGSTOP).unwrap();
    lead.orchestrator.kill().await.unwrap();
    let next = wild.lead().await;
    let took = wild.nothing_is_left().await;
    println!("by the next bridge: {} ms", took.as_millis());
    next.says_dead("agent").await;
    next.close().await;
}

#[tokio::test]
async fn the_processes_of_an_agent_are_on_the_bus_before_its_first_prompt() {
    let wild = Wild::new("", "");
    let lead = wild.lead().await;
    lead.start("agent").await;
    let log = fs::read_dir(wild.folder.path().join(".claude/bridge/log")).unwrap();
    let text: String =
        log.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let place = |what: &str| text.rfind(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(place("\"acp_session\"") < place("\"task_started\""));
    let [agent] = wild.running("scripted-agent")[..] else {
        panic!("one agent runs");
    };
    let [shim] = wild.running("__shim")[..] else {
        panic!("it has one shim");
    };
    for pid in [agent, shim] {
        assert!(text.contains(&format!("{{\"pid\":{pid},\"started\":")), "{text}");
    }
    lead.close().await;
}

#[tokio::test]
async fn an_earlier_child_of_the_bridge_is_not_taken_for_an_agent() {
    let stage = Wild::new(ESCAPE, "");
    let stranger = format!("{MARK}={} sleep 1000 > /dev/null & ", stage.mark);
    let lead = stage.lead_after(&stranger).await;
    eventually("the stranger is there", || stage.running("sleep").len() == 1).await;
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
    let stage = Wild::new(ESCAPE, "ignore_term = true\nignore_eof = true");
    let lead = stage.lead().await;
    for (count, word) in ["scripted-agent", "__shim"].into_iter().enumerate() {
        lead.start(word.trim_matches('_')).await;
        eventually("a daemon is there", || stage.escaped() > count).await;
        let [stopped] = stage.running(word)[..] else {
            panic!("it runs");
        };
        signal(stopped, Signal::SIGSTOP).unwrap();
        let took = lead.kill(word.trim_matches('_')).await;
        assert!(took < promised(), "{word}: {took:?}");
        stage.nothing_is_left().await;
        println!("{word}: {} ms", took.as_millis());
    }
    lead.close().await;
}

#[tokio::test]
async fn starting_and_killing_again_and_again_leaves_nothing_open() {
    let cycles: usize = std::env::var("BRIDGE_CYCLES").map_or(20, |cycles| cycles.parse().unwrap());
    let stage = Wild::new(ESCAPE, "");
    let lead = stage.lead().await;
    let mut before = BTreeSet::new();
    for cycle in 0..=cycles {
        lead.start(&format!("agent-{cycle}")).await;
        lead.kill(&format!("agent-{cycle}")).await;
        // On a machine at its limit the kernel may take longer to end a killed process than a kill waits for it.
        stage.nothing_is_left().await;
        if cycle == 0 {
            // The first cycle opens files that stay open: the watcher of signals, threads.
            before = lead.open_files();
        }
    }
    let after = lead.open_files();
    assert!(after.len().abs_diff(before.len()) <= 2, "{before:#?}\n{after:#?}");
    eventually("the dead are reaped", || zombies_of(lead.pid()).is_empty()).await;
    println!("{cycles} cycles: {} open files, then {}", before.len(), after.len());
    lead.close().await;
}

#[tokio::test]
async fn an_agent_gets_its_three_pipes_and_nothing_else_from_its_shim() {
    let list = "(cd /proc/$$/fd && echo *) > files; ";
    let stage = Wild::new(list, "");
    let lead = stage.lead().await;
    lead.start("looker").await;
    let files = fs::read_to_string(stage.folder.path().join("files")).unwrap();
    // Every child inherits the files that this test was started with.
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
    let stage = Wild::new(ESCAPE, "");
    let lead = stage.lead().await;
    for name in ["one", "two"] {
        lead.start(name).await;
    }
    eventually("the daemons are there", || stage.escaped() == 2).await;
    lead.close().await;
    assert_eq!(stage.left(), Vec::<u32>::new());
    assert_eq!(stage.presences(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_agent_has_a_control_group_that_is_removed_with_it() {
    let stage = Wild::new(ESCAPE, "");
    let lead = stage.lead().await;
    lead.start("grouped").await;
    eventually("a daemon is there", || stage.escaped() == 1).await;
    let [shim] = stage.running("__shim")[..] else {
        panic!("one shim runs");
    };
    let all = stage.left().into_iter().filter(|pid| *pid != shim);
    let groups: BTreeSet<_> = all.map(control_group).collect();
    if groups.contains(&control_group(shim)) {
        println!("skipped: no control group can be made here");
        return lead.close().await;
    }
    let [group] = groups.iter().collect::<Vec<_>>()[..] else {
        panic!("all its processes are in one group: {groups:?}");
    };
    assert!(group.contains("cli-team-bridge-"), "{group}");
    let directory = mounted(group);
    assert!(directory.exists());
    lead.kill("grouped").await;
    assert!(!directory.exists(), "{} is left", directory.display());
    lead.close().await;
}

/// Returns the path of a process's control group of version 2.
fn control_group(pid: u32) -> String {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let mut lines = groups.lines();
    lines.find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned()
}

/// Returns the directory of a control group of version 2.
fn mounted(group: &str) -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut points = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let point = fields.next()?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(point))
    });
    points.next().unwrap().join(group.trim_start_matches('/'))
}

#[tokio::test]
async fn an_orchestrator_opens_as_many_files_as_it_may_and_its_agents_as_many_as_before() {
    let limits = |pid: u32| {
        let all = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let line = all.lines().find_map(|line| line.strip_prefix("Max open files"));
        let mut words = line.unwrap().split_whitespace().map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap())
    };
    let stage = Wild::new("", "");
    let lead = stage.lead_after("ulimit -S -n 200; ").await;
    lead.start("one").await;
    let (soft, hard) = limits(lead.orchestrator.id().unwrap());
    assert_eq!(soft, hard);
    let [agent] = stage.running("scripted-agent")[..] else {
        panic!("one agent runs");
    };
    assert_eq!(limits(agent), ("200".to_owned(), hard));
}
