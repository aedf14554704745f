//! A working tree as git describes it at one moment, parsed from git's output; and the difference between two of them. Pure.
//!
//! Snapshots are taken before and after a task. A file that differs from the commit in both counts only if its size or modification
//! time changed. A file that was committed meanwhile counts by what the commits did to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::task::result::Change;

/// Git's name for the missing commit of a repository without any.
const INITIAL: &str = "(initial)";

/// The empty tree in repositories that use SHA-1. Others refuse it, and the result then says so.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A working tree as git sees it at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitSnapshot {
    /// The commit that is checked out.
    pub(crate) head: String,
    /// The files that differ from it, by path from the repository's root.
    pub(crate) dirty: BTreeMap<String, State>,
    /// The marks of all files of interest that exist.
    pub(crate) marks: BTreeMap<String, Mark>,
}

/// How a file differs from the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The commit does not have it.
    New,
    /// The commit has it with other content.
    Other,
    /// Only the commit has it.
    Gone,
}

/// A value that changes with a file's content: its size and its modification time in nanoseconds.
pub(crate) type Mark = (u64, i128);

impl GitSnapshot {
    /// Parses `git status --porcelain=v2 --branch -z`; `None` for other output.
    pub(crate) fn parse(status: &[u8]) -> Option<Self> {
        let mut look = Self::default();
        let mut parts = status.split(|byte| *byte == 0);
        while let Some(part) = parts.next() {
            // A path that is not text is shown as well as possible.
            let line = String::from_utf8_lossy(part);
            let Some((kind, rest)) = line.split_once(' ') else {
                continue;
            };
            match kind {
                "#" => {
                    if let Some(head) = rest.strip_prefix("branch.oid ") {
                        head.clone_into(&mut look.head);
                    }
                }
                "1" => look.changed(rest, 7)?,
                "2" => {
                    look.changed(rest, 8)?;
                    // The old name is a part of its own.
                    let before = String::from_utf8_lossy(parts.next()?).into_owned();
                    look.dirty.insert(before, State::Gone);
                }
                "u" => look.changed(rest, 9)?,
                "?" => drop(look.dirty.insert(rest.to_owned(), State::New)),
                _ => {}
            }
        }
        (!look.head.is_empty()).then_some(look)
    }

    /// Adds a file that differs, given the number of fields before its path.
    fn changed(&mut self, rest: &str, fields: usize) -> Option<()> {
        let path = rest.splitn(fields + 1, ' ').last()?;
        let state = match rest.get(..2)?.as_bytes() {
            [_, b'D'] | [b'D', b'.'] => State::Gone,
            [b'A', _] => State::New,
            _ => State::Other,
        };
        self.dirty.insert(path.to_owned(), state);
        Some(())
    }

    /// Returns the name of the commit for a comparison, or of the empty tree if there is none.
    pub(crate) fn tree(&self) -> &str {
        if self.head == INITIAL { EMPTY_TREE } else { &self.head }
    }
}

/// Parses `git diff-tree --name-status -z`: the changes that commits made to files.
pub(crate) fn committed(diff: &[u8]) -> BTreeMap<String, Change> {
    let mut parts = diff.split(|byte| *byte == 0);
    let mut changes = BTreeMap::new();
    while let (Some(status), Some(path)) = (parts.next(), parts.next()) {
        let change = match status.first() {
            Some(b'A') => Change::Created,
            Some(b'D') => Change::Deleted,
            _ => Change::Edited,
        };
        changes.insert(String::from_utf8_lossy(path).into_owned(), change);
    }
    changes
}

/// Returns the changes between two snapshots, given those that the commits between them made.
pub(crate) fn compare(
    before: &GitSnapshot,
    after: &GitSnapshot,
    committed: &BTreeMap<String, Change>,
) -> BTreeMap<String, Change> {
    let paths: BTreeSet<&String> =
        before.dirty.keys().chain(after.dirty.keys()).chain(committed.keys()).collect();
    let changes = paths.into_iter().filter_map(|path| {
        let change = change_of(path, before, after, committed.get(path).copied())?;
        Some((path.clone(), change))
    });
    changes.collect()
}

