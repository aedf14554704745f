//! What happens in a run of chaos, and what has to hold after each part.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use cli_team_bridge::domain::limits;
use cli_team_bridge::sys::random_ids;
use nix::sys::signal::Signal;
use serde_json::json;

use super::wild::{ESCAPE, FAR, Habit, Lead, PROMISED, Wild, eventually, signal, zombies_of};
use super::{fuzz_targets, shortages};

/// So many files more or less may be open after as before.
const FILES: usize = 2;

/// So much more memory may be in use after as before, in KiB.
const MEMORY_KIB: u64 = 5 * 1024;

/// Cycles after which memory and files are looked at for the first time: caches, buffers and threads are there by then.
const WARM: usize = 20;

/// Of so many ended messages, and of so many ended tasks, the state keeps headers, which is not what is looked for: it has them
/// before memory is measured.
const HEADERS: usize = limits::KEPT_ENDED + 400;

/// So many tasks may be queued for one agent before it is waited for.
const QUEUED: usize = 50;

/// How agents behave: some well, none all the time.
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

/// An agent that crashes as often as it is started.
const LOOPER: Habit =
    Habit { settings: "restart = 'on_failure'", ..Habit::new("looper", ESCAPE, "") };

/// An agent that does what it is told.
const LEAVER: Habit = Habit::new("leaver", ESCAPE, "");

/// Chances that can be had again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*: good enough to choose by.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(drawn).unwrap() % end
    }
}

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

/// Agents of all habits are started and ended in all ways.
async fn cycle_agents(cycles: usize, chance: &mut Chance) -> Row {
    let wild = Wild::of(&HABITS);
    let lead = wild.lead().await;
    let (mut before, mut slowest) = ((0, Memory::default()), Duration::ZERO);
    if cycles > WARM {
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
        assert!(took < PROMISED, "cycle {cycle}: {habit:?} by {end} took {took:?}");
        // The end is told a moment after it has come.
        lead.says_dead(&name).await;
        // The last of them may die a moment after the rest, and is reaped at the bridge's next look.
        eventually("the dead are reaped", || zombies_of(lead.pid()).is_empty()).await;
        if cycle % 10 == 0 {
            // What is told must not gather: it is not what is measured here.
            lead.call("check_messages", json!({ "limit": 500 })).await;
        }
        if cycle + 1 == WARM.min(cycles) {
            before = (lead.open_files().len(), Memory::of(&lead));
        }
        if cycle % 100 == 99 {
            println!("{} cycles, {}", cycle + 1, Memory::of(&lead));
        }
    }
    let after = (lead.open_files().len(), Memory::of(&lead));
    assert!(before.0.abs_diff(after.0) <= FILES, "files: {before:?} {after:?}");
    assert!(after.1.kib() <= before.1.kib() + MEMORY_KIB, "memory: {before:?} {after:?}");
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

/// Lets an agent send and work until the state has as many ended messages and tasks as it keeps.
async fn fill_the_state(lead: &Lead) {
    lead.start_talker("tame").await;
    let mut read = 0;
    while read < HEADERS {
        lead.hears_talk().await;
        let got = lead.call("check_messages", json!({ "limit": 500 })).await;
        read += got["messages"].as_array().unwrap().len();
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
    let signal_one = |word: &str, blow| {
        for pid in wild.running(word) {
            // It may be gone by now.
            let _ = signal(pid, blow);
        }
    };
    let ignores_term = habit.profile == "stubborn";
    match end {
        // What ignores SIGTERM takes 5 s to be killed by it, so most of these are ended at once.
        0 | 1 if ignores_term => signal_one("scripted-agent", Signal::SIGKILL),
        0 => drop(lead.kill(name).await),
        1 => {
            let (one, two) = tokio::join!(lead.kill(name), lead.kill(name));
            assert!(one.max(two) < PROMISED);
        }
        2 => drop(lead.call("shutdown_agent", json!({ "agent": name })).await),
        3 => signal_one("scripted-agent", Signal::SIGKILL),
        4 => signal_one("__shim", Signal::SIGKILL),
        _ => {
            let task = json!({ "agent": name, "prompt": "crash now" });
            drop(lead.call("assign_task", task).await);
        }
    }
}

/// Bridges with several agents are killed, at any moment, and the next one begins where they were.
async fn kill_bridges(kills: usize, chance: &mut Chance) -> Row {
    let wild = Wild::of(&HABITS);
    let mut slowest = Duration::ZERO;
    for kill in 0..kills {
        let mut lead = wild.lead().await;
        for number in 0..3 {
            let habit = HABITS[chance.below(HABITS.len())];
            let name = format!("agent-{kill}-{number}");
            if number == 2 && chance.below(2) == 0 {
                // This one is in the middle of its start.
                let given = json!({ "agent": habit.profile, "name": name, "prompt": "hello" });
                lead.call("assign_task", given).await;
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
        assert!(took < PROMISED, "kill {kill}: {took:?}");
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

/// A bridge is told to end, twice, while one agent reads nothing behind a full pipe and another one sends.
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

/// An agent that crashes whenever it works is started again once, and then no more.
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

/// What a process holds in memory, in KiB: its own data, and the pages of its program that it has used so far.
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
