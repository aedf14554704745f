//! A turn in which an agent was to read its messages, and which failed: every window says so.

use serde_json::{Value, json};

use super::team_of_five::SMALL;
use crate::support::{DEADLINE, PAUSE, Stage, Terminal, until};

/// Ann does her task, and cannot read what comes afterwards.
const SCRIPT: &str = r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [{ say = "ready" }]
[[agents.ann.turns]]
steps = [{ say = "stream error" }, { fail = "no model answers" }]
"#;

#[tokio::test]
async fn a_wake_that_failed_is_a_problem_in_every_window_until_its_messages_are_read() {
    let stage = Stage::new(SCRIPT);
    let project = stage.project().to_str().unwrap().to_owned();
    let shown = async |arguments: &[&str]| {
        let (_, said) = stage.ended(&[arguments, &["--project", &project]].concat(), None).await;
        said
    };
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "get ready").await;
    lead.until_idle("ann").await;
    lead.send("ann", "are you there?").await;
    until("the wake failed", || !stage.events_of("message_returned").is_empty()).await;
    let told = async {
        loop {
            let log = shown(&["log"]).await;
            if log.contains("ann could not read its messages: \"") {
                return log;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let log = tokio::time::timeout(DEADLINE, told).await.expect("the log tells of it");
    assert!(log.contains("no model answers"), "{log}");
    assert!(!log.contains("has read its messages"), "{log}");
    let status = shown(&["status"]).await;
    assert!(status.contains("1 problem"), "{status}");
    assert!(status.contains("✗ ann  its turn failed: \""), "{status}");
    assert_eq!(status.matches("no model answers").count(), 1, "{status}");
    assert!(status.contains("`cli-team-bridge send ann TEXT` or a task wakes it"), "{status}");
    let board: Value = serde_json::from_str(&shown(&["status", "--json"]).await).unwrap();
    let problem = &board["problems"][0];
    assert_eq!((&problem["kind"], &problem["member"]), (&json!("wake_failed"), &json!("ann")));
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("Problems (1)").await;
    terminal.until_shows("its turn failed: ").await;
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));

    // A task brings the message, too.
    lead.assign_and_wait("ann", "go on").await;
    until("it is read", || !stage.events_of("message_seen").is_empty()).await;
    let board: Value = serde_json::from_str(&shown(&["status", "--json"]).await).unwrap();
    assert_eq!(board["problems"], json!([]));
    lead.close().await;
}
