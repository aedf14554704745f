//! A report as lines for people: one block per subject, each finding on a line with its remedy below, and a summary at the end.

use console::Style;

use crate::doctor::{Finding, Level, Report, Subject};
use crate::domain::text::counted::counted;

/// Returns the lines of a report.
pub(super) fn of(report: &Report, colours: bool) -> Vec<String> {
    let width = report.findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    let mut last: Option<&Subject> = None;
    for finding in &report.findings {
        if last != Some(&finding.subject) {
            if last.is_some() {
                lines.push(String::new());
            }
            lines.push(bold(&finding.subject.to_string(), colours));
            last = Some(&finding.subject);
        }
        lines.extend(of_finding(finding, width, colours));
    }
    lines.push(String::new());
    lines.push(summary(report));
    lines
}

fn of_finding(finding: &Finding, width: usize, colours: bool) -> Vec<String> {
    let level = if finding.is_fixed { Level::Ok } else { finding.level };
    let mark = tint(mark(level), level, colours);
    let mut lines = vec![format!("  {mark} {:<width$}  {}", finding.check, finding.says)];
    if let Some(remedy) = finding.remedy.as_ref().filter(|_| !finding.is_fixed) {
        lines.push(format!("    {:<width$}  → {remedy}", ""));
    }
    lines
}

/// Counts every finding once: a fixed one as fixed, whatever its level was.
fn summary(report: &Report) -> String {
    let problems = match report.count(Level::Problem) {
        0 => "No problems".to_owned(),
        some => counted(some, "problem"),
    };
    let unknown = match report.count(Level::Unknown) {
        0 => String::new(),
        number => format!(", {number} unknown"),
    };
    let notes = match report.count(Level::Note) {
        0 => String::new(),
        number => format!(", {}", counted(number, "note")),
    };
    let fixed = match report.findings.iter().filter(|finding| finding.is_fixed).count() {
        0 => String::new(),
        number => format!(", {number} fixed"),
    };
    format!("{problems}{unknown}{notes}{fixed}; {} ok.", report.count(Level::Ok))
}

/// Returns the mark of a level.
pub(super) fn mark(level: Level) -> &'static str {
    match level {
        Level::Ok => "✓",
        Level::Note => "-",
        Level::Unknown => "?",
        Level::Problem => "✗",
    }
}

/// Gives a mark the colour of a level.
pub(super) fn tint(mark: &str, level: Level, colours: bool) -> String {
    let plain = Style::new().force_styling(true);
    let style = match level {
        Level::Ok => plain.green(),
        Level::Note => plain.dim(),
        Level::Unknown => plain.yellow(),
        Level::Problem => plain.red(),
    };
    if colours { style.apply_to(mark).to_string() } else { mark.to_owned() }
}

fn bold(text: &str, colours: bool) -> String {
    let style = Style::new().force_styling(true).bold();
    if colours { style.apply_to(text).to_string() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(
        subject: Subject,
        check: &'static str,
        level: Level,
        remedy: Option<&str>,
    ) -> Finding {
        let mut finding = Finding::ok(&subject, check, "is so");
        finding.level = level;
        finding.remedy = remedy.map(str::to_owned);
        finding
    }

    #[test]
    fn a_report_has_a_block_per_subject_with_aligned_findings_and_a_summary() {
        let codex = || Subject::Agent("codex".to_owned());
        let mut fixed = finding(Subject::Bus, "presences", Level::Note, Some("fix it"));
        fixed.is_fixed = true;
        let report = Report {
            findings: vec![
                fixed,
                finding(codex(), "login", Level::Unknown, Some("log in")),
                finding(codex(), "start", Level::Problem, Some("look")),
            ],
        };
        let expected = [
            "bus",
            "  ✓ presences  is so",
            "",
            "codex",
            "  ? login      is so",
            "               → log in",
            "  ✗ start      is so",
            "               → look",
            "",
            "1 problem, 1 unknown, 1 fixed; 0 ok.",
        ];
        assert_eq!(of(&report, false), expected);
        assert!(of(&report, true)[6].contains("\u{1b}[31m✗"), "{:?}", of(&report, true));
    }

    #[test]
    fn the_summary_accounts_for_every_finding() {
        let note = || finding(Subject::Bridge, "version", Level::Note, None);
        let mut fixed = finding(Subject::Bus, "rights", Level::Problem, None);
        fixed.is_fixed = true;
        let ok = finding(Subject::Bus, "log", Level::Ok, None);
        let of = |findings: Vec<Finding>| summary(&Report { findings });
        assert_eq!(of(vec![note(), ok.clone()]), "No problems, 1 note; 1 ok.");
        assert_eq!(of(vec![note(), fixed, note(), ok]), "No problems, 2 notes, 1 fixed; 1 ok.");
    }
}
