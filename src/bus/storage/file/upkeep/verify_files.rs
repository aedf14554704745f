//! Verifies the files beside the log: long texts, transcripts, the rights of other users, and what nothing needs any more.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use uuid::Uuid;

use super::bus_finding::{BusFinding, BusReport, FindingKind};
use super::verify_lines::{NamedText, WalkedLog};
use crate::bus::replica::Replica;
use crate::bus::storage::file::bus_directory::PARTS;
use crate::bus::storage::file::io_failure::names_in_part;
use crate::bus::storage::file::log::{snapshot, unused_blobs};
use crate::bus::storage::file::mirror::mirror_files;
use crate::bus::storage::file::{BUS_JSON, FileLog, long_texts, presence_files};
use crate::bus::storage::session_standing::standing;
use crate::bus::storage::{Log as _, LogError, Presence, Standing};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::text::content_hash::{ContentHash, ContentHasher};
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::bounded_file;
use crate::sys::fs::disk::{Disk as _, RealDisk};
use crate::sys::fs::rights_of_others::{self, Rights};

/// How much of a text is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A day: the time after which a text without an event, or a temporary file, is left over.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Verifies all files beside the log.
pub(super) fn verify(
    log: &FileLog,
    walked: &WalkedLog,
    report: &mut BusReport,
) -> Result<(), LogError> {
    texts(log, walked, report);
    unnamed_texts(log, &walked.texts, report)?;
    transcripts(log, report)?;
    presences(log, walked, report)?;
    unknown_files(log, report)?;
    rights(log, report);
    Ok(())
}

fn names(log: &FileLog, part: &str) -> Result<Vec<String>, LogError> {
    let directory = log.directory.join(part);
    let mut names = names_in_part(&directory, RealDisk.list(&directory))?;
    names.sort();
    Ok(names)
}

fn texts(log: &FileLog, walked: &WalkedLog, report: &mut BusReport) {
    report.texts = walked.texts.len() as u64;
    let needed = walked.end.as_ref().map(Replica::still_needed);
    let old_ms = needed.as_ref().map(|it| log.now().wall_ms.saturating_sub(it.kept_ms));
    // What a killed `bus prune` may have begun to remove: it is given an age of its own.
    let older_snapshot = snapshot::older_position(&RealDisk, &log.part("snapshot", ""));
    let may_go = needed.zip(older_snapshot.ok().flatten()).is_some_and(|(needed, older)| {
        let mut kept_from = [Some(older), needed.oldest_text].into_iter().flatten();
        kept_from.all(|place| place.segment > walked.oldest)
    });
    for (id, named) in &walked.texts {
        let file = format!("blobs/{id}");
        let subject = &named.subject;
        match read_text(&log.part("blobs", &id.to_string())) {
            Ok(found) if found.is(named) => {}
            Ok(found) => {
                let what = if found.bytes != named.bytes {
                    format!("it has {} bytes, and {} were stored", found.bytes, named.bytes)
                } else if found.is_text {
                    "it has another text than was stored (SHA-256)".to_owned()
                } else {
                    "it is no text (UTF-8)".to_owned()
                };
                let finding = BusFinding::problem(FindingKind::DamagedText, file, what);
                report.add(finding.lost(subject.clone()).remedy(RESTORE));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let is_old = old_ms.is_some_and(|old_ms| named.at_ms < old_ms);
                report.add(if is_old && named.segment == walked.oldest {
                    // Retention removes a segment's texts before the segment.
                    let what = format!("{subject} is already removed, and its event is not yet");
                    BusFinding::note(FindingKind::MissingText, file, what)
                } else if may_go && named.segment == walked.oldest {
                    let what = format!("{subject} is not there, and no session needs it");
                    BusFinding::note(FindingKind::MissingText, file, what).remedy(
                        "nothing; a `bus prune` that was stopped goes on when you run it again",
                    )
                } else {
                    let finding =
                        BusFinding::problem(FindingKind::MissingText, file, "it is not there");
                    finding.lost(subject.clone()).remedy(RESTORE)
                });
            }
            Err(error) => report.add(unreadable(file, &error)),
        }
    }
}

const RESTORE: &str = "restore the file from a copy; without one only this text is lost";

fn unreadable(file: String, error: &io::Error) -> BusFinding {
    let what = format!("it cannot be read: {error}");
    BusFinding::problem(FindingKind::Unreadable, file, what)
}

