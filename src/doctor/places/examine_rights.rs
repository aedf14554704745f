//! Examines the rights of other users to a directory that should be private, and takes them away if that is asked for.
//!
//! The bridge makes its directories and files for their owner alone. A copy, an archive or a `chmod` may have opened them.

use std::path::Path;

use crate::doctor::finding::{Finding, Fix, Fixing, Subject};
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::open_parents::{self, OpenParent, RightsOfOthers};
use crate::sys::fs::rights_of_others::{Found, NAMES, OpenPart, Rights, Skipped, of_directory};

/// The check, in a word.
const CHECK: &str = "rights";

/// The most parts that a sentence names.
const NAMED: usize = 3;

/// Examines the user's state directory; no finding if there is none. Blocks while it reads its names.
pub(crate) fn of_state(directory: &Path, fixing: Fixing) -> Vec<Finding> {
    // The user's home may be behind a link.
    let real = directory.parent().zip(directory.file_name());
    let real = real.and_then(|(parent, name)| Some(parent.canonicalize().ok()?.join(name)));
    real.map(|real| examine(&Subject::Bridge, &real, fixing)).unwrap_or_default()
}

/// Examines the directory of a bus; no finding if there is none, or if a link leads to it: a project may bring one that leads anywhere.
/// Blocks while it reads its names.
pub(super) fn of_bus(directory: &Path, fixing: Fixing) -> Vec<Finding> {
    examine(&Subject::Bus, directory, fixing)
}

fn examine(subject: &Subject, directory: &Path, fixing: Fixing) -> Vec<Finding> {
    let rights = match fixing {
        Fixing::Offered => Rights::Find,
        Fixing::Done => Rights::TakeAway,
    };
    match of_directory(directory, rights) {
        Ok(Some(found)) => {
            let above = match open_parents::above(directory) {
                Ok(above) => judge_above(subject, directory, &above),
                Err(error) => {
                    let says =
                        format!("cannot look at what is above {}: {error}", directory.shown());
                    Some(Finding::unknown(subject, CHECK, says))
                }
            };
            judge(subject, directory, &found, fixing, above)
        }
        Ok(None) => Vec::new(),
        Err(error) => {
            let says = format!("cannot look through {}: {error}", directory.shown());
            vec![Finding::unknown(subject, CHECK, says)]
        }
    }
}

/// Judges a directory. `above` is what is wrong with those above it.
fn judge(
    subject: &Subject,
    directory: &Path,
    found: &Found,
    fixing: Fixing,
    above: Option<Finding>,
) -> Vec<Finding> {
    let skipped = judge_skipped(subject, directory, &found.skipped);
    let open = (!found.parts.is_empty())
        .then(|| judge_open(subject, directory, &found.parts, (fixing, skipped.is_some())));
    if open.is_none() && skipped.is_none() && above.is_none() {
        let says = format!("only you can read and change {}", directory.shown());
        return vec![Finding::ok(subject, CHECK, says)];
    }
    open.into_iter().chain(skipped).chain(above).collect()
}

/// Judges the directories above one; no finding if nobody else may put something in its place. In a sticky directory nobody may.
fn judge_above(subject: &Subject, directory: &Path, above: &[OpenParent]) -> Option<Finding> {
    let open: Vec<_> = above.iter().filter(|one| one.rights != RightsOfOthers::Add).collect();
    let named = |rights: RightsOfOthers| {
        let of_kind = open.iter().filter(|one| one.rights == rights);
        of_kind.map(|one| one.path.shown().to_string()).collect::<Vec<_>>()
    };
    let (writable, of_others) = (named(RightsOfOthers::Change), named(RightsOfOthers::Own));
    if open.is_empty() {
        return None;
    }
    let parts = [(&writable, "others may write to"), (&of_others, "another user owns")];
    let parts = parts.iter().filter(|(paths, _)| !paths.is_empty());
    let parts: Vec<_> = parts.map(|(paths, what)| format!("{what} {}", list(paths))).collect();
    let directory = directory.shown();
    let says = format!(
        "{}, and so may put another directory in the place of {directory}",
        parts.join(", ")
    );
    let move_it = match subject {
        Subject::Bus => "use a project in a directory of your own",
        _ => "set XDG_STATE_HOME to a directory below one of your own",
    };
    let remedy = if of_others.is_empty() {
        format!("run `chmod go-w {}`, or {move_it}", list(&writable).replace(", ", " "))
    } else {
        move_it.to_owned()
    };
    Some(Finding::problem(subject, CHECK, says, remedy))
}

