//! The commands for a bus's whole history: verify, export, prune, and search.

mod bus_care;
mod search;

use serde_json::Value;

use crate::support::Stage;

/// Runs a command in the stage's project to its end; returns its exit code, and what it said.
async fn ended(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    let project = stage.project().to_str().unwrap();
    let (exit, said) = stage.ended(&[arguments, &["--project", project]].concat(), None).await;
    (exit.code, said)
}

async fn done(stage: &Stage, arguments: &[&str]) -> String {
    let (code, said) = ended(stage, arguments).await;
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
    said
}

async fn json_of(stage: &Stage, arguments: &[&str]) -> Value {
    let said = done(stage, &[arguments, &["--json"]].concat()).await;
    serde_json::from_str(&said).expect(&said)
}
