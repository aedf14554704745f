//! Judges whether sessions can make a bus in its place and write to it. Pure.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::judge_bus::named;
use crate::doctor::finding::{Finding, Fix, Subject};
use crate::domain::text::counted::counted;
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::network_fs::RoomLeft;

const SUBJECT: Subject = Subject::Bus;

/// Why no session can create the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoBus {
    /// The directory in which nothing can be created.
    pub(super) place: PathBuf,
    pub(super) why: ErrorKind,
    /// Whether that directory is this user's.
    pub(super) is_ours: bool,
}

/// The parts of a bus that this user may not write to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) parts: Vec<String>,
    /// Whether one of them is a directory of this user's, so that the right to it can be given back.
    pub(super) has_own_directory: bool,
    /// What is in those directories that this user may not even read.
    pub(super) hidden: Option<Hidden>,
}

/// What is hidden from this user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// The transcripts or the long texts.
    Texts,
    /// What a command needs to show the team.
    Team,
}

/// The part of a path that keeps this user from reading the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClosedPart {
    pub(super) path: PathBuf,
    pub(super) is_directory: bool,
    pub(super) is_ours: bool,
    /// Whether it is of the bus, and `--fix` gives the right to it back.
    pub(super) is_fixable: bool,
}

/// Names in a finding about a bus that cannot be read what is to be opened.
pub(super) fn with_closed_part(finding: Finding, closed: &ClosedPart) -> Finding {
    let path = closed.path.shown();
    let rights = if closed.is_directory { "u+rwx" } else { "u+rw" };
    let remedy = if closed.is_ours {
        format!("run `chmod {rights} {path}`")
    } else {
        format!("make {path} yours with `chown`, or have its owner let you read it")
    };
    let finding = finding.with_remedy(remedy);
    if closed.is_fixable { finding.with_fix(Fix::OwnRights) } else { finding }
}

/// Judges a project that has no bus yet.
pub(super) fn judge_absent(no_bus: Option<&NoBus>) -> Finding {
    let Some(NoBus { place, why, is_ours }) = no_bus else {
        let says = "none yet: the first session that leads or joins here creates it";
        return Finding::ok(&SUBJECT, "place", says);
    };
    let place = place.shown();
    let (what, remedy) = match why {
        ErrorKind::ReadOnlyFilesystem => (
            format!("the file system of {place} can only be read"),
            "mount it so that it can be written to, or use a project on another".to_owned(),
        ),
        _ if *is_ours => (
            format!("you have no right to create something in {place}"),
            format!("run `chmod u+rwx {place}`"),
        ),
        _ => (
            format!(
                "you have no right to create something in {place}, which belongs to another user"
            ),
            format!("make {place} yours with `chown`, or use a project in a directory of your own"),
        ),
    };
    Finding::problem(&SUBJECT, "place", format!("no session can create the bus: {what}"), remedy)
}

/// Judges the parts of a bus that this user may not write to, after and before rights were given back; no finding if there were none.
pub(super) fn judge_read_only(directory: &Path, now: &Closed, before: &Closed) -> Option<Finding> {
    let place = directory.shown();
    if before.parts.is_empty() {
        return None;
    }
    let is_fixed = now.parts.is_empty();
    let parts = if is_fixed { before } else { now };
    let named = named(&parts.parts);
    let says = match parts.hidden {
        Some(Hidden::Team) => format!(
            "you may not read all of {place} ({named}): no command shows the team, and no session can lead or join it"
        ),
        Some(Hidden::Texts) => format!(
            "you may not read all of {place} ({named}): transcripts or long texts are not shown, and new ones not written"
        ),
        None => format!(
            "you may read {place} but not write to it ({named}): commands show the team, and no session can lead or join it"
        ),
    };
    let says = if is_fixed { format!("{says}; you may write to it now") } else { says };
    // A directory without these rights is not entered, so that what is in it would be left as it is.
    let remedy = format!(
        "run `chmod -R u+rwX {place}`, or mount its file system so that it can be written to"
    );
    let finding = Finding::problem(&SUBJECT, "writable", says, remedy);
    let finding = if parts.has_own_directory { finding.with_fix(Fix::OwnRights) } else { finding };
    Some(Finding { is_fixed, ..finding })
}

/// The least room with which a team goes on for a while: some messages, and the files of a session.
const LEAST: RoomLeft = RoomLeft { bytes: 256 * 1024, files: Some(8) };

