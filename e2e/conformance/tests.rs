//! Tests of the comparison with the document, which need no program.

use std::collections::BTreeSet;

use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::mcp_suite::DOCUMENT;
use super::suite_results::{Checks, Results, Revision};
use super::verdict_table::Table;
use crate::programs::version;

/// Returns all tests of this file.
pub(crate) fn trials() -> Vec<Trial> {
    let named: [(&str, fn()); 3] = [
        ("a_run_that_is_as_documented_differs_in_nothing", agrees),
        ("each_difference_from_the_document_is_found", differs),
        ("the_document_can_be_read", reads_the_document),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(format!("conformance::{name}"), move || {
            test();
            Ok(())
        })
    };
    named.into_iter().map(trial).collect()
}

const TABLES: &str = "
| scenario | 2025-11-25 | 2026-07-28 | reason |
|---|---|---|---|
| `good` | passes | passes | |
| `bad`, `worse` | does not apply | – | they call a tool of the suite |
| `mixed` | – | in part | below |

| scenario | check | reason |
|---|---|---|
| `mixed` | `other` | it is about HTTP |
";

/// Returns the scenarios of a run that agrees with the tables.
fn as_documented() -> Vec<(&'static str, Revision, Value)> {
    let passed = json!([
        { "id": "one", "status": "SUCCESS" }, { "id": "wire-schema-valid", "status": "SUCCESS" },
        { "id": "hint", "status": "INFO" }
    ]);
    let failed = json!([
        { "id": "one", "status": "FAILURE", "errorMessage": "no tool" },
        { "id": "wire-schema-valid", "status": "SUCCESS" }
    ]);
    let mixed = json!([
        { "id": "one", "status": "SUCCESS" }, { "id": "other", "status": "SUCCESS" },
        { "id": "other", "status": "WARNING", "errorMessage": "no header" }
    ]);
    vec![
        ("good", Revision::WithSessions, passed.clone()),
        ("good", Revision::Stateless, passed),
        ("bad", Revision::WithSessions, failed.clone()),
        ("worse", Revision::WithSessions, failed),
        ("mixed", Revision::Stateless, mixed),
    ]
}

fn differences(run: Vec<(&'static str, Revision, Value)>) -> Vec<String> {
    let scenarios: BTreeSet<_> = run.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let results: Results = run
        .into_iter()
        .map(|(name, revision, json)| ((name.to_owned(), revision), Checks::read(&json)))
        .collect();
    Table::read(TABLES).differences(&scenarios, &results)
}

fn agrees() {
    assert_eq!(differences(as_documented()), Vec::<String>::new());
}

fn differs() {
    let check = |id: &str, status: &str| json!({ "id": id, "status": status });
    let with = |name: &'static str, revision: Revision, checks: Value| {
        let mut run = as_documented();
        run.retain(|(known, of, _)| (*known, *of) != (name, revision));
        run.push((name, revision, checks));
        run
    };
    let without = |name: &'static str, revision: Option<Revision>| {
        let mut run = as_documented();
        run.retain(|(known, of, _)| *known != name || revision.is_some_and(|one| one != *of));
        run
    };
    let (old, new) = (Revision::WithSessions, Revision::Stateless);
    let cases = [
        (with("good", old, json!([check("one", "FAILURE")])), "said Some(Passes), seen Fails"),
        (with("bad", old, json!([check("one", "SUCCESS")])), "said Some(Fails), seen Passes"),
        (
            with(
                "good",
                new,
                json!([check("one", "SUCCESS"), check("wire-schema-valid", "FAILURE")]),
            ),
            "a message violates the schema",
        ),
        (
            with(
                "bad",
                old,
                json!([check("one", "FAILURE"), check("wire-schema-valid", "FAILURE")]),
            ),
            "a message violates the schema",
        ),
        (
            with(
                "mixed",
                new,
                json!([
                    check("one", "FAILURE"),
                    check("other", "FAILURE"),
                    check("two", "SUCCESS")
                ]),
            ),
            "`one` failed",
        ),
        (
            with("mixed", new, json!([check("one", "FAILURE"), check("other", "SUCCESS")])),
            "`other` passes, and its row says that it does not apply",
        ),
        (with("new", old, json!([check("one", "SUCCESS")])), "`new` is in no row"),
        (with("mixed", old, json!([check("one", "SUCCESS")])), "said None, seen Passes"),
        (without("mixed", None), "`mixed` has a row, and was not run"),
        (without("good", Some(new)), "`good` (2026-07-28) has a verdict, and was not run"),
    ];
    for (run, expected) in cases {
        let found = differences(run);
        assert!(found.iter().any(|one| one.contains(expected)), "{expected}: {found:#?}");
    }
    let gone: BTreeSet<_> = ["good", "gone"].map(str::to_owned).into();
    let found = Table::read(TABLES).differences(&gone, &Results::new());
    assert!(found.contains(&"`gone` is in no row".to_owned()), "{found:#?}");
}

fn reads_the_document() {
    let found = Table::read(DOCUMENT).differences(&BTreeSet::new(), &Results::new());
    assert!(found.len() > 50, "each scenario of the document is known: {found:#?}");
    for judge in ["conformance", "acp-schema", "acpx"] {
        let version = version(judge);
        assert!(DOCUMENT.contains(&format!("| {version} |")), "{judge} has the version {version}");
    }
}
