//! What the doctor finds: about what, how it stands, and what to do about it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use crate::domain::text::visible_letters::seen;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// This program, and what it needs of its user's machine.
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
    /// Returns the word for its kind, as JSON has it.
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

    /// Returns the name of one of several of a kind.
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
            // An agent may be called the same.
            Self::Client(name) => write!(f, "{name} as client"),
            _ => f.write_str(self.name().unwrap_or(self.kind())),
        }
    }
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    /// Worth knowing. The team works all the same.
    Note,
    /// It could not be found out.
    Unknown,
    Problem,
}

impl Level {
    /// Returns the word that JSON has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Problem => "problem",
        }
    }
}

/// What can be mended without losing anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Remove the presences that dead sessions left in this bus.
    LeftPresences(PathBuf),
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub subject: Subject,
    /// What was looked at, in a word.
    pub check: &'static str,
    pub level: Level,
    /// What was found, on one line.
    pub says: String,
    /// What to do about it, on one line.
    pub remedy: Option<String>,
    pub fix: Option<Fix>,
    /// Whether the fix was made.
    pub is_fixed: bool,
    /// The same as data, for programs.
    pub facts: BTreeMap<&'static str, Value>,
}

impl Finding {
    fn of(subject: &Subject, check: &'static str, level: Level, says: impl Into<String>) -> Self {
        Self {
            subject: subject.clone(),
            check,
            level,
            says: one_line(&says.into()),
            remedy: None,
            fix: None,
            is_fixed: false,
            facts: BTreeMap::new(),
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

    /// A problem is never named without its remedy.
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

    pub(crate) fn with_fact(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.insert(name, value.into());
        self
    }
}

/// Words of agents, files and the system may have line ends, or act on a terminal, where a finding is one line that is read.
fn one_line(text: &str) -> String {
    seen(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// All findings of one examination, in the order of their subjects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn of(mut findings: Vec<Finding>) -> Self {
        // Stable, so that those of one subject stay in the order in which they were looked at.
        findings.sort_by(|one, other| one.subject.cmp(&other.subject));
        Self { findings }
    }

    /// Returns how many findings are of a level. What was mended is none any more.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level && !finding.is_fixed).count()
    }

    /// Returns how it stands in all: problems count before what could not be found out.
    pub fn level(&self) -> Level {
        let levels = [Level::Problem, Level::Unknown];
        levels.into_iter().find(|level| self.count(*level) > 0).unwrap_or(Level::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_counts_before_what_is_unknown_and_a_mended_one_not_at_all() {
        let mut problem = Finding::problem(&Subject::Bus, "a", "it is\n broken", "mend\tit");
        assert_eq!(
            (problem.says.as_str(), problem.remedy.as_deref()),
            ("it is broken", Some("mend it"))
        );
        let unknown = Finding::unknown(&Subject::Agent("x".into()), "b", "who knows");
        let note = Finding::note(&Subject::Bridge, "c", "by the way");
        let all = [problem.clone(), unknown, note];
        assert_eq!(Report::of(all.to_vec()).level(), Level::Problem);
        assert_eq!(Report::of(all.to_vec()).findings[0].check, "c");
        assert_eq!(Report::of(all[1..].to_vec()).level(), Level::Unknown);
        assert_eq!(Report::of(all[2..].to_vec()).level(), Level::Ok);
        problem.is_fixed = true;
        assert_eq!(Report::of(vec![problem]).level(), Level::Ok);
    }
}
