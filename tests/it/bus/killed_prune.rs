//! A `bus prune` that is killed in the middle, beside a team: nothing that anybody may read is lost, the bus stays whole, and the next
//! prune goes on. `BRIDGE_KILLS` sets how many are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cli_team_bridge::bus::storage::file::upkeep::{
    PruneOptions, Pruned, Pruning, Severity, Verified, prune, verify,
};
use cli_team_bridge::bus::storage::file::{FileLog, Foreign, Options, Origin, Proof};
use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::domain::ids::{MessageId, TaskId};
use cli_team_bridge::domain::limits::INLINE_BYTES;
use cli_team_bridge::sys::clock;
use cli_team_bridge::sys::fs::disk::RealDisk;
use cli_team_bridge::sys::fs::user_state_dir::StateDirectory;

use super::every_engine::{Chance, peer, send, take, within};
use super::killed_writers::{Other, check_alike};

/// Messages and transcripts that nobody needs any more, and messages that wait, before each kill.
const DONE: u64 = 40;
const WAITING: u64 = 4;

fn bus_in(root: &Path) -> PathBuf {
    root.join("project").join(".claude").join("bridge")
}

fn proof(root: &Path) -> Proof {
    let state = root.join("state");
    let find = |name: &str| (name == "XDG_STATE_HOME").then(|| state.clone().into_os_string());
    Proof { state: StateDirectory::find(find), foreign: Foreign::PutAside }
}

fn open(root: &Path) -> Bus {
    let options = Options {
        segment_bytes: 2_000,
        snapshot_events: 8,
        snapshot_percent: 0,
        origin: Origin::Proven(proof(root)),
        ..Options::default()
    };
    let log = FileLog::open(&bus_in(root), Arc::new(RealDisk), options).unwrap();
    Bus::open(Box::new(log)).unwrap()
}

/// Prunes what is older than now, or finds out what would go.
fn pruned(root: &Path, removes: bool) -> Pruned {
    let options = PruneOptions { older_than: Some(Duration::ZERO), removes };
    match prune(&bus_in(root), &proof(root), &options).unwrap() {
        Pruning::Done(pruned) => pruned,
        Pruning::Absent | Pruning::Foreign => panic!("the bus is this one"),
    }
}

/// The part of the child process: says that it begins, and prunes.
pub(super) fn play(root: &Path) {
    println!(">begins");
    pruned(root, true);
    println!(">done");
}

/// Counts the files that a prune may remove.
fn files(root: &Path) -> u64 {
    let parts = ["log", "blobs", "tasks"];
    let counts = parts.map(|part| fs::read_dir(bus_in(root).join(part)).map_or(0, Iterator::count));
    counts.iter().sum::<usize>() as u64
}

/// The snapshots of the bus: what they cover may go.
fn snapshots(root: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(bus_in(root).join("snapshot")).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

/// Writes transcripts of yesterday, which the team itself still keeps.
fn write_transcripts(root: &Path, round: u64) {
    let now = Duration::from_millis(clock::now().wall_ms.unsigned_abs());
    let yesterday = SystemTime::UNIX_EPOCH + now.saturating_sub(Duration::from_hours(24));
    for number in 0..DONE {
        let task = TaskId::from_bits(1_000 * (round + 1) + number);
        let path = bus_in(root).join("tasks").join(format!("{task}.jsonl"));
        let mut private = fs::File::options();
        let mut file = private.write(true).create_new(true).mode(0o600).open(&path).unwrap();
        file.write_all(b"{}\n").unwrap();
        file.set_modified(yesterday).unwrap();
    }
}

/// Sends messages, every third a long one in a file of its own, and returns them.
async fn send_some(from: &Membership, count: u64, round: u64) -> BTreeMap<MessageId, String> {
    let mut sent = BTreeMap::new();
    for number in 0..count {
        let length = if number.is_multiple_of(3) { INLINE_BYTES } else { 100 };
        let text = format!("{round} {number} {}", "x".repeat(length));
        sent.insert(send(from, "reader", &text).await, text);
    }
    sent
}

/// Reads all unread messages.
async fn read_all(reader: &Membership) -> BTreeMap<MessageId, String> {
    let mut read = BTreeMap::new();
    loop {
        let mut call = reader.call();
        let letters = take(&mut call).await;
        call.answered().await;
        if letters.is_empty() {
            return read;
        }
        for letter in letters {
            let known = read.insert(letter.header.id.clone(), letter.text);
            assert_eq!(known, None, "handed twice");
        }
    }
}

fn check_whole(root: &Path) {
    let Verified::Bus(report) = verify(&bus_in(root), &proof(root)).unwrap() else {
        panic!("the bus is this one")
    };
    let problems = report.findings.iter().filter(|finding| finding.severity == Severity::Problem);
    assert_eq!(problems.collect::<Vec<_>>(), Vec::<&_>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_prune_loses_nothing_that_is_needed_and_the_next_one_goes_on() {
    let kills: u64 = std::env::var("BRIDGE_KILLS").map_or(12, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("project")).unwrap();
    let mut chance = Chance::new();
    let bus = open(root);
    let (writer, reader) = (peer(&bus, "writer").await, peer(&bus, "reader").await);
    // What is unread stays: the news that the reader has come.
    read_all(&writer).await;
    let mut waiting = BTreeMap::new();
    let mut in_the_middle = 0;
    for round in 0..kills {
        waiting.extend(send_some(&writer, DONE, round).await);
        assert_eq!(read_all(&reader).await, waiting);
        write_transcripts(root, round);
        waiting = send_some(&writer, WAITING, round).await;

        let present = files(root);
        // The team writes the snapshots that let its history go beside its other work.
        let goes = within(async {
            loop {
                let found = pruned(root, false);
                let goes = found.segments + found.texts + found.transcripts;
                if goes > DONE {
                    break goes;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        let mut other = Other::start("prune", root);
        assert_eq!(other.hear().as_deref(), Some("begins"));
        // The rest of a prune is over soon.
        let wanted = present - chance.below(goes / 2);
        within(async {
            while files(root) > wanted && other.child.try_wait().unwrap().is_none() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        tokio::time::sleep(Duration::from_micros(chance.below(200))).await;
        other.kill();
        in_the_middle += u64::from(other.hear().is_none());

        // The team goes on at once, and whoever opens the bus now finds it whole.
        check_whole(root);
        waiting.extend(send_some(&writer, 1, round).await);
        let fresh = open(root);
        check_alike(&fresh, &bus).await;
        fresh.close().await;
        if chance.below(2) == 0 {
            let before = snapshots(root);
            pruned(root, true);
            let again = pruned(root, true).segments;
            // With a snapshot that the team has written meanwhile, more may go.
            let is_settled = snapshots(root) == before;
            assert!(again == 0 || !is_settled, "nothing is left to the next one: {again}");
            check_whole(root);
        }
    }
    println!("{in_the_middle} of {kills} killed in the middle");
    assert!(in_the_middle > 0, "no prune was killed in the middle");
    assert_eq!(read_all(&reader).await, waiting);
    pruned(root, true);
    check_whole(root);
}