/// What a file is.
struct FoundText {
    bytes: u64,
    /// Whether it is UTF-8.
    is_text: bool,
    sha256: ContentHash,
}

impl FoundText {
    /// Says whether it is the text that was stored.
    fn is(&self, named: &NamedText) -> bool {
        let is_same = named.sha256.as_ref().is_none_or(|stored| *stored == self.sha256);
        self.bytes == named.bytes && self.is_text && is_same
    }
}

/// Reads a file of any length in parts.
fn read_text(path: &Path) -> io::Result<FoundText> {
    let mut file = bounded_file::open(path)?;
    let (mut bytes, mut is_text, mut hasher) = (0, true, ContentHasher::default());
    let mut buffer = vec![0; CHUNK_BYTES];
    // The bytes of a character that goes on in the next part.
    let mut kept = 0;
    loop {
        let read = file.read(&mut buffer[kept..])?;
        if read == 0 {
            is_text &= kept == 0;
            return Ok(FoundText { bytes, is_text, sha256: hasher.hash() });
        }
        hasher.add(&buffer[kept..kept + read]);
        bytes += read as u64;
        let filled = kept + read;
        let whole = match std::str::from_utf8(&buffer[..filled]) {
            Ok(_) => filled,
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => {
                is_text = false;
                filled
            }
        };
        buffer.copy_within(whole..filled, 0);
        kept = filled - whole;
    }
}

/// Counts the texts that no event names. Those of the last day may belong to a command that is being written.
fn unnamed_texts(
    log: &FileLog,
    named: &BTreeMap<Uuid, NamedText>,
    report: &mut BusReport,
) -> Result<(), LogError> {
    let young_ms = log.now().wall_ms.saturating_sub(DAY_MS);
    let is_left_over = |name: &&String| {
        let id = unused_blobs::id_in(name);
        id.is_some_and(|id| {
            !named.contains_key(&id)
                && unused_blobs::made_ms(id).is_some_and(|made_ms| made_ms < young_ms)
        })
    };
    let count = names(log, "blobs")?.iter().filter(is_left_over).count();
    if count > 0 {
        let (one, many) = ("text that no event names", "texts that no event names");
        let texts = counted_as(count as u64, one, many);
        let what = format!("{texts}, of commands that were refused or whose process died");
        let finding = BusFinding::note(FindingKind::Leftover, "blobs".to_owned(), what);
        report.add(finding.remedy("nothing: the bridge removes them once they are old enough"));
    }
    Ok(())
}

fn transcripts(log: &FileLog, report: &mut BusReport) -> Result<(), LogError> {
    for name in names(log, "tasks")? {
        let task = name.strip_suffix(".jsonl").and_then(|task| TaskId::parse(task).ok());
        if task.is_none() {
            continue;
        }
        report.transcripts += 1;
        let (file, path) = (format!("tasks/{name}"), log.part("tasks", &name));
        let (mut at, mut damaged, mut first) = (0, 0_u64, None);
        loop {
            let (lines, next) = match long_texts::lines_after(&path, at) {
                Ok(read) => read,
                // Retention has removed it.
                Err(LogError::Gone) => break,
                Err(error) => {
                    let what = error.to_string();
                    report.add(BusFinding::problem(FindingKind::Unreadable, file.clone(), what));
                    break;
                }
            };
            // In place of lines that no bridge writes there is one that says so.
            if !lines.is_empty() && next - at != lines.len() as u64 {
                damaged += 1;
                first.get_or_insert(at);
            }
            let mut offset = at;
            for line in lines.split_inclusive('\n') {
                if serde_json::from_str::<serde::de::IgnoredAny>(line).is_err() {
                    damaged += 1;
                    first.get_or_insert(offset);
                }
                offset += line.len() as u64;
            }
            if next == at {
                break;
            }
            at = next;
        }
        if let Some(first) = first {
            let what = counted_as(damaged, "line cannot be read", "lines cannot be read");
            let finding = BusFinding::problem(FindingKind::DamagedTranscript, file, what);
            report.add(
                finding
                    .at(first)
                    .lost("a part of what the agent said; the result of the task is in the log")
                    .remedy("nothing depends on it; once the task is over, it may be removed"),
            );
        }
    }
    Ok(())
}