fn change_of(
    path: &str,
    before: &GitSnapshot,
    after: &GitSnapshot,
    committed: Option<Change>,
) -> Option<Change> {
    let mark_before = before.marks.get(path);
    let mark_after = after.marks.get(path);
    match (before.dirty.get(path), after.dirty.get(path)) {
        // Both snapshots have its mark, which decides.
        (Some(was), _) => match (*was, mark_before, mark_after) {
            (State::Gone, _, None) => None,
            (State::Gone, _, Some(_)) => Some(Change::Created),
            (_, _, None) => Some(Change::Deleted),
            (_, was, is) => (was != is).then_some(Change::Edited),
        },
        (None, Some(state)) => Some(match (committed, state) {
            // Committed, and changed again.
            (Some(Change::Created), State::Other) | (_, State::New) => Change::Created,
            (_, State::Gone) => Change::Deleted,
            (_, State::Other) => Change::Edited,
        }),
        (None, None) => committed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "# branch.oid 1a2b\0# branch.head main\0\
        1 .M N... 100644 100644 100644 aa aa src/a b.rs\0\
        1 A. N... 000000 100644 100644 00 bb new.rs\0\
        1 .D N... 100644 100644 000000 cc cc gone.rs\0\
        2 R. N... 100644 100644 100644 dd dd R100 to.rs\0from.rs\0\
        u UU N... 100644 100644 100644 100644 a b c both.rs\0\
        ? not added.rs\0";

    fn look(head: &str, files: &[(&str, State, Option<i128>)]) -> GitSnapshot {
        let mut look = GitSnapshot { head: head.into(), ..GitSnapshot::default() };
        for (path, state, mark) in files {
            look.dirty.insert((*path).into(), *state);
            if let Some(time) = mark {
                look.marks.insert((*path).into(), (1, *time));
            }
        }
        look
    }

    fn check(
        before: &GitSnapshot,
        after: &GitSnapshot,
        committed: &[(&str, Change)],
        expected: &[(&str, Change)],
    ) {
        let committed =
            committed.iter().map(|(path, change)| ((*path).to_owned(), *change)).collect();
        let changes = compare(before, after, &committed);
        let changes: Vec<_> =
            changes.iter().map(|(path, change)| (path.as_str(), *change)).collect();
        assert_eq!(changes, expected);
    }

    #[test]
    fn every_kind_of_line_of_git_is_read() {
        let look = GitSnapshot::parse(STATUS.as_bytes()).unwrap();
        assert_eq!(look.head, "1a2b");
        let dirty: Vec<_> =
            look.dirty.iter().map(|(path, state)| (path.as_str(), *state)).collect();
        let expected = [
            ("both.rs", State::Other),
            ("from.rs", State::Gone),
            ("gone.rs", State::Gone),
            ("new.rs", State::New),
            ("not added.rs", State::New),
            ("src/a b.rs", State::Other),
            ("to.rs", State::Other),
        ];
        assert_eq!(dirty, expected);
        assert_eq!(GitSnapshot::parse(b"fatal: not a repository"), None);
        let initial = GitSnapshot::parse(b"# branch.oid (initial)\0").unwrap();
        assert_eq!(initial.tree(), EMPTY_TREE);
    }

    #[test]
    fn changes_by_commits_are_parsed() {
        let diff = committed(b"A\0new.rs\0M\0old.rs\0D\0gone.rs\0T\0link\0");
        let diff: Vec<_> = diff.iter().map(|(path, change)| (path.as_str(), *change)).collect();
        let expected = [
            ("gone.rs", Change::Deleted),
            ("link", Change::Edited),
            ("new.rs", Change::Created),
            ("old.rs", Change::Edited),
        ];
        assert_eq!(diff, expected);
    }

    #[test]
    fn only_what_changed_between_the_looks_counts() {
        let before = look(
            "1",
            &[
                ("same", State::Other, Some(1)),
                ("again", State::Other, Some(1)),
                ("removed", State::New, Some(1)),
                ("restored", State::Gone, None),
                ("reverted", State::Other, Some(1)),
            ],
        );
        let mut after = look(
            "1",
            &[
                ("same", State::Other, Some(1)),
                ("again", State::Other, Some(2)),
                ("edited", State::Other, Some(2)),
                ("created", State::New, Some(2)),
                ("deleted", State::Gone, None),
            ],
        );
        after.marks.insert("restored".into(), (1, 2));
        after.marks.insert("reverted".into(), (1, 2));
        let expected = [
            ("again", Change::Edited),
            ("created", Change::Created),
            ("deleted", Change::Deleted),
            ("edited", Change::Edited),
            ("removed", Change::Deleted),
            ("restored", Change::Created),
            ("reverted", Change::Edited),
        ];
        check(&before, &after, &[], &expected);
    }

    #[test]
    fn a_committed_file_counts_by_its_commits_unless_it_was_changed_before() {
        let before = look("1", &[("done before", State::Other, Some(1))]);
        let mut after = look("2", &[("and again", State::Other, Some(2))]);
        after.marks.insert("done before".into(), (1, 1));
        let committed = [
            ("done before", Change::Edited),
            ("and again", Change::Created),
            ("made", Change::Created),
            ("dropped", Change::Deleted),
        ];
        let expected = [
            ("and again", Change::Created),
            ("dropped", Change::Deleted),
            ("made", Change::Created),
        ];
        check(&before, &after, &committed, &expected);
    }
}
