//! A report as lines for people: one block per subject, each finding on a line with its remedy below, and a summary at the end.

use console::Style;

use crate::cli::output::wrapped;
use crate::doctor::{Finding, Level, Report, Subject};
use crate::domain::text::counted::counted;

/// The fewest columns beside the names of the checks in which a text is still read well.
const LEAST_COLUMNS: usize = 24;

/// The indent of what goes on below the name of a check where there are fewer.
const NARROW_INDENT: usize = 6;

/// Returns the lines of a report, broken between words where they would be longer than this many columns.
pub(super) fn of(report: &Report, colours: bool, columns: Option<usize>) -> Vec<String> {
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
        lines.extend(of_finding(finding, width, colours, columns));
    }
    lines.push(String::new());
    let summary = summary(report);
    match columns {
        Some(columns) => lines.extend(wrapped(&summary, columns)),
        None => lines.push(summary),
    }
    lines
}

fn of_finding(
    finding: &Finding,
    width: usize,
    colours: bool,
    columns: Option<usize>,
) -> Vec<String> {
    let level = if finding.is_fixed { Level::Ok } else { finding.level };
    let mark = tint(mark(level), level, colours);
    // The mark, the name of the check, and the spaces around them.
    let before = "  ✓ ".chars().count() + width + "  ".len();
    let (hang, room) = match columns {
        Some(columns) if columns < before + LEAST_COLUMNS => (NARROW_INDENT, Some(columns)),
        columns => (before, columns),
    };
    let rows = |text: &str, before: usize| match room {
        Some(columns) => wrapped(text, columns.saturating_sub(before)),
        None => vec![text.to_owned()],
    };
    let indent = |before: usize| " ".repeat(before);
    let mut lines = Vec::new();
    let first = format!("  {mark} {:<width$}", finding.check);
    let mut says = rows(&finding.says, hang).into_iter();
    if hang == before {
        lines.extend(says.next().map(|row| format!("{first}  {row}")));
    } else {
        lines.push(first.trim_end().to_owned());
    }
    lines.extend(says.map(|row| format!("{}{}", indent(hang), row.trim_start())));
    if let Some(remedy) = finding.remedy.as_ref().filter(|_| !finding.is_fixed) {
        let mut rows = rows(remedy, hang + "→ ".chars().count()).into_iter();
        lines.extend(rows.next().map(|row| format!("{}→ {row}", indent(hang))));
        lines.extend(rows.map(|row| format!("{}{}", indent(hang + 2), row.trim_start())));
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
        let mut finding = Finding::ok(&Subject::Bus, check, "is so");
        finding.subject = subject;
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
        assert_eq!(of(&report, false, None), expected);
        assert!(
            of(&report, true, None)[6].contains("\u{1b}[31m✗"),
            "{:?}",
            of(&report, true, None)
        );
    }

    #[test]
    fn lines_are_broken_between_words_and_go_on_below_their_beginning() {
        let mut long = finding(Subject::Bus, "rights", Level::Problem, None);
        long.says = "other users may read or change it".to_owned();
        long.remedy = Some("run `chmod -R go= /a/long/path`, and then again".to_owned());
        let report = Report { findings: vec![long] };
        let wide = [
            "bus",
            "  ✗ rights  other users may read or",
            "            change it",
            "            → run `chmod -R go=",
            "              /a/long/path`, and then",
            "              again",
            "",
            "1 problem; 0 ok.",
        ];
        assert_eq!(of(&report, false, Some(38)), wide);
        let narrow = [
            "bus",
            "  ✗ rights",
            "      other users may read",
            "      or change it",
            "      → run `chmod -R go=",
            "        /a/long/path`, and",
            "        then again",
            "",
            "1 problem; 0 ok.",
        ];
        assert_eq!(of(&report, false, Some(28)), narrow);
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
