//! Processes that are killed in the middle of writing: nothing that was acknowledged is lost, and a claim has one winner.
//!
//! The test binary runs itself again as the other process. `BRIDGE_KILLS` sets how many are killed.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use cli_team_bridge::bus::rules::NameChoice;
use cli_team_bridge::bus::{Bus, Claimed, Membership};
use cli_team_bridge::domain::ids::{MessageId, RequestId};
use cli_team_bridge::domain::member::MemberKind;

use super::every_engine::{Chance, ids, join, name, open_files, peer, take, within};

/// Variables that give a child process its part, and its directory.
const PART: &str = "BRIDGE_TEST_PART";
const DIRECTORY: &str = "BRIDGE_TEST_DIRECTORY";

/// Concurrent writers.
const WRITERS: usize = 3;

/// Processes that race for each request.
const RACERS: usize = 16;

/// Requests to race for.
const REQUESTS: usize = 12;

/// A child process, which does not outlive its test.
pub(crate) struct Other {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(part: &str, directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "bus::killed_writers::play_a_part", "--nocapture"])
            .env(PART, part)
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Reads the next word that the child printed, and skips the output of the test runner.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            // A line that the kill cut off is ignored.
            if let Some((_, word)) = line.split_once('>')
                && let Some(word) = word.strip_suffix('\n')
            {
                return Some(word.to_owned());
            }
            line.clear();
        }
        None
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing, unless another test of this file has started this process.
#[tokio::test]
async fn play_a_part() {
    let (Ok(part), Some(directory)) = (std::env::var(PART), std::env::var_os(DIRECTORY)) else {
        return;
    };
    if part == "hold" {
        return super::hung_process::hold(directory.as_ref()).await;
    }
    if part == "prune" {
        return super::killed_prune::play(directory.as_ref());
    }
    let bus = open_files(directory.as_ref());
    match part.as_str() {
        "write" => write(&bus).await,
        _ => race(&bus).await,
    }
}

/// Sends messages until it is killed, and prints the id of each acknowledged one.
async fn write(bus: &Bus) {
    let membership = join(bus, NameChoice::Like(name("writer")), MemberKind::Peer).await;
    loop {
        let id = super::every_engine::send(&membership, "reader", "some words").await;
        println!(">{id}");
    }
}

/// Claims every open request, prints those that it won, and lives until its input ends.
async fn race(bus: &Bus) {
    let membership = join(bus, NameChoice::Like(name("racer")), MemberKind::Peer).await;
    println!(">ready");
    let mut start = [0];
    std::io::stdin().read_exact(&mut start).unwrap();
    let open: Vec<RequestId> = bus.look(|state| {
        let open = state.unanswered_requests();
        open.map(|request| request.id.clone()).collect()
    });
    assert_eq!(open.len(), REQUESTS);
    for id in open {
        let mut call = membership.call();
        if let Claimed::Won(request) = call.claim(id).await.unwrap() {
            println!(">{}", request.id);
        }
        call.answered().await;
    }
    println!(">done");
    // The input ends when all racers have finished. If this one ended earlier, its claims would be free again.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Reads all unread messages, and checks that none comes twice.
async fn read_all(reader: &Membership, received: &mut BTreeSet<MessageId>) {
    loop {
        let mut call = reader.call();
        let letters = take(&mut call).await;
        call.answered().await;
        if letters.is_empty() {
            return;
        }
        for id in ids(&letters) {
            assert!(received.insert(id), "handed twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_writer_loses_nothing_that_was_acknowledged() {
    let kills: usize = std::env::var("BRIDGE_KILLS").map_or(9, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("bridge");
    let mut chance = Chance::new();
    let bus = open_files(&directory);
    let reader = peer(&bus, "reader").await;
    let mut acknowledged: Vec<MessageId> = Vec::new();
    let mut received = BTreeSet::new();
    let mut writers: Vec<_> = (0..WRITERS).map(|_| Other::start("write", &directory)).collect();
    for kill in 0..kills {
        let writer = &mut writers[kill % WRITERS];
        for _ in 0..=chance.below(30) {
            let word = writer.hear().expect("it writes until it is killed");
            acknowledged.push(MessageId::parse(&word).unwrap());
        }
        let moment = Duration::from_micros(chance.below(2_000));
        tokio::time::sleep(moment).await;
        writer.kill();
        while let Some(word) = writer.hear() {
            acknowledged.push(MessageId::parse(&word).unwrap());
        }
        *writer = Other::start("write", &directory);
        read_all(&reader, &mut received).await;
    }
    for mut writer in writers {
        writer.kill();
        while let Some(word) = writer.hear() {
            acknowledged.push(MessageId::parse(&word).unwrap());
        }
    }
    read_all(&reader, &mut received).await;
    // A fresh process reads everything from the disk.
    let fresh = open_files(&directory);
    let (found, _) = fresh.history(None, |_| true, reader.name(), usize::MAX).unwrap();
    let readable: BTreeSet<_> = found.into_iter().map(|message| message.id).collect();
    let is_lost = |id: &&MessageId| !readable.contains(id) || !received.contains(id);
    let lost: Vec<_> = acknowledged.iter().filter(is_lost).collect();
    println!("{} acknowledged, {} readable", acknowledged.len(), readable.len());
    assert!(lost.is_empty(), "{} lost: {lost:?}", lost.len());
    assert!(acknowledged.len() >= kills);
    check_alike(&fresh, &bus).await;
}

/// Checks that an old process and a fresh one reach the same state, once dead sessions are reaped.
pub(crate) async fn check_alike(fresh: &Bus, old: &Bus) {
    fresh.reap_dead_sessions().await.unwrap();
    let alike = || {
        fresh.refresh().unwrap();
        old.refresh().unwrap();
        fresh.look(Clone::clone) == old.look(Clone::clone)
    };
    within(async {
        while !alike() {
            // Either may be writing a due event.
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_is_exclusive_across_processes() {
    use std::io::Write as _;

    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("bridge");
    let bus = open_files(&directory);
    let asker = peer(&bus, "asker").await;
    let mut requests = Vec::new();
    for _ in 0..REQUESTS {
        let mut call = asker.call();
        let hour = Duration::from_hours(1);
        requests.push(call.open_request("work".into(), None, hour, hour).await.unwrap());
        call.answered().await;
    }
    let mut racers: Vec<_> = (0..RACERS).map(|_| Other::start("race", &directory)).collect();
    for racer in &mut racers {
        assert_eq!(racer.hear().as_deref(), Some("ready"));
    }
    for racer in &mut racers {
        racer.child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
    }
    let mut won = Vec::new();
    for racer in &mut racers {
        loop {
            let word = racer.hear().expect("it says when it is done");
            if word == "done" {
                break;
            }
            won.push(RequestId::parse(&word).unwrap());
        }
    }
    won.sort();
    requests.sort();
    assert_eq!(won, requests, "one winner each");
    for mut racer in racers {
        drop(racer.child.stdin.take());
        assert!(racer.child.wait().unwrap().success());
    }
}
