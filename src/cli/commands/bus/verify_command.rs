//! `bus verify`: checks the whole bus and says of each damage where it is, what is lost and what to do.

use std::process::ExitCode;

use clap::Args;

use crate::bus::storage::file::upkeep::{self, BusFinding, BusReport, Severity, Verified};
use crate::cli::commands::look::{Place, foreign, no_team, print_json, unusable};
use crate::cli::{Failure, output};
use crate::domain::text::counted::{counted, counted_as};

/// The exit code if something is damaged.
const PROBLEMS: u8 = 1;

/// The exit code if the bus could not be verified.
const UNKNOWN: u8 = 2;

/// Which bus to verify.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
It only reads, and takes no lock, so the team may be at work. The exit code is 0 without
problems, 1 with problems, and 2 if the bus cannot be verified.")]
pub(super) struct VerifyArguments {
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(arguments: &VerifyArguments) -> ExitCode {
    match verify(arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(PROBLEMS),
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(UNKNOWN)
        }
    }
}

/// Prints the report. Returns the number of problems.
fn verify(arguments: &VerifyArguments) -> Result<usize, Failure> {
    let (project, proof) = arguments.place.project_and_proof()?;
    let directory = project.bus_directory();
    let report = match upkeep::verify(&directory, &proof).map_err(unusable)? {
        Verified::Bus(report) => report,
        Verified::Foreign => return Err(foreign(&directory)),
        Verified::Absent => {
            output::tell(&no_team(&project.root));
            return Ok(0);
        }
    };
    if arguments.place.json {
        print_json(&report);
    } else {
        for line in lines(&report) {
            output::say_fitted(&line);
        }
    }
    Ok(report.problems())
}

/// Returns the report as lines.
fn lines(report: &BusReport) -> Vec<String> {
    let size = match report.bytes {
        few @ ..1_000_000 => format!("{} kB", few.div_ceil(1_000)),
        many => format!("{}.{} MB", many / 1_000_000, many % 1_000_000 / 100_000),
    };
    let snapshots = match (report.snapshots, report.snapshots_compared) {
        (0, _) => "none yet".to_owned(),
        (all, same) => {
            let same = counted_as(same, "has", "have");
            format!("{all}, of which {same} the state that the log yields")
        }
    };
    let events = match (report.first_seq, report.last_seq) {
        (Some(first), Some(last)) => {
            format!("{} from seq {first} to {last}", counted(report.events, "event"))
        }
        _ => "no events".to_owned(),
    };
    let files = counted(report.segments, "file");
    let mut lines = vec![
        format!("log          {} in {files}, {size}: {events}", counted(report.lines, "line")),
        format!("snapshots    {snapshots}"),
        format!("long texts   {}", report.texts),
        format!("transcripts  {}", report.transcripts),
    ];
    if !report.findings.is_empty() {
        lines.push(String::new());
    }
    for finding in &report.findings {
        lines.extend(finding_lines(finding));
    }
    if report.more_findings > 0 {
        lines.push(format!(
            "and {} not listed",
            counted_as(report.more_findings, "finding that is", "findings that are")
        ));
    }
    lines.push(String::new());
    let problems = report.problems();
    let notes = report.findings.len() - problems;
    lines.push(match (problems, notes) {
        (0, 0) => "The bus is whole.".to_owned(),
        (0, _) => format!("The bus is whole; {}.", counted(notes, "note")),
        _ => format!("{}, {}.", counted(problems, "problem"), counted(notes, "note")),
    });
    lines
}

fn finding_lines(finding: &BusFinding) -> Vec<String> {
    let mark = match finding.severity {
        Severity::Problem => "✗",
        Severity::Note => "·",
    };
    let file = if finding.file.is_empty() { "the bus" } else { &finding.file };
    let at = finding.at.map(|at| format!(" from byte {at}")).unwrap_or_default();
    let mut lines = vec![format!("{mark} {file}{at}: {}", finding.what)];
    lines.extend(finding.lost.iter().map(|lost| format!("    lost: {lost}")));
    lines.extend(finding.remedy.iter().map(|remedy| format!("    to do: {remedy}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_where_each_finding_is_and_ends_with_their_number() {
        let whole = BusReport { lines: 1, segments: 1, bytes: 1_250_000, ..BusReport::default() };
        let shown = lines(&whole);
        assert_eq!(shown[0], "log          1 line in 1 file, 1.2 MB: no events");
        assert_eq!(shown[1], "snapshots    none yet");
        assert_eq!(shown.last().unwrap(), "The bus is whole.");
        let finding = BusFinding {
            severity: Severity::Problem,
            kind: upkeep::FindingKind::DamagedLine,
            file: "log/1.jsonl".to_owned(),
            at: Some(7),
            what: "3 bytes are no line of the log".to_owned(),
            lost: Some("at most 1 event".to_owned()),
            remedy: None,
        };
        let damaged =
            BusReport { snapshots: 2, findings: vec![finding], more_findings: 1, ..whole };
        assert_eq!(
            lines(&damaged)[1..],
            [
                "snapshots    2, of which 0 have the state that the log yields",
                "long texts   0",
                "transcripts  0",
                "",
                "✗ log/1.jsonl from byte 7: 3 bytes are no line of the log",
                "    lost: at most 1 event",
                "and 1 finding that is not listed",
                "",
                "1 problem, 0 notes.",
            ]
        );
    }
}