/// Judges what was not looked at; no finding if that is nothing.
fn judge_skipped(subject: &Subject, directory: &Path, skipped: &Skipped) -> Option<Finding> {
    let Skipped { of_others, linked, special, unreadable, deep, has_more } = *skipped;
    let numbers = [
        (of_others, counted_as(of_others, "part of another user", "parts of other users")),
        (linked, counted_as(linked, "file with further names", "files with further names")),
        (special, counted_as(special, "pipe, socket or device", "pipes, sockets or devices")),
        (unreadable, counted_as(unreadable, "unreadable directory", "unreadable directories")),
        (deep, counted_as(deep, "directory nested too deep", "directories nested too deep")),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0).map(|(_, named)| named);
    let more = has_more.then(|| format!("all after the first {NAMES} names"));
    let named: Vec<_> = numbers.chain(more).collect();
    (!named.is_empty()).then(|| {
        let says = format!(
            "others may have rights to parts of {} that were not judged: {}",
            directory.shown(),
            named.join(", ")
        );
        let remedy = format!("look at their rights yourself (`ls -lR {}`)", directory.shown());
        Finding::unknown(subject, CHECK, says).with_remedy(remedy)
    })
}

/// Judges the parts to which others have rights. `fixing` comes with whether other parts were not judged.
fn judge_open(
    subject: &Subject,
    directory: &Path,
    parts: &[OpenPart],
    (fixing, has_skipped): (Fixing, bool),
) -> Finding {
    let writable = parts.iter().filter(|part| part.is_writable).count();
    let readable = parts.len() - writable;
    let number = |number| counted(number, "part");
    let what = match (writable, readable) {
        (0, _) => format!("others may read {}", number(readable)),
        (_, 0) => format!("others may write to {}", number(writable)),
        _ => format!("others may write to {} and read {}", number(writable), number(readable)),
    };
    // What others wrote is not known.
    let check = if writable > 0 { ", and check what they may have changed" } else { "" };
    let left: Vec<_> = parts.iter().filter(|part| !part.is_closed).cloned().collect();
    let outcome = match fixing {
        Fixing::Offered => String::new(),
        Fixing::Done if !left.is_empty() => {
            format!("; these could not be changed: {}", named(&left))
        }
        Fixing::Done if has_skipped => format!("; these rights are taken away{check}"),
        Fixing::Done => format!("; only you may now{check}"),
    };
    let says = format!("{what} of {}: {}{outcome}", directory.shown(), named(parts));
    let remedy = format!("run `cli-team-bridge doctor --fix`{check}");
    let finding = Finding::problem(subject, CHECK, says, remedy).with_fix(Fix::RightsOfOthers);
    Finding { is_fixed: fixing == Fixing::Done && left.is_empty(), ..finding }
}

fn named(parts: &[OpenPart]) -> String {
    let name = |part: &OpenPart| {
        if part.path.as_os_str().is_empty() {
            "the directory itself".to_owned()
        } else {
            format!("`{}`", part.path.shown())
        }
    };
    list(&parts.iter().map(name).collect::<Vec<_>>())
}

/// Lists the first of some names.
fn list(names: &[String]) -> String {
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names[..names.len().min(NAMED)].join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Level;

    fn part(path: &str, is_writable: bool, is_closed: bool) -> OpenPart {
        OpenPart { path: path.into(), is_writable, is_closed }
    }

    #[track_caller]
    fn check(parts: &[OpenPart], fixing: Fixing, expected: &str, is_fixed: bool) {
        let finding = judge_open(&Subject::Bus, Path::new("/b"), parts, (fixing, false));
        assert_eq!((finding.says.as_str(), finding.is_fixed), (expected, is_fixed));
    }

    #[test]
    fn a_finding_says_what_others_may_do_and_what_became_of_it() {
        let open = [part("", false, false), part("log/a", true, false)];
        let says =
            "others may write to 1 part and read 1 part of /b: the directory itself, `log/a`";
        check(&open, Fixing::Offered, says, false);
        let closed = [part("a", false, true), part("b", false, true)];
        let says = "others may read 2 parts of /b: `a`, `b`; only you may now";
        check(&closed, Fixing::Done, says, true);
        let says = "others may write to 1 part of /b: `a`; only you may now, and check what they may have changed";
        check(&[part("a", true, true)], Fixing::Done, says, true);
        let says = "others may read 2 parts of /b: `a`, `b`; these could not be changed: `b`";
        check(&[part("a", false, true), part("b", false, false)], Fixing::Done, says, false);
    }

    #[test]
    fn what_was_not_judged_is_unknown_beside_what_was() {
        let skipped = Skipped { of_others: 1, linked: 2, has_more: true, ..Skipped::default() };
        let judged = |parts: Vec<OpenPart>, skipped: Skipped| -> Vec<_> {
            let found = Found { parts, skipped };
            let findings = judge(&Subject::Bus, Path::new("/b"), &found, Fixing::Done, None);
            findings.into_iter().map(|finding| (finding.level, finding.says)).collect()
        };
        let unknown = (
            Level::Unknown,
            "others may have rights to parts of /b that were not judged: 1 part of another user, 2 files with further names, \
             all after the first 100000 names"
                .to_owned(),
        );
        assert_eq!(judged(Vec::new(), skipped), std::slice::from_ref(&unknown));
        let says = "others may read 1 part of /b: `a`; these rights are taken away".to_owned();
        let closed = vec![part("a", false, true)];
        assert_eq!(judged(closed, skipped), [(Level::Problem, says), unknown]);
        let all = (Level::Ok, "only you can read and change /b".to_owned());
        assert_eq!(judged(Vec::new(), Skipped::default()), [all]);
    }
}
