//! The parts of a chaos run, and what each must leave behind.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use cli_team_bridge::domain::limits;
use cli_team_bridge::sys::random_ids;
use nix::sys::signal::Signal;
use serde_json::json;

use super::chance::Chance;
use super::wild::{ESCAPE, FAR, Habit, Lead, Wild, eventually, promised, signal, zombies_of};
use super::{fuzz_targets, shortages};

/// By how many the open files may differ afterwards.
const FILES_TOLERANCE: usize = 2;

/// By how many KiB the memory may grow.
const MEMORY_TOLERANCE_KIB: u64 = 5 * 1024;

/// The cycles before the first measurement of memory and files, so that caches, buffers and threads exist by then.
const WARM_UP: usize = 20;

/// How many ended messages and ended tasks fill the state before memory is measured. The state keeps the headers of a limited number,
/// which is not a leak.
const HEADERS: usize = limits::KEPT_ENDED + 400;

/// How many tasks one agent gets before the test waits for the last of them.
const QUEUED: usize = 50;

/// How agents behave; most of them misbehave.
const HABITS: [Habit; 6] = [
    Habit::new("tame", "", ""),
    Habit::new("leaver", ESCAPE, ""),
    Habit::new("forker", "for n in 1 2 3 4; do (sleep 1000 &); done; ", ""),
    Habit::new(
        "noisy",
        "head -c 300000 /dev/zero | tr '\\0' x >&2; echo noise; ",
        "stderr = 'hello'",
    ),
    Habit::new("deaf", ESCAPE, "ignore_eof = true"),
    Habit::new("stubborn", ESCAPE, "ignore_term = true\nignore_eof = true"),
];

/// An agent that is restarted when it crashes.
const LOOPER: Habit =
    Habit { settings: "restart = 'on_failure'", ..Habit::new("looper", ESCAPE, "") };

/// An agent that ends when it is asked to, but leaves a process behind.
const LEAVER: Habit = Habit::new("leaver", ESCAPE, "");

/// One row of the table.
pub(super) struct Row {
    pub(super) fault: &'static str,
    pub(super) runs: usize,
    pub(super) result: String,
}

pub(super) async fn run() {
    let setting = |name: &str| std::env::var(name).ok();
    let number = |name, small, large| {
        let of_size =
            if setting("BRIDGE_CHAOS").as_deref() == Some("large") { large } else { small };
        setting(name).map_or(of_size, |number| number.parse().unwrap())
    };
    let cycles: usize = number("BRIDGE_CHAOS_CYCLES", 6, 1_000);
    let kills: usize = number("BRIDGE_CHAOS_KILLS", 1, 200);
    let drawn = random_ids::session().0.as_u64_pair().1;
    let seed = setting("BRIDGE_CHAOS_SEED").map_or(drawn, |seed| seed.parse().unwrap());
    println!("chaos: {cycles} cycles, {kills} killed bridges, BRIDGE_CHAOS_SEED={seed}");
    let mut chance = Chance(seed | 1);
    let few = kills.div_ceil(20);
    let mut rows = vec![
        cycle_agents(cycles, &mut chance).await,
        kill_bridges(kills, &mut chance).await,
        end_bridges(few).await,
        crash_on(few).await,
    ];
    rows.extend(shortages::run(few).await);
    if setting("BRIDGE_CHAOS").as_deref() == Some("large") {
        rows.extend(fuzz_targets::run());
    }
    println!("| fault | runs | result |\n|---|---|---|");
    for Row { fault, runs, result } in rows {
        println!("| {fault} | {runs} | {result} |");
    }
}

