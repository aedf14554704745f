//! A finding of the doctor: its subject, its level, and its remedy.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use crate::domain::text::visible_letters::one_line;

/// The subject of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// This program, and its needs from the user's machine.
    Bridge,
    /// The project's own file.
    Project,
    Bus,
    /// A program that can lead a team.
    Client(String),
    /// The agents as a whole.
    Agents,
    /// The agents of one profile.
    Agent(String),
}

impl Subject {
    /// Returns the word for its kind in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::Project => "project",
            Self::Bus => "bus",
            Self::Client(_) => "client",
            Self::Agents => "agents",
            Self::Agent(_) => "agent",
        }
    }

    /// Returns its name, if there may be several of its kind.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Client(name) | Self::Agent(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // An agent may have the same name.
            Self::Client(name) => write!(f, "{name} as client"),
            _ => f.write_str(self.name().unwrap_or(self.kind())),
        }
    }
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    /// Worth knowing, but the team works all the same.
    Note,
    /// The check gave no answer.
    Unknown,
    Problem,
}

impl Level {
    /// Returns the word for the level in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Problem => "problem",
        }
    }
}

/// Whether safe fixes are made or only offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixing {
    Offered,
    Done,
}

/// A fix that loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Take away the rights of other users to private files. The examination does it itself, because more can be examined then.
    RightsOfOthers,
    /// Give the user the rights of an owner to the directories of the bus back. The examination does that itself, too.
    OwnRights,
    /// Remove the presences that dead sessions have left in this bus.
    LeftPresences(PathBuf),
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub subject: Subject,
    /// The check, in a word.
    pub check: &'static str,
    pub level: Level,
    /// The result, on one line.
    pub says: String,
    /// The remedy, on one line.
    pub remedy: Option<String>,
    pub fix: Option<Fix>,
    /// Whether the fix was made.
    pub is_fixed: bool,
    /// The result as data, for programs.
    pub facts: BTreeMap<&'static str, Value>,
    /// The cause, if a client may say it too when it is asked.
    pub(super) cause: Option<Cause>,
}

/// A cause of which a client may speak itself. Of each, there is one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// This file cannot be read, or not as the client would read it.
    UnreadableFile(PathBuf),
    /// The client uses nothing of this file, because of a value in it.
    UnusedFile(PathBuf),
    /// An entry for the bridge in this file, for one project alone or for all.
    Entry { file: PathBuf, is_local: bool },
}

impl Finding {
    fn of(subject: &Subject, check: &'static str, level: Level, says: impl Into<String>) -> Self {
        Self {
            subject: subject.clone(),
            check,
            level,
            // Texts from agents, files and the system may contain line breaks or control a terminal.
            says: one_line(&says.into()),
            remedy: None,
            fix: None,
            is_fixed: false,
            facts: BTreeMap::new(),
            cause: None,
        }
    }

    pub(crate) fn ok(subject: &Subject, check: &'static str, says: impl Into<String>) -> Self {
        Self::of(subject, check, Level::Ok, says)
    }

    pub(crate) fn note(subject: &Subject, check: &'static str, says: impl Into<String>) -> Self {
        Self::of(subject, check, Level::Note, says)
    }

    pub(crate) fn unknown(subject: &Subject, check: &'static str, says: impl Into<String>) -> Self {
        Self::of(subject, check, Level::Unknown, says)
    }

    /// Makes a problem, which always has a remedy.
    pub(crate) fn problem(
        subject: &Subject,
        check: &'static str,
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::of(subject, check, Level::Problem, says).with_remedy(remedy)
    }

    pub(crate) fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(one_line(&remedy.into()));
        self
    }

    pub(crate) fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    pub(super) fn with_cause(mut self, cause: Option<Cause>) -> Self {
        self.cause = cause;
        self
    }

    pub(crate) fn with_fact(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.insert(name, value.into());
        self
    }
}

/// All findings of one examination, in the order of their subjects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn of(mut findings: Vec<Finding>) -> Self {
        // The sort is stable, so the findings of one subject stay in the order of their checks.
        findings.sort_by(|one, other| one.subject.cmp(&other.subject));
        Self { findings }
    }

    /// Returns the number of findings of a level, without the fixed ones.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level && !finding.is_fixed).count()
    }

    /// Returns the overall level: a problem outranks an unknown.
    pub fn level(&self) -> Level {
        let levels = [Level::Problem, Level::Unknown];
        levels.into_iter().find(|level| self.count(*level) > 0).unwrap_or(Level::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_outranks_an_unknown_and_a_fixed_one_does_not_count() {
        let mut problem = Finding::problem(&Subject::Bus, "a", "it is\n broken", "fix\tit");
        assert_eq!(
            (problem.says.as_str(), problem.remedy.as_deref()),
            ("it is broken", Some("fix it"))
        );
        let unknown = Finding::unknown(&Subject::Agent("x".into()), "b", "no answer");
        let note = Finding::note(&Subject::Bridge, "c", "worth knowing");
        let all = [problem.clone(), unknown, note];
        assert_eq!(Report::of(all.to_vec()).level(), Level::Problem);
        assert_eq!(Report::of(all.to_vec()).findings[0].check, "c");
        assert_eq!(Report::of(all[1..].to_vec()).level(), Level::Unknown);
        assert_eq!(Report::of(all[2..].to_vec()).level(), Level::Ok);
        problem.is_fixed = true;
        assert_eq!(Report::of(vec![problem]).level(), Level::Ok);
    }
}
