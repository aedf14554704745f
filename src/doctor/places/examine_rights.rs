//! Examines the rights of other users to a directory that should be private, and takes them away if that is asked for.
//!
//! The bridge makes its directories and files for their owner alone. A copy, an archive or a `chmod` may have opened them.

use std::path::Path;

use crate::doctor::finding::{Finding, Fix, Fixing, Subject};
use crate::domain::text::counted::counted;
use crate::sys::fs::rights_of_others::{OpenPart, Rights, of_directory};

/// The check, in a word.
const CHECK: &str = "rights";

/// The most parts that a sentence names.
const NAMED: usize = 3;

/// Examines the user's state directory; no finding if there is none. Blocks while it reads its names.
pub(crate) fn of_state(directory: &Path, fixing: Fixing) -> Option<Finding> {
    examine(&Subject::Bridge, directory, fixing)
}

/// Examines the directory of a bus; no finding if there is none, or if a link leads to it: a project may bring one that leads anywhere.
/// Blocks while it reads its names.
pub(super) fn of_bus(directory: &Path, fixing: Fixing) -> Option<Finding> {
    let is_real = directory.canonicalize().is_ok_and(|real| real == directory);
    is_real.then(|| examine(&Subject::Bus, directory, fixing)).flatten()
}

fn examine(subject: &Subject, directory: &Path, fixing: Fixing) -> Option<Finding> {
    let rights = match fixing {
        Fixing::Offered => Rights::Find,
        Fixing::Done => Rights::TakeAway,
    };
    directory.symlink_metadata().ok()?;
    Some(match of_directory(directory, rights) {
        Ok(parts) => judge(subject, directory, &parts, fixing),
        Err(error) => {
            let says = format!("cannot look through {}: {error}", directory.display());
            Finding::unknown(subject, CHECK, says)
        }
    })
}

fn judge(subject: &Subject, directory: &Path, parts: &[OpenPart], fixing: Fixing) -> Finding {
    if parts.is_empty() {
        let says = format!("only you can read and change {}", directory.display());
        return Finding::ok(subject, CHECK, says);
    }
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
        Fixing::Done if left.is_empty() => format!("; only you may now{check}"),
        Fixing::Done => format!("; these could not be changed: {}", named(&left)),
    };
    let says = format!("{what} of {}: {}{outcome}", directory.display(), named(parts));
    let remedy = format!("run `cli-team-bridge doctor --fix`{check}");
    let finding = Finding::problem(subject, CHECK, says, remedy).with_fix(Fix::RightsOfOthers);
    Finding { is_fixed: fixing == Fixing::Done && left.is_empty(), ..finding }
}

fn named(parts: &[OpenPart]) -> String {
    let name = |part: &OpenPart| {
        if part.path.as_os_str().is_empty() {
            "the directory itself".to_owned()
        } else {
            format!("`{}`", part.path.display())
        }
    };
    let more = match parts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first: Vec<_> = parts.iter().take(NAMED).map(name).collect();
    first.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str, is_writable: bool, is_closed: bool) -> OpenPart {
        OpenPart { path: path.into(), is_writable, is_closed }
    }

    #[track_caller]
    fn check(parts: &[OpenPart], fixing: Fixing, expected: &str, is_fixed: bool) {
        let finding = judge(&Subject::Bus, Path::new("/b"), parts, fixing);
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
}
