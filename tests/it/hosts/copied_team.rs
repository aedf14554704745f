//! A bus in files that is copied to a server, and back, also by copies that are killed in the middle. `BRIDGE_KILLS` sets how many are
//! killed, `BRIDGE_COPY_LINES` how long the history is.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cli_team_bridge::bus::event::{Entry, Event};
use cli_team_bridge::bus::rules::{Description, NameChoice};
use cli_team_bridge::bus::storage::file::{FileLog, Foreign, Options, Origin, Proof, line_format};
use cli_team_bridge::bus::{Bus, Joining, Membership};
use cli_team_bridge::domain::ids::{RequestId, TaskId};
use cli_team_bridge::domain::limits::INLINE_BYTES;
use cli_team_bridge::domain::member::{Departure, MemberKind};
use cli_team_bridge::domain::time::Tick;
use cli_team_bridge::sys::clock;
use cli_team_bridge::sys::fs::disk::RealDisk;
use cli_team_bridge::sys::fs::user_state_dir::StateDirectory;
use cli_team_bridge::sys::random_ids;

use crate::bus::every_engine::{Chance, name, peer, send, take};
use crate::support::postgres_server;

/// A machine with a checkout of the project.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project/.claude")).unwrap();
        Self(folder)
    }

    fn project(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("project")
    }

    fn bus(&self) -> PathBuf {
        self.project().join(".claude/bridge")
    }

    /// Opens its bus, as a process of its user.
    fn open(&self) -> Bus {
        let home = self.0.path().join("home");
        let find = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
        let proof = Proof { state: StateDirectory::find(find), foreign: Foreign::PutAside };
        let options = Options {
            segment_bytes: 20_000,
            snapshot_events: 64,
            origin: Origin::Proven(proof),
            ..Options::default()
        };
        let log = FileLog::open(&self.bus(), Arc::new(RealDisk), options).unwrap();
        assert_eq!(log.put_aside(), None);
        Bus::open(Box::new(log)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
        command
            .args(arguments)
            .current_dir(self.project())
            .env("HOME", self.0.path().join("home"))
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must do what it is for. Returns what it said.
    fn done(&self, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.output(arguments);
        let said = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&stderr));
        said
    }

    /// Runs a command that must be refused. Returns the reason.
    fn refused(&self, arguments: &[&str]) -> String {
        let Output { status, stderr, .. } = self.output(arguments);
        assert!(!status.success(), "{arguments:?}");
        String::from_utf8_lossy(&stderr).into_owned()
    }

    /// The bytes of its log.
    fn log(&self) -> Vec<u8> {
        let mut parts: Vec<_> = fs::read_dir(self.bus().join("log"))
            .unwrap()
            .map(|part| part.unwrap().path())
            .collect();
        parts.sort();
        parts.into_iter().flat_map(|part| fs::read(part).unwrap()).collect()
    }

    /// Lets a member join, send messages to itself, the first a long one, and leave.
    async fn talk(&self, name: &str, messages: usize) {
        let bus = tokio::task::block_in_place(|| self.open());
        let member = peer(&bus, name).await;
        for number in 0..messages {
            let length = if number == 0 { INLINE_BYTES } else { 100 };
            send(&member, "reader", &format!("{name} {number} {}", "x".repeat(length))).await;
        }
        member.leave(Departure::Closed).await.unwrap();
        bus.close().await;
    }

    /// Reads all that waits for the reader.
    async fn read(&self) -> Vec<String> {
        let bus = tokio::task::block_in_place(|| self.open());
        let reader = peer(&bus, "reader").await;
        let mut texts = Vec::new();
        loop {
            let mut call = reader.call();
            let letters = take(&mut call).await;
            call.answered().await;
            if letters.is_empty() {
                break;
            }
            let told = letters.into_iter().filter(|letter| !letter.header.is_presence());
            texts.extend(told.map(|letter| letter.text));
        }
        reader.leave(Departure::Closed).await.unwrap();
        bus.close().await;
        texts
    }
}