/// Judges the room that is left for the bus; no finding if it is enough.
pub(super) fn judge_room(directory: &Path, room: RoomLeft) -> Option<Finding> {
    let has_files = room.files.is_none_or(|files| Some(files) >= LEAST.files);
    if room.bytes >= LEAST.bytes && has_files {
        return None;
    }
    let place = directory.shown();
    let (left, what) = match room.files {
        Some(files) if !has_files => (counted(files, "file"), "delete files"),
        _ => (counted(room.bytes, "byte"), "free some space"),
    };
    let says = format!(
        "the file system of {place} is full (room for {left}): no message is sent or read, and no session can lead or join"
    );
    Some(Finding::problem(
        &SUBJECT,
        "writable",
        says,
        format!("{what} on the file system of {place}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Level;

    #[test]
    fn a_file_system_without_room_for_the_bus_is_a_problem_and_one_with_room_is_none() {
        let judged = |bytes, files| judge_room(Path::new("/p"), RoomLeft { bytes, files });
        assert_eq!(judged(1 << 30, Some(1_000)), None);
        assert_eq!(judged(1 << 30, None), None);
        for (bytes, files, says, remedy) in [
            (0, Some(1_000), "room for 0 bytes", "free some space on the file system of /p"),
            (4_096, None, "room for 4096 bytes", "free some space"),
            (1 << 30, Some(0), "room for 0 files", "delete files on the file system of /p"),
        ] {
            let finding = judged(bytes, files).unwrap();
            assert_eq!((finding.level, finding.check), (Level::Problem, "writable"));
            assert!(finding.says.contains(says), "{finding:?}");
            assert!(finding.remedy.as_ref().unwrap().contains(remedy), "{finding:?}");
        }
    }

    #[test]
    fn a_place_in_which_nothing_can_be_created_is_a_problem_with_what_helps() {
        assert_eq!(judge_absent(None).level, Level::Ok);
        for (why, is_ours, says, remedy) in [
            (
                ErrorKind::PermissionDenied,
                true,
                "you have no right",
                "run `chmod u+rwx /p/.claude`",
            ),
            (ErrorKind::PermissionDenied, false, "belongs to another user", "with `chown`"),
            (ErrorKind::ReadOnlyFilesystem, true, "can only be read", "mount it"),
        ] {
            let finding = judge_absent(Some(&NoBus { place: "/p/.claude".into(), why, is_ours }));
            assert_eq!(finding.level, Level::Problem);
            assert!(
                finding.says.contains(says) && finding.says.contains("/p/.claude"),
                "{finding:?}"
            );
            assert!(finding.remedy.as_ref().unwrap().contains(remedy), "{finding:?}");
        }
    }

    #[test]
    fn a_bus_that_can_only_be_read_is_to_be_made_writable() {
        let none = Closed::default();
        assert!(judge_read_only(Path::new("/p"), &none, &none).is_none());
        let parts = vec!["`log`".to_owned()];
        let closed = Closed { parts, has_own_directory: true, hidden: None };
        let finding = judge_read_only(Path::new("/p"), &closed, &closed).unwrap();
        assert!(finding.says.contains("not write to it (`log`)"), "{}", finding.says);
        assert!(finding.remedy.unwrap().starts_with("run `chmod -R u+rwX /p`"));
        assert_eq!((finding.fix, finding.is_fixed), (Some(Fix::OwnRights), false));
        let finding = judge_read_only(Path::new("/p"), &none, &closed).unwrap();
        assert!(finding.is_fixed && finding.says.ends_with("; you may write to it now"));
        let texts = Closed { hidden: Some(Hidden::Texts), ..closed.clone() };
        let finding = judge_read_only(Path::new("/p"), &texts, &texts).unwrap();
        assert!(finding.says.ends_with("are not shown, and new ones not written"));
        let hidden = Closed { hidden: Some(Hidden::Team), ..closed };
        let finding = judge_read_only(Path::new("/p"), &none, &hidden).unwrap();
        assert!(finding.says.starts_with("you may not read all of /p (`log`)"));
    }

    #[test]
    fn what_keeps_a_bus_from_being_read_is_named_and_not_what_is_behind_it() {
        let unusable = || Finding::problem(&SUBJECT, "use", "failed to read /p/b/bus.json", "x");
        let part = |is_directory, is_ours| ClosedPart {
            path: "/p/b".into(),
            is_directory,
            is_ours,
            is_fixable: is_ours,
        };
        for (closed, remedy) in [
            (part(true, true), "run `chmod u+rwx /p/b`"),
            (part(false, true), "run `chmod u+rw /p/b`"),
            (part(true, false), "make /p/b yours with `chown`, or have its owner let you read it"),
        ] {
            let finding = with_closed_part(unusable(), &closed);
            assert_eq!(finding.remedy.as_deref(), Some(remedy));
            assert_eq!(finding.fix.is_some(), closed.is_ours);
        }
    }
}