/// Counts the presences of sessions that have ended.
fn presences(log: &FileLog, walked: &WalkedLog, report: &mut BusReport) -> Result<(), LogError> {
    let Some(end) = &walked.end else { return Ok(()) };
    let is_left_over = |name: &&String| {
        let session = name.parse().ok().map(SessionId);
        session.is_some_and(|session| {
            standing(&end.state, session) != Standing::Live
                && presence_files::look(&log.part("presence", name)) == Presence::Free
        })
    };
    let count = names(log, "presence")?.iter().filter(is_left_over).count();
    if count > 0 {
        let what = counted(count as u64, "file") + " of sessions that have ended";
        let finding = BusFinding::note(FindingKind::Leftover, "presence".to_owned(), what);
        report.add(finding.remedy("nothing: an orchestrator removes them"));
    }
    Ok(())
}

/// Finds files that are no part of a bus.
fn unknown_files(log: &FileLog, report: &mut BusReport) -> Result<(), LogError> {
    let is_session = |name: &str| name.parse::<Uuid>().is_ok();
    let is_numbered = |name: &str, endings: &[&str]| {
        let (digits, ending) = name.split_once('.').unwrap_or((name, ""));
        digits.len() == 20 && digits.parse::<u64>().is_ok() && endings.contains(&ending)
    };
    let is_known = |part: &str, name: &str| match part {
        "" => {
            let of_all = ["lock", BUS_JSON, "agents.json"];
            of_all.contains(&name) || mirror_files::FILES.contains(&name) || PARTS.contains(&name)
        }
        "log" => is_numbered(name, &["jsonl", "failed"]),
        "snapshot" => is_numbered(name, &["json"]),
        "blobs" => unused_blobs::id_in(name).is_some(),
        "tasks" => name.strip_suffix(".jsonl").is_some_and(|task| TaskId::parse(task).is_ok()),
        _ => is_session(name),
    };
    for part in std::iter::once("").chain(PARTS) {
        for name in names(log, part)? {
            if is_known(part, &name) {
                continue;
            }
            let file = if part.is_empty() { name } else { format!("{part}/{name}") };
            let is_temporary = Path::new(&file).extension().is_some_and(|kind| kind == "tmp");
            let (kind, what) = if is_temporary {
                let what = "a file that is being written, or that a process left when it died";
                (FindingKind::Leftover, what)
            } else {
                (FindingKind::UnknownFile, "no part of a bus of this version")
            };
            report.add(BusFinding::note(kind, file, what));
        }
    }
    Ok(())
}

fn rights(log: &FileLog, report: &mut BusReport) {
    let found = match rights_of_others::of_directory(&log.directory, Rights::Find) {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => {
            report.add(unreadable(String::new(), &error));
            return;
        }
    };
    for part in found.parts {
        let file = part.path.shown().to_string();
        let what =
            if part.is_writable { "other users may change it" } else { "other users may read it" };
        let finding = BusFinding::problem(FindingKind::OpenToOthers, file, what);
        report.add(finding.remedy("cli-team-bridge doctor --fix"));
    }
    let skipped = found.skipped;
    let unjudged = skipped.of_others + skipped.linked + skipped.special + skipped.unreadable;
    if unjudged > 0 || skipped.has_more {
        let more = if skipped.has_more { " or more" } else { "" };
        let what =
            format!("the rights to {}{more} could not be judged", counted(unjudged as u64, "part"));
        report.add(BusFinding::note(FindingKind::Unreadable, String::new(), what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_any_length_is_judged_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let check = |bytes: &[u8], is_text: bool| {
            std::fs::write(&path, bytes).unwrap();
            let found = read_text(&path).unwrap();
            assert_eq!((found.bytes, found.is_text), (bytes.len() as u64, is_text));
            if is_text {
                assert_eq!(found.sha256, ContentHash::of(std::str::from_utf8(bytes).unwrap()));
            }
        };
        check(b"", true);
        // A character of three bytes at each place around the end of a part.
        for before in (CHUNK_BYTES - 4)..=CHUNK_BYTES {
            let mut text = vec![b'a'; before];
            text.extend_from_slice("€ end".as_bytes());
            check(&text, true);
            check(&text[..before + 2], false);
        }
        check(b"a\xffb", false);
    }
}
