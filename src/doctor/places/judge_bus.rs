//! Judges the state of a bus. Pure.

use std::path::Path;

use crate::bus::storage::LogError;
use crate::bus::storage::file::{BUS_JSON, ExaminedBus};
use crate::doctor::finding::{Finding, Subject};
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::shown_path::ShownPath as _;

const SUBJECT: Subject = Subject::Bus;

/// What helps against something else in the place of the file that makes a directory a bus.
const REMOVE_IDENTITY: &str = "remove it, and if the bus is yours, start once with --adopt (`cli-team-bridge orchestrator --adopt < /dev/null`) \
                               before any other session: one without --adopt puts the bus aside";

/// The most damaged places that a sentence names.
const NAMED: usize = 3;

/// Judges the log and its snapshots.
pub(super) fn judge(bus: &ExaminedBus) -> Vec<Finding> {
    let mut findings = vec![judge_log(bus)];
    if !bus.damaged_snapshots.is_empty() {
        findings.push(Finding::problem(
            &SUBJECT,
            "snapshots",
            format!("damaged: {}", named(&bus.damaged_snapshots)),
            "nothing is lost while the log is whole: the team goes on, and a newer snapshot \
             replaces it. Check the disk if it happens again",
        ));
    }
    if let Err(error) = &bus.state {
        findings.push(judge_unusable(error));
    }
    findings.push(match &bus.no_wakeups {
        None => Finding::ok(&SUBJECT, "wakeups", "the system reports changes of the log"),
        Some(why) => Finding::note(
            &SUBJECT,
            "wakeups",
            format!("the system does not report changes ({why}), so members poll, and messages may take half a second"),
        )
        .with_remedy(
            "on Linux, raise the limits: `sudo sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288`",
        ),
    });
    findings
}

fn judge_log(bus: &ExaminedBus) -> Finding {
    let (lines, files) = (counted(bus.lines, "line"), counted(bus.segments, "file"));
    let size = format!("{lines} in {files}, {} MB", megabytes(bus.bytes));
    let finding = if bus.damaged_lines.is_empty() {
        let part = if bus.is_partly_read { "; only its beginning was read" } else { "" };
        Finding::ok(&SUBJECT, "log", format!("{size}, no damage{part}"))
    } else {
        Finding::problem(
            &SUBJECT,
            "log",
            format!(
                "{size}; {} damaged: {}",
                counted_as(bus.damaged_lines.len(), "line is", "lines are"),
                named(&bus.damaged_lines)
            ),
            "members skip damaged lines, and their content is lost. If a copy of the log is \
             whole, end all sessions and restore that file; check the disk",
        )
    };
    finding
        .with_fact("lines", bus.lines)
        .with_fact("bytes", bus.bytes)
        .with_fact("damaged_lines", bus.damaged_lines.len())
}

/// Judges a bus that was not created in its place.
pub(super) fn judge_foreign(directory: &Path) -> Finding {
    Finding::problem(
        &SUBJECT,
        "place",
        format!(
            "the bus in {} was not created there (it was copied, or the state directory that knew it \
             is gone): the next session puts it aside and begins a new one",
            directory.shown()
        ),
        "if HOME or XDG_STATE_HOME was another when it was created, set that again; if it is yours, run `cli-team-bridge orchestrator --adopt < /dev/null` in the project; otherwise do nothing",
    )
}

/// Judges a bus that cannot be used.
pub(super) fn judge_unusable(error: &LogError) -> Finding {
    let check = "use";
    let says = error.to_string();
    match error {
        LogError::Newer => {
            let remedy = "install the newest cli-team-bridge, and restart every client that runs an older one";
            Finding::problem(&SUBJECT, check, "a newer cli-team-bridge uses this bus", remedy)
        }
        // The reason ends with the remedy.
        LogError::Refused { path, reason } => {
            let parts = reason.split_once(": ").or_else(|| reason.split_once("; "));
            let (what, remedy) = parts.unwrap_or((reason, "see docs/bus.md"));
            // Without the file, the bus is like a copied one.
            let is_identity = path.file_name().is_some_and(|name| name == BUS_JSON);
            let remedy =
                if is_identity && remedy == "remove it" { REMOVE_IDENTITY } else { remedy };
            Finding::problem(
                &SUBJECT,
                check,
                format!("cannot use {}: {what}", path.shown()),
                remedy,
            )
        }
        LogError::Io { path, source, .. } => Finding::problem(
            &SUBJECT,
            check,
            says,
            match source.kind() {
                std::io::ErrorKind::NotFound => format!(
                    "{} is missing: start one of your clients in the project, and its orchestrator creates it again",
                    path.shown()
                ),
                _ => format!("make {} readable for this user", path.shown()),
            },
        ),
        _ => Finding::unknown(&SUBJECT, check, says),
    }
}

/// Formats a size with one decimal digit.
fn megabytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

pub(super) fn named(places: &[String]) -> String {
    let more = match places.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first: Vec<_> = places.iter().take(NAMED).map(String::as_str).collect();
    first.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::state::State;
    use crate::doctor::finding::Level;

    fn bus() -> ExaminedBus {
        ExaminedBus {
            segments: 2,
            bytes: 1_500_000,
            lines: 7,
            damaged_lines: Vec::new(),
            is_partly_read: false,
            damaged_snapshots: Vec::new(),
            state: Ok(State::default()),
            presences: Vec::new(),
            order: None,
            last_seq: 0,
            no_wakeups: None,
        }
    }

    #[test]
    fn damage_is_located_and_a_whole_log_is_named_by_its_size() {
        let of = |bus: &ExaminedBus| judge_log(bus).says;
        assert_eq!(of(&bus()), "7 lines in 2 files, 1.5 MB, no damage");
        let damaged_lines = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let damaged = ExaminedBus { damaged_lines, ..bus() };
        assert_eq!(
            of(&damaged),
            "7 lines in 2 files, 1.5 MB; 4 lines are damaged: a, b, c and 1 more"
        );
        assert_eq!(judge_log(&damaged).level, Level::Problem);
    }

    #[test]
    fn an_unusable_bus_has_a_remedy() {
        let refused = LogError::Refused {
            path: "/p".into(),
            reason: "others may write to it: run `chmod go-w` on it".into(),
        };
        let finding = judge_unusable(&refused);
        assert_eq!(finding.says, "cannot use /p: others may write to it");
        assert_eq!(finding.remedy.as_deref(), Some("run `chmod go-w` on it"));
        let refused = |path: &str| {
            let reason = "it is a symbolic link: remove it".to_owned();
            let finding = judge_unusable(&LogError::Refused { path: path.into(), reason });
            (finding.says, finding.remedy.unwrap())
        };
        assert_eq!(refused("/p/log/1").1, "remove it");
        let (says, remedy) = refused("/p/bus.json");
        assert_eq!(says, "cannot use /p/bus.json: it is a symbolic link");
        assert!(remedy.contains("start once with --adopt"), "{remedy}");
        assert_eq!(judge_unusable(&LogError::Newer).level, Level::Problem);
        assert_eq!(judge_unusable(&LogError::Gone).level, Level::Unknown);
        let unproven = LogError::Refused {
            path: "/p".into(),
            reason: "the record of where it was created cannot be read; set HOME".into(),
        };
        let finding = judge_unusable(&unproven);
        assert!(finding.says.ends_with("the record of where it was created cannot be read"));
        assert_eq!(finding.remedy.as_deref(), Some("set HOME"));
    }
}
