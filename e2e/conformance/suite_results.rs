//! The results of the suite, as it writes them: a folder for each scenario, with its checks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// What follows a scenario's name in the name of its folder: `-2026-11-23T15-57-18-373Z`.
const TIME: usize = 25;

/// The check of every message against the protocol's schema, which belongs to most scenarios.
const SCHEMA: &str = "wire-schema-valid";

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    WithSessions,
    Stateless,
}

impl Revision {
    pub(crate) const ALL: [Self; 2] = [Self::WithSessions, Self::Stateless];

    /// Returns the date that names it.
    pub(crate) fn date(self) -> &'static str {
        match self {
            Self::WithSessions => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// What the checks of a scenario say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passes,
    InPart,
    Fails,
}

/// The checks of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// By id: none for a check that passed each time, else why it failed.
    by_id: BTreeMap<String, Option<String>>,
    /// Why a message of ours violates the schema.
    invalid_message: Option<String>,
}

impl Checks {
    /// Reads a scenario's checks. What was skipped or only warned about did not pass; what only informs is no check.
    pub(crate) fn read(json: &Value) -> Self {
        let mut checks = Self::default();
        for check in json.as_array().unwrap() {
            let (id, status) = (check["id"].as_str().unwrap(), check["status"].as_str().unwrap());
            let failed = (status != "SUCCESS").then(|| format!("{status}: {}", why(check)));
            if id == SCHEMA {
                checks.invalid_message = checks.invalid_message.or(failed);
            } else if status != "INFO" {
                let known = checks.by_id.entry(id.to_owned()).or_default();
                *known = known.take().or(failed);
            }
        }
        checks
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let passed = self.by_id.values().filter(|failed| failed.is_none()).count();
        if passed == 0 {
            Verdict::Fails
        } else if passed == self.by_id.len() {
            Verdict::Passes
        } else {
            Verdict::InPart
        }
    }

    /// Returns the checks that failed, with the reason of each.
    pub(crate) fn failed(&self) -> BTreeMap<&str, &str> {
        let failed = self.by_id.iter().filter_map(|(id, why)| Some((id.as_str(), why.as_deref()?)));
        failed.collect()
    }

    pub(crate) fn invalid_message(&self) -> Option<&str> {
        self.invalid_message.as_deref()
    }
}

/// The checks of each scenario under each revision.
pub(crate) type Results = BTreeMap<(String, Revision), Checks>;

/// Reads what a run of the suite has written into a folder.
pub(crate) fn read_results(folder: &Path, revision: Revision) -> Results {
    let entries = std::fs::read_dir(folder).unwrap();
    let scenario = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let name = name.strip_prefix("server-").unwrap();
        let checks = std::fs::read_to_string(entry.path().join("checks.json")).unwrap();
        let checks = Checks::read(&serde_json::from_str(&checks).unwrap());
        ((name[..name.len() - TIME].to_owned(), revision), checks)
    };
    entries.map(scenario).collect()
}

/// Returns the beginning of a check's own explanation.
fn why(check: &Value) -> String {
    let told = check["errorMessage"].as_str().unwrap_or_default();
    let told = if told.is_empty() { check["details"].to_string() } else { told.to_owned() };
    told.chars().take(600).collect()
}
