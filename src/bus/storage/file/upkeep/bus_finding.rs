//! What `bus verify` finds: the report, and its findings.

use crate::domain::is_zero::is_zero;
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the report; it increases when a field changes its meaning, not when a field is added.
pub(super) const REPORT_VERSION: u32 = 1;

/// The most findings that are listed. A damaged disk may yield one for each line, and the rest is counted.
pub(super) const MOST_FINDINGS: usize = 1_000;

/// Whether something has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something is lost, or may be read or changed by others.
    Problem,
    /// Nothing is lost.
    Note,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The bus is refused as it is.
    Refused,
    /// Bytes of the log that are no line.
    DamagedLine,
    /// A line whose seqs another line had before.
    RepeatedLine,
    /// Seqs that no line of the log has.
    MissingEvents,
    /// The first part of the log is gone, and no snapshot stands for it.
    MissingBeginning,
    /// The log ends in the middle of a line.
    UnfinishedLine,
    /// A snapshot that cannot be read.
    DamagedSnapshot,
    /// A snapshot with another state than the log yields.
    SnapshotDiffers,
    /// A snapshot of events that the log does not have.
    SnapshotAhead,
    /// A snapshot that could not be compared with the log.
    NotCompared,
    /// The file of a long text is not there.
    MissingText,
    /// The file of a long text is not as it was stored.
    DamagedText,
    /// Lines of a transcript that cannot be read.
    DamagedTranscript,
    /// Other users have rights to a part of the bus.
    OpenToOthers,
    /// A file that nothing needs any more.
    Leftover,
    /// A file that is no part of a bus.
    UnknownFile,
    /// A part that could not be examined.
    Unreadable,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BusFinding {
    /// `problem` or `note`.
    pub severity: Severity,
    pub kind: FindingKind,
    /// The file in the bus's directory; empty for the directory itself.
    pub file: String,
    /// Where in the file it begins, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl BusFinding {
    pub(super) fn problem(kind: FindingKind, file: String, what: impl Into<String>) -> Self {
        let (severity, what) = (Severity::Problem, what.into());
        Self { severity, kind, file, at: None, what, lost: None, remedy: None }
    }

    pub(super) fn note(kind: FindingKind, file: String, what: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::problem(kind, file, what) }
    }

    pub(super) fn at(self, at: u64) -> Self {
        Self { at: Some(at), ..self }
    }

    pub(super) fn lost(self, lost: impl Into<String>) -> Self {
        Self { lost: Some(lost.into()), ..self }
    }

    pub(super) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Says whether another finding is of the same place and kind.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.kind, &self.file, self.at) == (other.kind, &other.file, other.at)
    }
}

/// The result of verifying a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BusReport {
    /// The version of this report.
    pub version: u32,
    /// The id of the bus.
    pub bus: String,
    /// Files of the log.
    pub segments: u64,
    /// Readable lines of the log.
    pub lines: u64,
    /// Events in them.
    pub events: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// The seq of the first event; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<u64>,
    /// The seq of the last event; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// Snapshots.
    pub snapshots: u64,
    /// Those of them whose state is the one that the log yields.
    pub snapshots_compared: u64,
    /// Long texts that the log names.
    pub texts: u64,
    /// Transcripts.
    pub transcripts: u64,
    /// What was found, problems first.
    pub findings: Vec<BusFinding>,
    /// Further findings, which are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_findings: u64,
}

impl BusReport {
    /// Returns the number of listed problems.
    pub fn problems(&self) -> usize {
        let is_problem = |finding: &&BusFinding| finding.severity == Severity::Problem;
        self.findings.iter().filter(is_problem).count()
    }

    /// Adds a finding to the list, or counts it.
    pub(super) fn add(&mut self, finding: BusFinding) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
        }
    }
}