/// Agents of all habits are started, and ended by all methods.
async fn cycle_agents(cycles: usize, chance: &mut Chance) -> Row {
    let wild = Wild::of(&HABITS);
    let lead = wild.lead().await;
    let (mut before, mut slowest) = ((0, Memory::default()), Duration::ZERO);
    if cycles > WARM_UP {
        fill_the_state(&lead).await;
    }
    for cycle in 0..cycles {
        let habit = HABITS[chance.below(HABITS.len())];
        let name = format!("agent-{cycle}");
        lead.start_of(habit.profile, &name).await;
        let end = chance.below(6);
        let began = Instant::now();
        end_agent(&wild, &lead, habit, &name, end).await;
        wild.nothing_is_left().await;
        let took = began.elapsed();
        slowest = slowest.max(took);
        assert!(took < promised(), "cycle {cycle}: {habit:?} by {end} took {took:?}");
        // The end is reported a moment after it happens.
        lead.says_dead(&name).await;
        // The last process may die a moment after the rest; the bridge reaps it at its next check.
        eventually("the dead are reaped", || zombies_of(lead.pid()).is_empty()).await;
        if cycle % 10 == 0 {
            // Notices are read, so that they do not count as memory growth.
            lead.call("check_messages", json!({ "limit": 500 })).await;
        }
        if cycle + 1 == WARM_UP.min(cycles) {
            before = (lead.open_files().len(), Memory::of(&lead));
        }
        if cycle % 100 == 99 {
            println!("{} cycles, {}", cycle + 1, Memory::of(&lead));
        }
    }
    let after = (lead.open_files().len(), Memory::of(&lead));
    assert!(before.0.abs_diff(after.0) <= FILES_TOLERANCE, "files: {before:?} {after:?}");
    assert!(after.1.kib() <= before.1.kib() + MEMORY_TOLERANCE_KIB, "memory: {before:?} {after:?}");
    lead.close().await;
    assert_eq!(wild.left(), Vec::<u32>::new());
    Row {
        fault: "an agent of six habits is started, and ended in one of six ways",
        runs: cycles,
        result: format!(
            "0 orphans, 0 zombies; files {} → {}, memory {} → {}; slowest end {} ms",
            before.0,
            after.0,
            before.1,
            after.1,
            slowest.as_millis()
        ),
    }
}

/// Lets agents send and work until the state holds the most ended messages and tasks that it keeps.
async fn fill_the_state(lead: &Lead) {
    lead.start_talker("tame").await;
    let mut read = 0;
    while read < HEADERS {
        lead.hears_talk().await;
        let checked = lead.call("check_messages", json!({ "limit": 500 })).await;
        read += checked["messages"].as_array().unwrap().len();
    }
    lead.kill("talker").await;
    lead.start_of("tame", "worker").await;
    for _ in 0..HEADERS.div_ceil(QUEUED) {
        for queued in 1..=QUEUED {
            let task = json!({ "agent": "worker", "prompt": "hello", "wait": queued == QUEUED });
            lead.call("assign_task", task).await;
        }
        lead.call("check_messages", json!({ "limit": 500 })).await;
    }
    lead.kill("worker").await;
}

async fn end_agent(wild: &Wild, lead: &Lead, habit: Habit, name: &str, end: usize) {
    let signal_all = |word: &str, sent| {
        for pid in wild.running(word) {
            // It may be gone by now.
            let _ = signal(pid, sent);
        }
    };
    let ignores_term = habit.profile == "stubborn";
    match end {
        // An agent that ignores SIGTERM is killed only after 5 s, so most of these get SIGKILL at once.
        0 | 1 if ignores_term => signal_all("scripted-agent", Signal::SIGKILL),
        0 => drop(lead.kill(name).await),
        1 => {
            let (one, two) = tokio::join!(lead.kill(name), lead.kill(name));
            assert!(one.max(two) < promised());
        }
        2 => drop(lead.call("shutdown_agent", json!({ "agent": name })).await),
        3 => signal_all("scripted-agent", Signal::SIGKILL),
        4 => signal_all("__shim", Signal::SIGKILL),
        _ => {
            let task = json!({ "agent": name, "prompt": "crash now" });
            drop(lead.call("assign_task", task).await);
        }
    }
}

