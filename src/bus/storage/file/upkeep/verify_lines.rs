//! Verifies the log: each line's checksum, the order of the seqs, and that the snapshots are what the lines yield.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::bus_finding::{BusFinding, BusReport, FindingKind};
use super::event_subject;
use super::history_lines::{HistoryLine, walk};
use super::verify_snapshots::Replay;
use crate::bus::event::{Body, Entry, LogPosition};
use crate::bus::storage::file::FileLog;
use crate::bus::storage::file::log::line_format::{self, Decoded};
use crate::bus::storage::file::log::segments;
use crate::bus::storage::{LogError, Replica};
use crate::domain::text::content_hash::ContentHash;
use crate::domain::text::counted::counted;

/// A long text that the log names.
pub(super) struct NamedText {
    /// Whose text it is.
    pub(super) subject: String,
    /// Its length, as stored.
    pub(super) bytes: u64,
    /// Its hash, as stored; none if an older version stored it.
    pub(super) sha256: Option<ContentHash>,
    /// The segment that names it first.
    pub(super) segment: u64,
    /// The wall time of its line.
    pub(super) at_ms: i64,
}

/// What the log yields for the rest of the examination.
pub(super) struct WalkedLog {
    pub(super) texts: BTreeMap<Uuid, NamedText>,
    /// The state at the end, if the log yields one.
    pub(super) end: Option<Replica>,
    /// The oldest segment.
    pub(super) oldest: u64,
}

/// The check of the lines, one after the other.
struct LineCheck<'a> {
    report: &'a mut BusReport,
    replay: Replay,
    /// The seq that the next line should have; none before the first line of a log without its beginning.
    next_seq: Option<u64>,
    /// Damaged lines since the last good one, whose events are lost. They are reported once it is known which.
    damaged: Vec<BusFinding>,
    texts: BTreeMap<Uuid, NamedText>,
}

/// Verifies the log and the snapshots.
pub(super) fn verify(
    log: &mut FileLog,
    bus: Uuid,
    report: &mut BusReport,
) -> Result<WalkedLog, LogError> {
    log.segments.refresh()?;
    // Before the lines: the log then has all that a snapshot has.
    let replay = Replay::begin(log, bus, report)?;
    report.segments = log.segments.beginnings().len() as u64;
    let oldest = log.segments.oldest().unwrap_or(0);
    if oldest > 1 && !replay.has_start() {
        report.add(without_beginning(oldest));
    }
    let next_seq = log.segments.has_beginning().then_some(1);
    let mut check =
        LineCheck { report, replay, next_seq, damaged: Vec::new(), texts: BTreeMap::new() };
    walk(&mut log.segments, &mut |place, line| check.take(place, &line))?;
    check.report_damaged(None);
    let LineCheck { report, replay, texts, .. } = check;
    let end = replay.end(report);
    Ok(WalkedLog { texts, end, oldest })
}

