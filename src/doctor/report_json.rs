//! A report as JSON, for programs: `docs/doctor.md` describes every field.

use serde_json::{Map, Value, json};

use super::finding::{Finding, Level, Report};

/// The version of this format. A new field does not raise it.
const FORMAT: u32 = 1;

/// Returns a report as one JSON object.
pub fn of(report: &Report) -> Value {
    let result = match report.level() {
        Level::Problem => "problems",
        Level::Unknown => "unknown",
        Level::Ok | Level::Note => "ok",
    };
    let findings: Vec<_> = report.findings.iter().map(of_finding).collect();
    json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "result": result,
        "problems": report.count(Level::Problem),
        "unknown": report.count(Level::Unknown),
        "findings": findings,
    })
}

fn of_finding(finding: &Finding) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("subject", finding.subject.kind().into());
    if let Some(name) = finding.subject.name() {
        put("name", name.into());
    }
    put("check", finding.check.into());
    put("level", finding.level.as_str().into());
    put("says", finding.says.clone().into());
    if let Some(remedy) = &finding.remedy {
        put("remedy", remedy.clone().into());
    }
    if finding.fix.is_some() {
        put("fix", if finding.is_fixed { "done" } else { "offered" }.into());
    }
    if !finding.facts.is_empty() {
        let facts = finding.facts.iter();
        let facts: Map<_, _> =
            facts.map(|(name, fact)| ((*name).to_owned(), fact.clone())).collect();
        put("facts", facts.into());
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Subject;

    #[test]
    fn a_report_has_all_its_findings_in_json() {
        let problem = Finding::problem(&Subject::Agent("codex".into()), "start", "no", "yes")
            .with_fact("seconds", 1.5);
        let report = Report::of(vec![problem, Finding::ok(&Subject::Bus, "log", "whole")]);
        let expected = json!({
            "format": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "result": "problems",
            "problems": 1,
            "unknown": 0,
            "findings": [
                { "subject": "bus", "check": "log", "level": "ok", "says": "whole" },
                { "subject": "agent", "name": "codex", "check": "start", "level": "problem", "says": "no",
                  "remedy": "yes", "facts": { "seconds": 1.5 } },
            ],
        });
        assert_eq!(of(&report), expected);
    }
}
