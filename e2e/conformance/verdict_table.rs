//! The tables of `docs/conformance.md`: which scenario of the suite passes, and which does not apply to our servers and why.
//!
//! The document is the only list. A run that finds anything else fails and says what, so the document stays true.

use std::collections::{BTreeMap, BTreeSet};

use super::suite_results::{Results, Revision, Verdict};

/// What the document says of a scenario.
struct Row {
    /// Under each revision; none where it has no such scenario.
    verdicts: [Option<Verdict>; 2],
    has_reason: bool,
}

/// The tables.
pub(crate) struct Table {
    scenarios: BTreeMap<String, Row>,
    /// The checks of scenarios that pass in part: those that do not apply.
    excepted: BTreeMap<String, BTreeSet<String>>,
}

impl Table {
    /// Reads the tables of a document: rows of scenarios have four cells, rows of single checks have three.
    pub(crate) fn read(document: &str) -> Self {
        let mut table = Self { scenarios: BTreeMap::new(), excepted: BTreeMap::new() };
        for line in document.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            match cells[..] {
                [scenarios, first, second, reason] => {
                    for scenario in quoted(scenarios) {
                        let verdicts = [verdict(first), verdict(second)];
                        let row = Row { verdicts, has_reason: !reason.is_empty() };
                        let earlier = table.scenarios.insert(scenario.clone(), row);
                        assert!(earlier.is_none(), "`{scenario}` has one row");
                    }
                }
                [scenario, checks, reason] => {
                    assert!(!reason.is_empty(), "a reason: {line}");
                    for scenario in quoted(scenario) {
                        table.excepted.entry(scenario).or_default().extend(quoted(checks));
                    }
                }
                _ => panic!("a row has three or four cells: {line}"),
            }
        }
        table
    }

    /// Returns all differences between the document and a run: `scenarios` are all that the suite has.
    pub(crate) fn differences(
        &self,
        scenarios: &BTreeSet<String>,
        results: &Results,
    ) -> Vec<String> {
        let mut differences = Vec::new();
        let listed: BTreeSet<_> = self.scenarios.keys().cloned().collect();
        let run: BTreeSet<_> = results.keys().map(|(scenario, _)| scenario.clone()).collect();
        for scenario in scenarios.union(&run).filter(|scenario| !listed.contains(*scenario)) {
            differences.push(format!("`{scenario}` is in no row"));
        }
        for scenario in listed.iter().filter(|scenario| !run.contains(*scenario)) {
            differences.push(format!("`{scenario}` has a row, and was not run"));
        }
        for ((scenario, revision), checks) in results {
            let name = format!("`{scenario}` ({})", revision.date());
            if let Some(why) = checks.invalid_message() {
                differences.push(format!("{name}: a message violates the schema: {why}"));
            }
            let Some(row) = self.scenarios.get(scenario) else {
                continue;
            };
            let (said, seen) = (row.verdicts[*revision as usize], checks.verdict());
            if said != Some(seen) {
                let failed = checks.failed();
                differences.push(format!("{name}: said {said:?}, seen {seen:?}: {failed:#?}"));
            } else if seen == Verdict::InPart {
                differences.extend(self.wrong_exceptions(scenario, &name, &checks.failed()));
            } else if seen == Verdict::Fails && !row.has_reason {
                differences
                    .push(format!("{name}: the document does not say why it does not apply"));
            }
        }
        for (scenario, row) in &self.scenarios {
            let not_run = Revision::ALL.into_iter().filter(|revision| {
                row.verdicts[*revision as usize].is_some()
                    && run.contains(scenario)
                    && !results.contains_key(&(scenario.clone(), *revision))
            });
            let name = |revision: Revision| {
                format!("`{scenario}` ({}) has a verdict, and was not run", revision.date())
            };
            differences.extend(not_run.map(name));
        }
        differences
    }

    /// Returns the checks that fail without an exception, and the exceptions that pass.
    fn wrong_exceptions(
        &self,
        scenario: &str,
        name: &str,
        failed: &BTreeMap<&str, &str>,
    ) -> Vec<String> {
        let none = BTreeSet::new();
        let excepted = self.excepted.get(scenario).unwrap_or(&none);
        let applies = failed.iter().filter(|(check, _)| !excepted.contains(**check));
        let applies = applies.map(|(check, why)| format!("{name}: `{check}` failed: {why}"));
        let stale = excepted.iter().filter(|check| !failed.contains_key(check.as_str()));
        let stale = stale.map(|check| {
            format!("{name}: `{check}` passes, and its row says that it does not apply")
        });
        applies.chain(stale).collect()
    }
}

/// Returns what a cell has between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn verdict(cell: &str) -> Option<Verdict> {
    match cell {
        "passes" => Some(Verdict::Passes),
        "in part" => Some(Verdict::InPart),
        "does not apply" => Some(Verdict::Fails),
        "–" => None,
        other => panic!("`{other}` is no verdict"),
    }
}
