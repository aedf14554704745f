//! Verifies a whole bus: every line of its log, its snapshots, its long texts, its transcripts, and the rights to all of them.
//!
//! It changes nothing and takes no lock, so the team may be at work. What it finds has to be found twice, because a file may be under
//! change while it is read.

use std::path::Path;

use super::bus_finding::{BusFinding, BusReport, FindingKind, REPORT_VERSION};
use super::{verify_files, verify_lines};
use crate::bus::storage::LogError;
use crate::bus::storage::file::open_to_read::{Opened, open};
use crate::bus::storage::file::{FileLog, Proof, bus_json};
use crate::domain::text::shown_path::ShownPath as _;

/// What verifying a bus yields.
pub enum Verified {
    /// No bus yet.
    Absent,
    /// A bus that was not created here. It was not read.
    Foreign,
    Bus(Box<BusReport>),
}

/// Verifies the bus in a directory. An error says why that is not possible.
pub fn verify(directory: &Path, proof: &Proof) -> Result<Verified, LogError> {
    let mut log = match open(directory, proof) {
        Ok(Opened::Absent) => return Ok(Verified::Absent),
        Ok(Opened::Foreign) => return Ok(Verified::Foreign),
        Ok(Opened::Log(log)) => *log,
        Err(LogError::Refused { path, reason }) => {
            return Ok(Verified::Bus(Box::new(refused(directory, &path, &reason))));
        }
        Err(error) => return Err(error),
    };
    verify_log(&mut log).map(|report| Verified::Bus(Box::new(report)))
}

/// Verifies an open bus.
pub(super) fn verify_log(log: &mut FileLog) -> Result<BusReport, LogError> {
    let mut report = verify_once(log)?;
    if report.problems() > 0 {
        let again = verify_once(log)?;
        let is_found_again = |finding: &BusFinding| {
            // The list of the second may be full.
            again.more_findings > 0 || again.findings.iter().any(|other| finding.is_like(other))
        };
        report.findings.retain(is_found_again);
        report.more_findings = report.more_findings.min(again.more_findings);
    }
    // Those of one severity stay in the order of their files.
    report.findings.sort_by_key(|finding| finding.severity);
    Ok(report)
}

fn verify_once(log: &mut FileLog) -> Result<BusReport, LogError> {
    let bus = bus_json::load(&*log.disk, &log.directory)?.ok_or(LogError::Removed)?;
    let mut report =
        BusReport { version: REPORT_VERSION, bus: bus.to_string(), ..BusReport::default() };
    let walked = verify_lines::verify(log, bus, &mut report)?;
    verify_files::verify(log, &walked, &mut report)?;
    Ok(report)
}

/// Reports a bus that no session would open.
fn refused(directory: &Path, path: &Path, reason: &str) -> BusReport {
    let file = path.strip_prefix(directory).unwrap_or(path).shown().to_string();
    let finding = BusFinding::problem(FindingKind::Refused, file, reason);
    let mut report = BusReport { version: REPORT_VERSION, ..BusReport::default() };
    report.add(finding.lost("no session opens the bus as it is"));
    report
}
