//! Traces as pages that are kept beside the tests: `BRIDGE_KEEP_PAGES=1 cargo test --test it stories` keeps them anew. Their times, ids
//! and hashes are replaced, as they differ each time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{DEADLINE, Member, Stage};

/// Starts a peer with these flags.
pub(super) async fn peer(stage: &Stage, flags: &[&str]) -> Member {
    let flags: Vec<_> = ["peer"].iter().chain(flags).copied().collect();
    let (child, pipes) = stage.start(&flags).await;
    Member::connect(child, pipes).await
}

/// Lets all members of a team read all that they have, and prove it with further calls: the first one may come before its server knows that the answer
/// to the one before was written.
pub(super) async fn read_all(stage: &Stage, members: &[&Member]) {
    for member in members {
        member.all_heard().await;
    }
    let deadline = Instant::now() + DEADLINE;
    while !in_flight(stage).is_empty() {
        assert!(Instant::now() < deadline, "unproven: {:?}", in_flight(stage));
        for member in members {
            member.call("list_agents", json!({})).await;
        }
    }
}

/// Returns the calls that carry messages which are neither proven nor acknowledged, of sessions that are still here.
fn in_flight(stage: &Stage) -> BTreeMap<String, Vec<Value>> {
    let mut calls: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut of_session: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in stage.events() {
        let ids = |kind: &str| event[kind]["ids"].as_array().cloned().unwrap_or_default();
        let call = |kind: &str| event[kind]["call"].as_str().map(str::to_owned);
        if let Some(left) = event["member_left"]["session"].as_str() {
            for call in of_session.remove(left).unwrap_or_default() {
                calls.remove(&call);
            }
        }
        if let Some(call) = call("message_handed") {
            let session = event["message_handed"]["session"].as_str().unwrap().to_owned();
            of_session.entry(session).or_default().push(call.clone());
            calls.entry(call).or_default().extend(ids("message_handed"));
        }
        for end in ["message_seen", "message_returned"] {
            call(end).map(|call| calls.remove(&call));
        }
        let acknowledged = ids("message_acknowledged");
        for ids in calls.values_mut() {
            ids.retain(|id| !acknowledged.contains(id));
        }
        calls.retain(|_, ids| !ids.is_empty());
    }
    calls
}

/// Returns a text of an answer.
pub(super) fn text_of(answer: &Value, key: &str) -> String {
    answer[key].as_str().unwrap_or_else(|| panic!("no `{key}` in {answer}")).to_owned()
}

/// Runs `trace` with these arguments, and returns what it printed.
pub(super) async fn traced(stage: &Stage, arguments: &[&str]) -> String {
    let project = stage.project().to_str().unwrap();
    let all = [&["trace"], arguments, &["--project", project]].concat();
    let (exit, said) = stage.ended(&all, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    said
}

/// Checks that traces are those of a kept page.
pub(super) fn assert_kept(page: &str, traces: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/stories/pages").join(page);
    let shown = stable(&traces.join("\n"));
    if std::env::var_os("BRIDGE_KEEP_PAGES").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == shown, "{} has:\n{kept}\nbut this is shown:\n{shown}", path.display());
}

/// Replaces all that differs each time.
fn stable(text: &str) -> String {
    let mut stable = String::new();
    let mut ids: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some((id, after)) = id_at(rest) {
            let known = ids.iter().position(|other| *other == id);
            let number = known.unwrap_or_else(|| {
                ids.push(id);
                ids.len() - 1
            });
            stable.push_str(&id[..4]);
            stable.push_str(&(number + 1).to_string());
            rest = after;
        } else if let Some(after) = fits(rest, "0000-00-00T00:00:00.000Z") {
            stable.push_str("TIME");
            rest = after;
        } else if let Some(after) = fits(rest, "0000-00-00T00:00:00Z") {
            stable.push_str("TIME");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("after ").and_then(seconds) {
            stable.push_str("after … s");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("sha256 ").and_then(|rest| rest.get(64..)) {
            stable.push_str("sha256 …");
            rest = after;
        } else {
            stable.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    stable
}

/// Returns the id of a message or request at the beginning of a text, and what follows.
fn id_at(text: &str) -> Option<(&str, &str)> {
    let is_id = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let (id, after) = (text.get(..16)?, text.get(16..)?);
    let digits = id.strip_prefix("msg-").or_else(|| id.strip_prefix("req-"))?;
    digits.chars().all(is_id).then_some((id, after))
}

/// Returns what follows a text of this form, in which `0` stands for any digit.
fn fits<'a>(text: &'a str, form: &str) -> Option<&'a str> {
    let begin = text.get(..form.len())?;
    let is_same =
        |(letter, form): (char, char)| letter == form || (form == '0' && letter.is_ascii_digit());
    begin.chars().zip(form.chars()).all(is_same).then(|| &text[form.len()..])
}

/// Returns what follows a number of seconds.
fn seconds(text: &str) -> Option<&str> {
    let after = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    after.strip_prefix(" s").filter(|_| after.len() < text.len())
}