impl LineCheck<'_> {
    fn take(&mut self, place: LogPosition, line: &HistoryLine<'_>) -> Result<(), LogError> {
        match line {
            HistoryLine::Whole(bytes) => {
                self.report.bytes += bytes.len() as u64 + 1;
                match line_format::decode(bytes) {
                    Decoded::Entry { entry, indices, count } => {
                        self.take_entry(place, &entry, (&indices, count));
                    }
                    Decoded::Damaged => self.note_damaged(place, bytes.len() as u64 + 1),
                    Decoded::Newer => return Err(LogError::Newer),
                }
            }
            HistoryLine::Damaged(bytes) => {
                self.report.bytes += bytes;
                self.note_damaged(place, *bytes);
            }
            HistoryLine::Unfinished(bytes) => self.report.add(unfinished(place, *bytes)),
            // Retention needs it no more. What it held is no loss.
            HistoryLine::Removed => {
                self.next_seq = None;
                self.replay.lacks("the oldest part of the log was removed meanwhile");
            }
        }
        Ok(())
    }

    fn note_damaged(&mut self, place: LogPosition, bytes: u64) {
        self.replay.lacks("a line of the log before it is damaged");
        let what = format!("{} are no line of the log", counted(bytes, "byte"));
        let finding = BusFinding::problem(FindingKind::DamagedLine, file(place), what);
        self.damaged.push(finding.at(place.offset).remedy(
            "restore the file from a copy while no session runs; without a copy the team works on, \
             and passes over it",
        ));
    }

    fn take_entry(&mut self, place: LogPosition, entry: &Entry, known: (&[u16], u64)) {
        let next = self.next_seq.unwrap_or(0);
        if entry.seq < next && entry.seq < place.segment {
            // A copy from a segment that could not be synced. Its places in the log are others than those in a snapshot.
            self.replay.lacks("a part of the log was copied");
            return;
        }
        if entry.seq < next {
            self.report.add(repeated(place, entry.seq));
            return;
        }
        let expected = self.next_seq.or((entry.seq >= place.segment).then_some(place.segment));
        let gap = expected.filter(|expected| *expected < entry.seq);
        if !self.damaged.is_empty() {
            self.report_damaged(Some((expected.unwrap_or(entry.seq), entry.seq)));
        } else if let Some(missing) = gap {
            self.replay.lacks("events before it are missing from the log");
            self.report.add(missing_events(place, missing, entry.seq - 1));
        }
        self.report.lines += 1;
        self.report.events += known.1;
        self.report.first_seq.get_or_insert(entry.seq);
        self.report.last_seq = Some(entry.seq.saturating_add(known.1).saturating_sub(1));
        self.next_seq = Some(entry.seq.saturating_add(known.1));
        for event in &entry.events {
            for (index, body) in event.bodies().into_iter().enumerate() {
                if let Body::Blob { id, bytes, sha256 } = body {
                    self.texts.entry(*id).or_insert_with(|| NamedText {
                        subject: event_subject::text_of(event, index),
                        bytes: *bytes,
                        sha256: sha256.clone(),
                        segment: place.segment,
                        at_ms: entry.ts,
                    });
                }
            }
        }
        self.replay.apply(place, entry, known, self.report);
    }

    /// Reports the damaged lines since the last good one. `lost` has the first seq that they may have had, and the first after them.
    fn report_damaged(&mut self, lost: Option<(u64, u64)>) {
        let lost = match lost {
            Some((from, to)) if from < to => {
                let events = counted(to - from, "event");
                format!("at most {events}, with the seqs from {from} to {}", to - 1)
            }
            Some(_) => "no event: no seq is missing".to_owned(),
            None => "what happened after the last readable line".to_owned(),
        };
        for finding in std::mem::take(&mut self.damaged) {
            self.report.add(finding.lost(lost.clone()));
        }
    }
}

fn file(place: LogPosition) -> String {
    format!("log/{}", segments::file_name(place.segment))
}

fn without_beginning(oldest: u64) -> BusFinding {
    let file = format!("log/{}", segments::file_name(oldest));
    let what = "the log before this file is gone, and no snapshot stands for it";
    BusFinding::problem(FindingKind::MissingBeginning, file, what)
        .lost("no session opens the bus as it is")
        .remedy("restore the newest two snapshots from a copy, or export what is left and remove the directory")
}

fn unfinished(place: LogPosition, bytes: u64) -> BusFinding {
    let what = format!(
        "the log ends with {} of a line that is being written, or whose writer died",
        counted(bytes, "byte")
    );
    BusFinding::note(FindingKind::UnfinishedLine, file(place), what)
        .at(place.offset)
        .lost("nothing: its command was not acknowledged")
        .remedy("nothing: the next writer removes it")
}

fn repeated(place: LogPosition, seq: u64) -> BusFinding {
    let what = format!("the line repeats the seq {seq}, so another program put it there");
    BusFinding::problem(FindingKind::RepeatedLine, file(place), what)
        .at(place.offset)
        .lost("nothing: sessions pass over it")
        .remedy("find out which program writes into this directory")
}

fn missing_events(place: LogPosition, from: u64, to: u64) -> BusFinding {
    let events = counted(to - from + 1, "event");
    let what =
        format!("before this line, the log lacks {events}, with the seqs from {from} to {to}");
    BusFinding::problem(FindingKind::MissingEvents, file(place), what)
        .at(place.offset)
        .lost("these events: the disk lost them, or a file of the log was removed")
        .remedy("restore the files of `log/` from a copy while no session runs")
}
