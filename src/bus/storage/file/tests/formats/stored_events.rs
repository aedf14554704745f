//! Lines of each kind of event, as they were first written: `fixtures/events.jsonl`. They are read for ever.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bus::event::Event;

/// Events with and without the fields that may be missing, one a line, in the order of [`Event`]. A line is added and never changed.
const LINES: &str = include_str!("../fixtures/events.jsonl");

/// The kinds that versions without them may pass over.
const SKIPPED_BY_OLDER: [&str; 13] = [
    "agent_stuck",
    "agent_free",
    "turn_used",
    "answer_written",
    "claim_unheard",
    "claim_known",
    "key_made",
    "key_revoked",
    "webhook_sent",
    "projects_listed",
    "host_offered",
    "task_placed",
    "placement_ended",
];

/// Returns the kind and the fields of an event.
fn parts(line: &str) -> (String, Value) {
    let Ok(Value::Object(event)) = serde_json::from_str(line) else { panic!("{line}") };
    event.into_iter().next().unwrap_or_else(|| panic!("{line}"))
}

/// Returns the kinds of events that this version knows, as they are stored.
fn kinds() -> BTreeSet<String> {
    let unknown = serde_json::from_str::<Event>(r#"{"":{}}"#).unwrap_err().to_string();
    let (_, known) = unknown.split_once("expected one of ").unwrap_or_else(|| panic!("{unknown}"));
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn events_read_as_they_were_first_written() {
    for line in LINES.lines() {
        let read: Event =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }
}

/// If this fails for a new event, add lines of it to the fixture, with and without the fields that may be missing.
#[test]
fn every_kind_of_event_has_a_line() {
    let kinds = kinds();
    assert!(kinds.len() > 80 && kinds.contains("member_ways"), "{kinds:?}");
    let stored: BTreeSet<_> = LINES.lines().map(|line| parts(line).0).collect();
    let without: Vec<_> = kinds.difference(&stored).collect();
    assert!(without.is_empty(), "no line in the fixture: {without:?}");
}

#[test]
fn what_older_versions_may_skip_is_marked_in_every_line_and_nothing_else_is() {
    for line in LINES.lines() {
        let (kind, fields) = parts(line);
        let is_marked = fields.get("skip") == Some(&Value::Bool(true));
        assert_eq!(is_marked, SKIPPED_BY_OLDER.contains(&&*kind), "{line}");
    }
}

#[test]
fn a_power_cut_loses_no_acknowledgement_and_nothing_between_projects() {
    let kinds = ["message_acknowledged", "message_relayed", "message_held", "receipts_told"];
    for kind in kinds.into_iter().chain(["message_sent", "projects_listed"]) {
        let of_kind = LINES.lines().filter(|line| parts(line).0 == kind);
        let read: Vec<Event> = of_kind.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!read.is_empty() && !read.iter().any(Event::is_progress), "{kind}");
    }
}
