//! Pushes into sessions, and what a session says of its program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cli_team_bridge::bus::Bus;
use cli_team_bridge::bus::storage::file::{FileLog, Options};
use cli_team_bridge::sys::clock;
use cli_team_bridge::sys::fs::disk::RealDisk;
use serde_json::{Value, json};

use crate::support::{DEADLINE, Raw, Stage, of_name, until};

/// How soon a message reaches an idle session.
const SOON: Duration = Duration::from_secs(5);

/// Opens a session that shows pushes; its client says nothing by itself.
async fn pushing(stage: &Stage, flags: &str) -> Raw {
    let flags: Vec<_> = flags.split_whitespace().collect();
    Raw::open(stage.start(&flags).await).await
}

fn content(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]
}

/// Lets a minute pass for the bus: another process looks at it with a clock that is ahead.
async fn a_minute_passes(stage: &Stage) {
    let ahead = || {
        let mut now = clock::now();
        now.tick.ms += 60_000;
        now
    };
    let options = Options { clock: Arc::new(ahead), ..Options::default() };
    let log = FileLog::open(&stage.bus(), Arc::new(RealDisk), options).unwrap();
    let bus = Bus::open(Box::new(log)).unwrap();
    until("the push is lost", || !stage.events_of("message_returned").is_empty()).await;
    bus.close().await;
}

#[tokio::test]
async fn a_message_is_pushed_into_an_idle_session_within_seconds() {
    let stage = Stage::new("");
    let mut lead = pushing(&stage, "orchestrator --channel --surface claude-code").await;
    let mut ann = pushing(&stage, "peer --name ann --channel").await;
    lead.call("list_agents", json!({})).await;
    ann.call("list_agents", json!({})).await;

    let began = Instant::now();
    let hello = json!({ "to": "ann", "content": "a question", "signal": "question" });
    let sent = lead.call("send_message", hello).await;
    let push = ann.pushed().await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let id = content(&sent)["message_id"].as_str().unwrap();
    let text = push["content"].as_str().unwrap();
    assert!(text.contains(&format!("{id} [orchestrator → you] question: a question")), "{text}");
    assert_eq!(
        (&push["meta"]["message_id"], &push["meta"]["signal"]),
        (&json!(id), &json!("question"))
    );

    // Its answer proves the push, and is pushed in its turn.
    let answer = json!({ "to": "orchestrator", "content": "an answer", "reply_to": id });
    ann.call("send_message", answer).await;
    let push = lead.pushed().await;
    assert!(push["content"].as_str().unwrap().contains("[ann → you] an answer"), "{push}");
    let own = lead.call("check_messages", json!({ "id": id })).await;
    let receipt = &content(&own)["receipts"][0];
    assert_eq!((&receipt["state"], &receipt["way"]), (&json!("seen"), &json!("channel")));
    let listed = lead.call("list_agents", json!({})).await;
    let own = of_name(content(&listed), "orchestrator").unwrap().clone();
    assert_eq!(own["surface"], "claude-code");
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_session_whose_client_swallows_a_push_gets_the_message_again() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let mut ann = pushing(&stage, "peer --name ann --channel").await;
    ann.call("list_agents", json!({})).await;
    lead.send("ann", "do not lose me").await;
    ann.pushed().await;
    let read = ann.call("check_messages", json!({})).await;
    assert_eq!(content(&read)["messages"], json!([]), "a call proves nothing, and shows nothing");

    a_minute_passes(&stage).await;
    let again = async {
        loop {
            let read = ann.call("check_messages", json!({})).await;
            if let Some(first) = content(&read)["messages"].as_array().and_then(|all| all.first()) {
                return first.clone();
            }
        }
    };
    let again = tokio::time::timeout(DEADLINE, again).await.unwrap();
    assert_eq!((&again["content"], &again["again"]), (&json!("do not lose me"), &json!(true)));
    ann.call("list_agents", json!({})).await;
    let handed = stage.events_of("message_handed");
    let to_ann = handed.iter().filter(|handed| handed["member"] == "ann");
    let ways: Vec<_> = to_ann.map(|handed| handed["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["channel", "pull"], "it is pushed once");
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_push_dies_with_its_session_and_comes_with_the_next() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let mut ann = pushing(&stage, "peer --name ann --channel").await;
    ann.call("list_agents", json!({})).await;
    lead.send("ann", "for whoever is ann").await;
    ann.pushed().await;
    ann.close().await;
    let ann = stage.peer("ann").await;
    assert_eq!(ann.hear_from("orchestrator").await, "for whoever is ann");
    ann.close().await;
    lead.close().await;
}

#[tokio::test]
async fn an_unknown_surface_is_told_with_the_known_ones() {
    let stage = Stage::new("");
    let project = stage.project().to_str().unwrap();
    let started = ["peer", "--name", "ann", "--surface", "cursr", "--project", project];
    let (exit, said) = stage.ended(&started, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    let told = "the surface `cursr` is not known, so messages come with the results of tools and when the model \
        asks; the known ones are cursor, claude-code,";
    assert!(said.contains(told), "{said}");

    let stage = Stage::new("").with_variable("BRIDGE_SURFACE", "gemini_cli");
    let ann = stage.peer("ann").await;
    let listed = ann.call("list_agents", json!({})).await;
    assert_eq!(of_name(&listed, "ann").unwrap()["surface"], "gemini_cli");
    assert_eq!(ann.stderr(), "", "it is known");
    ann.close().await;

    let stage = Stage::new("").with_variable("BRIDGE_SURFACE", "two words");
    let project = stage.project().to_str().unwrap();
    let (_, said) = stage.ended(&["orchestrator", "--project", project], None).await;
    assert!(said.contains("ignored BRIDGE_SURFACE: \"two words\" is not a word"), "{said}");
}

#[tokio::test]
async fn a_program_that_shows_no_pushes_is_told_at_the_start() {
    let stage = Stage::new("");
    let project = stage.project().to_str().unwrap();
    let started =
        ["peer", "--name", "ann", "--channel", "--surface", "cursor", "--project", project];
    let (exit, said) = stage.ended(&started, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(said.contains("the surface `cursor` shows no pushes"), "{said}");
    // Where no command can begin turns, the model is asked to run none.
    for (surface, asks) in [("codex", false), ("claude-code", true), ("other", true)] {
        let lead = pushing(&stage, &format!("orchestrator --surface {surface}")).await;
        assert_eq!(lead.instructions().contains("cli-team-bridge watch"), asks, "{surface}");
        lead.close().await;
    }
}