fn server() -> Option<String> {
    let server = tokio::task::block_in_place(postgres_server::shared);
    if server.is_none() {
        println!("skipped: no PostgreSQL is installed");
    }
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_in_files_becomes_a_team_on_a_server_and_a_bus_in_files_again_with_all_it_has() {
    let Some(server) = server() else { return };
    let (here, there) = (Machine::new(), Machine::new());
    // The reader's name exists, so its mail waits.
    here.read().await;
    here.talk("ann", 30).await;
    let task = here.bus().join("tasks").join(format!("{}.jsonl", TaskId::from_bits(7)));
    let mut transcript = fs::File::options().write(true).create_new(true).mode(0o600).open(&task);
    transcript.as_mut().unwrap().write_all(b"{}\n").unwrap();
    let before = here.log();
    let copy = ["bus", "copy", &server, "--team", "copied"];

    let bus = here.open();
    let live = peer(&bus, "live-one").await;
    assert!(here.refused(&copy).contains("live-one"));
    live.leave(Departure::Closed).await.unwrap();
    bus.close().await;
    let said = here.done(&copy);
    assert!(said.contains("the same on both sides") && said.contains("1 long text:"), "{said}");
    assert!(here.log().starts_with(&before), "all lines are as they were");
    let copied = here.log();
    assert!(here.done(&["bus", "status"]).contains("all of them here"));
    assert!(here.done(&copy).contains("the same on both sides"), "once more");
    assert!(there.refused(&copy).contains("There is no team"), "nothing was copied");

    there.done(&["bus", "init", &server, "--team", "copied"]);
    assert_eq!(there.log(), copied);
    there.talk("far", 3).await;
    let texts = here.read().await;
    assert_eq!(texts.len(), 33);
    assert!(texts.iter().any(|text| text.starts_with("ann 0 ") && text.len() > INLINE_BYTES));
    assert!(texts.iter().any(|text| text.starts_with("far 0 ") && text.len() > INLINE_BYTES));
    assert_eq!(fs::read(&task).unwrap(), b"{}\n");

    let far = there.open();
    let live = peer(&far, "far-one").await;
    let refused = here.refused(&["bus", "copy", "--files"]);
    assert!(refused.contains("other machines are at work"), "{refused}");
    live.leave(Departure::Closed).await.unwrap();
    far.close().await;
    drop(far);
    let said = here.done(&["bus", "copy", "--files"]);
    assert!(said.contains("in files here now"), "{said}");
    assert!(here.done(&["bus", "status"]).starts_with("kept in files here"));
    assert!(here.log().starts_with(&copied));
    here.talk("ann", 2).await;
    assert_eq!(here.read().await.len(), 2);
    assert!(here.done(&["bus", "copy", "--files"]).contains("in files already"));
    // The other machine is told, and the name is not given away.
    let refused = there.refused(&["bus", "copy", "--files"]);
    assert!(refused.contains("was copied from the server into files"), "{refused}");
    let refused = there.refused(&["bus", "status"]);
    assert!(refused.contains("was copied from the server into files"), "{refused}");
    let refused = there.refused(&["bus", "init", &server, "--team", "copied"]);
    assert!(refused.contains("has ended here"), "{refused}");
    let refused = here.refused(&copy);
    assert!(refused.contains("already"), "{refused}");
    here.done(&["bus", "copy", &server, "--team", "copied-again"]);
    assert!(here.done(&["bus", "verify"]).contains("The bus is whole"));
}

/// Writes a log of many short lines, whose clock was ahead.
fn write_lines(machine: &Machine, lines: u64, ahead_ms: i64) {
    drop(machine.open());
    let log = machine.bus().join("log");
    for part in fs::read_dir(&log).unwrap() {
        fs::remove_file(part.unwrap().path()).unwrap();
    }
    let mut file = None;
    for seq in 1..=lines {
        if seq % 10_000 == 1 {
            let path = log.join(format!("{seq:020}.jsonl"));
            let mut options = fs::File::options();
            let made = options.write(true).create_new(true).mode(0o600).open(path).unwrap();
            file = Some(std::io::BufWriter::new(made));
        }
        let entry = Entry {
            seq,
            ts: clock::now().wall_ms + ahead_ms,
            tick: Tick { boot: 1, ms: seq },
            id: random_ids::command(),
            by: None,
            events: vec![Event::RequestNudged { id: RequestId::from_bits(seq) }],
        };
        file.as_mut().unwrap().write_all(&line_format::encode(&entry)).unwrap();
    }
}

/// Runs a copy, and returns the most memory that it used, in KiB.
fn most_memory(machine: &Machine, arguments: &[&str]) -> u64 {
    let mut child = machine.command(arguments).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let used = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(used.unwrap_or(0));
        std::thread::yield_now();
    }
    assert!(child.wait().unwrap().success());
    most
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_history_is_copied_in_bites_and_the_clock_does_not_go_back() {
    const HOUR_MS: i64 = 3_600_000;
    let Some(server) = server() else { return };
    let lines = std::env::var("BRIDGE_COPY_LINES").map_or(20_000, |lines| lines.parse().unwrap());
    let machine = Machine::new();
    write_lines(&machine, lines, HOUR_MS);
    let begun = Instant::now();
    let copy = ["bus", "copy", &server, "--team", "long"];
    let most = tokio::task::block_in_place(|| most_memory(&machine, &copy));
    println!("{lines} lines to the server in {:?}, {most} KiB", begun.elapsed());
    assert!(most < 128 * 1024, "{most} KiB");
    machine.read().await;
    machine.talk("ann", 1).await;
    let log = String::from_utf8(machine.log()).unwrap();
    let times = log.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["ts"].as_i64().unwrap()
    });
    assert!(times.clone().count() as u64 > lines);
    let last: Vec<_> = times.skip(usize::try_from(lines).unwrap() - 1).collect();
    assert!(last.is_sorted(), "{last:?}");
    let begun = Instant::now();
    let most = tokio::task::block_in_place(|| most_memory(&machine, &["bus", "copy", "--files"]));
    println!("and back in {:?}, {most} KiB", begun.elapsed());
    assert!(most < 128 * 1024, "{most} KiB");
}