/// Bridges with several agents are killed at random moments, and the next bridge starts cleanly.
async fn kill_bridges(kills: usize, chance: &mut Chance) -> Row {
    let wild = Wild::of(&HABITS);
    let mut slowest = Duration::ZERO;
    for kill in 0..kills {
        let mut lead = wild.lead().await;
        for number in 0..3 {
            let habit = HABITS[chance.below(HABITS.len())];
            let name = format!("agent-{kill}-{number}");
            if number == 2 && chance.below(2) == 0 {
                // This agent is still starting.
                let task = json!({ "agent": habit.profile, "name": name, "prompt": "hello" });
                lead.call("assign_task", task).await;
            } else {
                lead.start_of(habit.profile, &name).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(chance.below(50) as u64)).await;
        let began = Instant::now();
        lead.orchestrator.kill().await.unwrap();
        wild.nothing_is_left().await;
        let took = began.elapsed();
        slowest = slowest.max(took);
        assert!(took < promised(), "kill {kill}: {took:?}");
        if kill % 20 == 19 {
            println!("{} killed bridges", kill + 1);
        }
    }
    let next = wild.lead().await;
    next.start_of("tame", "last").await;
    eventually("only the last two are present", || wild.presences().len() == 2).await;
    next.close().await;
    assert_eq!(wild.presences().len(), 0);
    Row {
        fault: "SIGKILL of an orchestrator with three agents, one of them starting perhaps",
        runs: kills,
        result: format!(
            "nothing left after {} ms at the latest; the next start is clean",
            slowest.as_millis()
        ),
    }
}

/// A bridge gets SIGTERM twice, while one agent does not read its full pipe and another agent sends.
async fn end_bridges(runs: usize) -> Row {
    let mut slowest = Duration::ZERO;
    for _ in 0..runs {
        let wild = Wild::of(&[LEAVER]);
        let mut lead = wild.lead().await;
        lead.start_of("leaver", "clogged").await;
        for agent in wild.running("scripted-agent") {
            signal(agent, Signal::SIGSTOP).unwrap();
        }
        let much = json!({ "agent": "clogged", "prompt": "x".repeat(500_000) });
        lead.call("assign_task", much).await;
        lead.start_talker("leaver").await;
        lead.hears_talk().await;
        slowest = slowest.max(lead.terminate_twice(&wild, FAR).await);
    }
    Row {
        fault: "SIGTERM twice, with a full pipe to a stopped agent, and during the sends of another",
        runs,
        result: format!("ended well, nothing left after {} ms at the latest", slowest.as_millis()),
    }
}

/// An agent that crashes in every turn is restarted only once.
async fn crash_on(runs: usize) -> Row {
    for _ in 0..runs {
        let wild = Wild::of(&[LOOPER]);
        let lead = wild.lead().await;
        lead.start_of("looper", "looper").await;
        for _ in 0..2 {
            let task = json!({ "agent": "looper", "prompt": "crash now" });
            lead.call("assign_task", task).await;
        }
        lead.says_dead("looper").await;
        wild.nothing_is_left().await;
        let log = wild.folder.path().join(".claude/bridge/log");
        let text: String = fs::read_dir(log)
            .unwrap()
            .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        assert_eq!(text.matches("{\"agent_crashed\"").count(), 1);
        lead.close().await;
    }
    Row {
        fault: "an agent with `restart = \"on_failure\"` crashes in each of its turns",
        runs,
        result: "started again once, then failed; nothing left".to_owned(),
    }
}

/// The resident memory of a process in KiB: its own data, and the pages of its program that it has used so far.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    data: u64,
    program: u64,
}

impl Memory {
    fn of(lead: &Lead) -> Self {
        let status = fs::read_to_string(format!("/proc/{}/status", lead.pid())).unwrap();
        let kib = |label: &str| {
            let line = status.lines().find(|line| line.starts_with(label));
            let number = line.unwrap().split_ascii_whitespace().nth(1);
            number.unwrap().parse::<u64>().unwrap()
        };
        Self { data: kib("RssAnon:"), program: kib("RssFile:") }
    }

    fn kib(self) -> u64 {
        self.data + self.program
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data, program } = self;
        write!(formatter, "{} KiB ({data} of data, {program} of the program)", self.kib())
    }
}
