//! What is known of each command line: that the tests here run it, which other test does, or why none can.

use std::collections::BTreeMap;
use std::fs;

use super::find_commands::{all, normal, root};
use crate::architecture;

/// The table, in `commands.toml` beside this file.
pub(super) struct Known {
    entries: BTreeMap<String, How>,
}

/// How a command line is tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// `run_commands` runs it.
    Runs,
    /// `run_commands` runs this in its place.
    RunsAs(String),
    /// The test of this name runs it.
    RunBy(String),
    /// Nothing can run it here, for this reason.
    CannotRun,
}

impl Known {
    pub(super) fn read() -> Self {
        let text = fs::read_to_string(root().join("tests/it/documents/commands.toml")).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let texts = |name: &str| {
            let section = table[name].as_table().unwrap().clone();
            section.into_iter().map(|(line, text)| (line, text.as_str().unwrap().to_owned()))
        };
        let mut entries = BTreeMap::new();
        let mut add = |line: String, how: How| {
            let earlier = entries.insert(line.clone(), how);
            assert!(earlier.is_none(), "`{line}` is listed twice");
        };
        for line in table["runs"].as_array().unwrap() {
            add(line.as_str().unwrap().to_owned(), How::Runs);
        }
        texts("runs_as").for_each(|(line, stand_in)| add(line, How::RunsAs(stand_in)));
        texts("run_by").for_each(|(line, test)| add(line, How::RunBy(test)));
        for (line, reason) in texts("cannot_run") {
            assert!(reason.len() > 10, "`{line}` needs a reason");
            add(line, How::CannotRun);
        }
        Self { entries }
    }

    /// Returns the entry of a command. An entry that ends with `…` is for all commands that begin so.
    pub(super) fn of(&self, command: &str) -> Option<(&str, &How)> {
        let command = normal(command);
        let fits = |(line, _): &(&String, &How)| match line.strip_suffix('…') {
            Some(begin) => command.starts_with(begin),
            None => **line == command,
        };
        self.entries.iter().find(fits).map(|(line, how)| (line.as_str(), how))
    }
}

#[test]
fn every_command_line_that_is_printed_is_known() {
    let known = Known::read();
    let found = all();
    assert!(found.len() > 80, "command lines are found: {}", found.len());
    let unknown = found.iter().filter(|found| known.of(&found.command).is_none());
    let unknown: Vec<_> =
        unknown.map(|found| format!("{}: {}", found.file, normal(&found.command))).collect();
    let advice = "say in tests/it/documents/commands.toml how these command lines are tested";
    assert!(unknown.is_empty(), "{advice}:\n{}", unknown.join("\n"));
}

#[test]
fn every_known_command_line_is_printed_somewhere() {
    let known = Known::read();
    let found = all();
    let printed: Vec<_> = found.iter().filter_map(|found| known.of(&found.command)).collect();
    let is_printed = |line: &&String| printed.iter().any(|(printed, _)| printed == line);
    let gone: Vec<_> = known.entries.keys().filter(|line| !is_printed(line)).collect();
    assert!(gone.is_empty(), "nothing prints these any more: {gone:#?}");
}

#[test]
fn every_test_that_is_said_to_run_a_command_line_exists() {
    let known = Known::read();
    let is_there = architecture::test_names();
    let tests = known.entries.values().filter_map(|how| match how {
        How::RunBy(test) => Some(test),
        _ => None,
    });
    let gone: Vec<_> = tests.filter(|test| !is_there(test)).collect();
    assert!(gone.is_empty(), "there are no such tests: {gone:#?}");
}
