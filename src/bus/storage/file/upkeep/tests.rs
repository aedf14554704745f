//! Verifying, exporting and pruning a bus: each damage is found where it is, nothing is left out silently, and nothing needed goes.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::export_history::export_log;
use super::prune_history::prune_log;
use super::verify_bus::verify_log;
use super::{BusReport, ExportOptions, Exported, FindingKind, PruneOptions, Pruned, Severity};
use crate::bus::event::{Body, Event};
use crate::bus::storage::contract::{append, joined, name, sent};
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Log, LogError};
use crate::domain::ids::MessageId;
use crate::domain::text::content_hash::ContentHash;
use crate::sys::clock;
use crate::sys::fs::disk::RealDisk;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A bus with short segments and many snapshots.
struct Place {
    _project: tempfile::TempDir,
    bus: PathBuf,
    /// How far the clock of its processes is from now.
    shift_ms: i64,
}

impl Place {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let bus = project.path().join(".claude").join("bridge");
        Self { _project: project, bus, shift_ms: 0 }
    }

    fn open(&self) -> FileLog {
        let shift_ms = self.shift_ms;
        let options = Options {
            segment_bytes: 1_000,
            snapshot_events: 8,
            snapshot_percent: 0,
            clock: Arc::new(move || {
                let mut now = clock::now();
                now.wall_ms += shift_ms;
                // The machine ran in the meantime, so the log believes the wall clock.
                now.tick.ms += (10 * DAY_MS + shift_ms).unsigned_abs();
                now
            }),
            ..Options::default()
        };
        FileLog::open(&self.bus, Arc::new(RealDisk), options).unwrap()
    }

    /// Appends messages with these numbers, each read at once; the last text is a long one.
    fn fill(&self, numbers: std::ops::Range<u64>) {
        let mut log = self.open();
        let mut replica = Log::open(&mut log).unwrap();
        if replica.next_seq == 0 {
            append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
        }
        for number in numbers {
            let mut events = vec![sent(number, &format!("words {number} \u{1b}[2J"))];
            if number % 5 == 0
                && let Event::MessageSent(sent) = &mut events[0]
            {
                let id = uuid::Uuid::from_u128(u128::from(number));
                log.durability().put_blob(id, "a long text").unwrap();
                let sha256 = Some(ContentHash::of("a long text"));
                sent.body = Body::Blob { id, bytes: 11, sha256 };
            }
            events.push(Event::MessageExpired {
                id: MessageId::from_bits(number),
                member: name("member-2"),
            });
            append(&mut log, &mut replica, events).unwrap();
            log.durability().sync().unwrap();
            log.snapshots.finish();
        }
    }

    fn verify(&self) -> BusReport {
        verify_log(&mut self.open()).unwrap()
    }

    fn export(&self) -> (Vec<Value>, Exported) {
        let mut lines = Vec::new();
        let options = ExportOptions { with_transcripts: true };
        let done = export_log(&mut self.open(), options, &mut |line| {
            assert!(!line.contains(['\n', '\u{1b}']), "{line}");
            lines.push(serde_json::from_str(line).unwrap());
            ControlFlow::Continue(())
        });
        (lines, done.unwrap())
    }

    fn prune(&self, hours: u64, removes: bool) -> Pruned {
        let older_than = Some(Duration::from_hours(hours));
        prune_log(self.open(), &PruneOptions { older_than, removes }).unwrap()
    }

    fn names(&self, part: &str) -> Vec<String> {
        let entries = fs::read_dir(self.bus.join(part)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn segment(&self, index: usize) -> PathBuf {
        self.bus.join("log").join(&self.names("log")[index])
    }
}

/// Returns the kinds of all findings that are problems.
fn problems(report: &BusReport) -> Vec<FindingKind> {
    let problems = report.findings.iter().filter(|finding| finding.severity == Severity::Problem);
    problems.map(|finding| finding.kind).collect()
}

/// Changes one byte in the second line of a file.
fn damage(path: &Path) -> u64 {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[at + 20] ^= 1;
    fs::write(path, bytes).unwrap();
    at as u64
}

#[test]
fn a_whole_bus_has_no_findings_and_its_snapshots_are_what_the_log_yields() {
    let place = Place::new();
    place.fill(1..40);
    let report = place.verify();
    assert_eq!(report.findings, []);
    assert_eq!((report.first_seq, report.last_seq), (Some(1), Some(80)));
    assert_eq!((report.lines, report.events, report.texts), (40, 80, 7));
    assert_eq!((report.snapshots, report.snapshots_compared), (2, 2));
    assert!(report.segments > 2);
    let bytes: u64 = (0..place.names("log").len())
        .map(|index| fs::metadata(place.segment(index)).unwrap().len())
        .sum();
    assert_eq!(report.bytes, bytes);
}

#[test]
fn each_damage_is_found_where_it_is() {
    let place = Place::new();
    place.fill(1..40);
    let at = damage(&place.segment(1));
    let report = place.verify();
    let finding = &report.findings[0];
    assert_eq!((finding.kind, finding.at), (FindingKind::DamagedLine, Some(at)));
    assert_eq!(finding.file, format!("log/{}", place.names("log")[1]));
    let lost = finding.lost.as_deref().unwrap();
    assert!(lost.starts_with("at most 2 events, with the seqs from "), "{lost}");
    assert_eq!(problems(&report), [FindingKind::DamagedLine]);
    // A replay without that line proves nothing about the snapshots.
    assert_eq!(report.snapshots_compared, 0);
    let notes = report.findings.iter().filter(|one| one.kind == FindingKind::NotCompared);
    assert_eq!(notes.count(), 2);
}

#[test]
fn a_missing_file_of_the_log_is_found_by_its_seqs() {
    let place = Place::new();
    place.fill(1..40);
    fs::remove_file(place.segment(1)).unwrap();
    let report = place.verify();
    // Its texts are named by no line any more.
    assert_eq!(problems(&report), [FindingKind::MissingEvents]);
    assert_eq!(report.findings[0].at, Some(0));
    let (lines, done) = place.export();
    assert!(done.missing_events > 0 && !done.is_whole());
    let missing = lines.iter().find_map(|line| line.get("missing")).unwrap();
    let (from, to) = (missing["from_seq"].as_u64().unwrap(), missing["to_seq"].as_u64().unwrap());
    assert_eq!(to - from + 1, done.missing_events);
}

#[test]
fn a_log_without_beginning_or_snapshots_is_found_and_still_exported() {
    let place = Place::new();
    place.fill(1..40);
    let open = place.open();
    for snapshot in place.names("snapshot") {
        fs::remove_file(place.bus.join("snapshot").join(snapshot)).unwrap();
    }
    fs::remove_file(place.segment(0)).unwrap();
    drop(open);
    let report = place.verify();
    assert_eq!(problems(&report), [FindingKind::MissingBeginning]);
    let (lines, done) = place.export();
    assert!(done.events > 20, "{done:?}");
    assert_eq!(lines.last().unwrap()["end"]["events"], done.events);
}

#[test]
fn a_snapshot_that_differs_from_the_log_is_found() {
    let place = Place::new();
    place.fill(1..40);
    let log = place.open();
    let newest = place.names("snapshot").pop().unwrap();
    let path = place.bus.join("snapshot").join(newest);
    let text = fs::read_to_string(&path).unwrap();
    // Another program writes a state with a fitting checksum.
    let (object, _) = text.rsplit_once(",\"crc\":").unwrap();
    let other = object.replacen("member-1", "member-7", usize::MAX);
    assert_ne!(other, object);
    let crc = crc32fast::hash(other.as_bytes());
    fs::write(&path, format!("{other},\"crc\":\"{crc:08x}\"}}\n")).unwrap();
    drop(log);
    assert_eq!(problems(&place.verify()), [FindingKind::SnapshotDiffers]);
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert_eq!(problems(&place.verify()), [FindingKind::DamagedSnapshot]);
}

#[test]
fn texts_transcripts_rights_and_leftovers_are_judged() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.fill(1..25);
    let text =
        |number: u128| place.bus.join("blobs").join(uuid::Uuid::from_u128(number).to_string());
    fs::remove_file(text(5)).unwrap();
    fs::write(text(10), "a lon").unwrap();
    fs::write(text(15), b"a long tex\xff").unwrap();
    fs::write(text(20), "a loud text").unwrap();
    let task = place.bus.join("tasks").join("task-aaaaaaaaaaab.jsonl");
    fs::write(&task, "{\"kind\":\"text\"}\nnot json\n{\"cut").unwrap();
    fs::set_permissions(&task, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(place.bus.join("log").join("notes.txt"), "x").unwrap();
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(place.segment(place.names("log").len() - 2))
        .unwrap();
    std::io::Write::write_all(&mut log, b"{\"seq\":").unwrap();
    let report = place.verify();
    let mut kinds = problems(&report);
    kinds.sort();
    assert_eq!(
        kinds,
        [
            FindingKind::MissingText,
            FindingKind::DamagedText,
            FindingKind::DamagedText,
            FindingKind::DamagedText,
            FindingKind::DamagedTranscript,
            FindingKind::OpenToOthers,
            // What `fs::write` made without asking for less.
            FindingKind::OpenToOthers,
        ]
    );
    let of = |kind| report.findings.iter().find(|finding| finding.kind == kind).unwrap();
    assert!(of(FindingKind::MissingText).lost.as_deref().unwrap().starts_with("the text of msg-"));
    assert_eq!(of(FindingKind::DamagedTranscript).at, Some(16));
    assert_eq!(of(FindingKind::UnfinishedLine).severity, Severity::Note);
    assert_eq!(of(FindingKind::UnknownFile).file, "log/notes.txt");
    let (lines, done) = place.export();
    assert_eq!((done.missing_texts, done.transcript_lines), (4, 2));
    let unreadable = lines.iter().find(|line| line["transcript"]["unreadable"] == "not json");
    assert!(unreadable.is_some());
}

#[test]
fn an_export_has_every_event_with_its_text_and_says_what_is_damaged() {
    let place = Place::new();
    place.fill(1..12);
    let (lines, done) = place.export();
    assert!(done.is_whole());
    assert_eq!(lines[0]["export"], 1);
    assert_eq!(lines.len() as u64, 1 + done.events + 1);
    let bodies: Vec<_> = lines
        .iter()
        .filter_map(|line| line["event"]["message_sent"]["body"]["text"].as_str())
        .collect();
    assert_eq!(bodies.len(), 11);
    assert_eq!((bodies[0], bodies[4]), ("words 1 \u{1b}[2J", "a long text"));
    let seqs: Vec<_> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=24).collect::<Vec<_>>());

    let at = damage(&place.segment(0));
    let (lines, done) = place.export();
    assert_eq!((done.damaged_lines, done.missing_events), (1, 2));
    let damaged = lines.iter().find_map(|line| line.get("damaged")).unwrap();
    assert_eq!(damaged["at"], at);
    // A reader that has enough ends it.
    let mut taken = 0;
    export_log(&mut place.open(), ExportOptions::default(), &mut |_| {
        taken += 1;
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(taken, 1);
}

#[test]
fn what_is_old_and_not_needed_goes_and_the_rest_reads_as_before() {
    let mut place = Place::new();
    place.shift_ms = -10 * DAY_MS;
    place.fill(1..40);
    place.shift_ms = 0;
    place.fill(40..50);
    let before = place.names("log");
    let state = Log::open(&mut place.open()).unwrap().state;

    assert_eq!(place.prune(24 * 30, true).segments, 0, "nothing is that old");
    let found = place.prune(24 * 5, false);
    assert!(found.segments > 1, "{found:?}");
    assert_eq!(place.names("log"), before, "a dry run removes nothing");
    let pruned = place.prune(24 * 5, true);
    assert_eq!(pruned, found);
    assert_eq!(place.names("log").len() as u64, pruned.segments_kept);
    assert_eq!(before.len() as u64, pruned.segments_kept + pruned.segments);
    assert_eq!(Log::open(&mut place.open()).unwrap().state, state);
    let report = place.verify();
    assert_eq!(problems(&report), []);
    assert!(report.first_seq.unwrap() > 1);
    assert_eq!(place.prune(24 * 5, true).segments, 0, "a second time finds nothing");
}

#[test]
fn what_a_killed_prune_leaves_is_no_damage() {
    let place = Place::new();
    place.fill(1..40);
    let text =
        |number: u128| place.bus.join("blobs").join(uuid::Uuid::from_u128(number).to_string());
    // It has removed the first segments, and of the next one only the long text. All are young.
    let names_one = |segment: &Path| fs::read_to_string(segment).unwrap().contains("blob");
    while !names_one(&place.segment(0)) {
        fs::remove_file(place.segment(0)).unwrap();
    }
    fs::remove_file(text(5)).unwrap();
    let report = place.verify();
    assert_eq!(problems(&report), []);
    let missing = |report: &BusReport| {
        let of_kind = |finding: &&super::BusFinding| finding.kind == FindingKind::MissingText;
        report.findings.iter().filter(of_kind).count()
    };
    assert_eq!(missing(&report), 1);
    // A text that later segments name is lost.
    fs::remove_file(text(35)).unwrap();
    assert_eq!(problems(&place.verify()), [FindingKind::MissingText]);
}

#[test]
fn a_text_that_a_member_has_not_read_keeps_its_file_at_any_age() {
    let mut place = Place::new();
    place.shift_ms = -10 * DAY_MS;
    place.fill(1..10);
    let mut log = place.open();
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![sent(99, "unread")]).unwrap();
    drop(log);
    place.fill(10..40);
    place.shift_ms = 0;
    place.fill(40..50);
    place.prune(1, true);
    let mut log = place.open();
    let replica = Log::open(&mut log).unwrap();
    let unread = replica.state.message(&MessageId::from_bits(99)).unwrap();
    let event = log.event_at(unread.body.place, unread.body.index);
    assert!(matches!(event, Ok(Event::MessageSent(_))), "{event:?}");
}

#[test]
fn a_pruned_bus_goes_on_under_a_session_that_had_it_open() {
    let mut place = Place::new();
    place.shift_ms = -10 * DAY_MS;
    place.fill(1..40);
    place.shift_ms = 0;
    place.fill(40..50);
    let mut session = place.open();
    let mut replica = Log::open(&mut session).unwrap();
    let early = replica.clone();
    assert!(place.prune(1, true).segments > 0);
    append(&mut session, &mut replica, vec![sent(70, "after")]).unwrap();
    session.durability().sync().unwrap();
    // One that has not read for long begins again with a snapshot.
    let mut late = early;
    place.open().catch_up(&mut late).unwrap();
    assert_eq!(late.state, replica.state);
    assert!(matches!(
        session.event_at(crate::bus::event::LogPosition { segment: 1, offset: 0 }, 0),
        Err(LogError::Gone)
    ));
}