/// Kills a command after a time. Says whether it was killed before its end.
fn kill_after(machine: &Machine, arguments: &[&str], time: Duration) -> bool {
    let mut child =
        machine.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (_sender, nothing) = mpsc::channel::<()>();
    let _ = nothing.recv_timeout(time);
    let was_running = child.try_wait().unwrap().is_none();
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().unwrap();
    was_running
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_killed_leaves_a_usable_bus_and_the_next_one_ends_it() {
    let Some(server) = server() else { return };
    let kills: usize = std::env::var("BRIDGE_KILLS").map_or(8, |kills| kills.parse().unwrap());
    let mut chance = Chance::new();
    let machine = Machine::new();
    machine.read().await;
    machine.talk("ann", 200).await;
    let mut sent = 200;
    let mut in_the_middle = 0;
    let mut usual = [Duration::from_millis(500); 2];
    for round in 0..kills {
        let team = format!("killed-{round}");
        let to_server = ["bus", "copy", &server, "--team", &team];
        let to_files = ["bus", "copy", "--files"];
        for (direction, copy) in [&to_server[..], &to_files].into_iter().enumerate() {
            let before = machine.log();
            let micros = u64::try_from(usual[direction].as_micros()).unwrap();
            let time = Duration::from_micros(chance.below(micros));
            let killed = tokio::task::block_in_place(|| kill_after(&machine, copy, time));
            in_the_middle += u32::from(killed);
            // The bus is one of the two, and a member can write.
            machine.talk("ben", 2).await;
            sent += 2;
            assert!(machine.log().starts_with(&before), "{copy:?} after {time:?}");
            let begun = Instant::now();
            machine.done(copy);
            usual[direction] = begun.elapsed();
            let kept = machine.done(&["bus", "status"]);
            assert_eq!(kept.starts_with("kept in files here"), direction == 1, "{kept}");
        }
    }
    println!("{in_the_middle} of {} killed in the middle", 2 * kills);
    assert!(in_the_middle > 0);
    let texts = machine.read().await;
    assert_eq!(texts.len(), sent, "nothing is lost or doubled");
    let of_log = fs::metadata(machine.bus().join("lock")).unwrap();
    assert_eq!(of_log.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_had_the_bus_open_as_what_it_was_does_not_write_to_it_any_more() {
    let Some(server) = server() else { return };
    let machine = Machine::new();
    machine.read().await;
    let window = machine.open();
    machine.done(&["bus", "copy", &server, "--team", "windowed"]);
    let before = machine.log();
    let joining = Joining {
        choice: NameChoice::Chosen(name("late")),
        kind: MemberKind::Peer,
        roles: Vec::new(),
        description: Description::default(),
    };
    let joined = Membership::join(&window, joining).await;
    let refused = joined.err().unwrap().to_string();
    assert!(refused.contains("was removed"), "{refused}");
    assert_eq!(machine.log(), before);
    window.close().await;
}
