//! The person at the command line: `send`, `allow`, `deny`, `cancel`, `stop`, `kill` and `key` beside a bridge that leads.

mod answers;
mod ends;
mod keys;
mod messages;
mod refusals;
mod user_mailbox;

use serde_json::Value;

use crate::support::Stage;

/// Runs a command in the stage's project to its end; returns its exit code, and what it said.
async fn acted(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    let project = stage.project().to_str().unwrap();
    let (exit, said) = stage.ended(&[arguments, &["--project", project]].concat(), None).await;
    (exit.code, said)
}

/// Runs a command that does its work, and returns what it said.
pub(crate) async fn done(stage: &Stage, arguments: &[&str]) -> String {
    let (code, said) = acted(stage, arguments).await;
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
    said
}

/// Runs a command that fails, and returns what it said.
pub(crate) async fn failed(stage: &Stage, arguments: &[&str]) -> String {
    let (code, said) = acted(stage, arguments).await;
    assert_eq!(code, Some(1), "{arguments:?}: {said}");
    assert!(said.starts_with("error: "), "{said}");
    said
}

pub(crate) async fn json_of(stage: &Stage, arguments: &[&str]) -> Value {
    let said = done(stage, &[arguments, &["--json"]].concat()).await;
    serde_json::from_str(&said).expect(&said)
}
