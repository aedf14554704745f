//! Messages whose texts cannot be read when they are due: they stay unread, and come by the next method, with the same id.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::steer::{done, json_of};
use crate::support::{Member, Stage, until};
use crate::web::api_client::ApiClient;
use crate::web::http_client::WebServer;

/// The words that mark the long text.
const LONG: &str = "the long one";

/// Sends a message so long that its text is a file of its own, and replaces that file: reading it fails until it is put
/// back.
async fn send_unreadable(stage: &Stage, from: &Member, to: &str) -> Hidden {
    let text = format!("{LONG} {}", "x".repeat(70_000));
    let sent = from.send(to, &text).await;
    let blobs = stage.bus().join("blobs");
    let mut files = std::fs::read_dir(&blobs).unwrap();
    let path = files.next().unwrap().unwrap().path();
    let aside = stage.home().join("text");
    std::fs::hard_link(&path, &aside).unwrap();
    // A link to itself cannot be read. It replaces the file in one step: a missing file would be a text that is gone for ever.
    let endless = stage.home().join("endless");
    symlink(&path, &endless).unwrap();
    std::fs::rename(&endless, &path).unwrap();
    let id = sent["message_id"].clone();
    Hidden { path, aside, id }
}

struct Hidden {
    path: PathBuf,
    aside: PathBuf,
    id: Value,
}

impl Hidden {
    fn put_back(&self) {
        std::fs::rename(&self.aside, &self.path).unwrap();
    }

    /// Returns the methods by which it was delivered.
    fn methods(&self, stage: &Stage) -> Vec<Value> {
        let handed = stage.events_of("message_handed").into_iter();
        let ours = handed.filter(|handed| handed["ids"].as_array().unwrap().contains(&self.id));
        ours.map(|handed| handed["way"].clone()).collect()
    }
}

/// Agents that send the orchestrator the prompt that woke them, and say the prompt of a task.
const REPORTING: &str = r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [{ say = "{{prompt}}" }]
[[agents.ann.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{prompt}}" } }]
"#;

#[tokio::test]
async fn a_prompt_has_the_readable_messages_and_the_rest_comes_later() {
    let stage = Stage::new(&format!(
        "{REPORTING}
[[agents.bob.turns]]
steps = [{{ say = \"{{{{prompt}}}}\" }}]
"
    ));
    let lead = stage.orchestrator().await;
    lead.start_and_wait("bob", "hello").await;
    lead.until_idle("bob").await;
    lead.call("shutdown_agent", json!({ "agent": "bob" })).await;
    lead.until_agent("bob", |agent| agent["status"] == "dead").await;
    // Mail for a chosen name waits for the next task.
    let hidden = send_unreadable(&stage, &lead, "bob").await;
    lead.send("bob", "the short one").await;
    let said = lead.start_and_wait("bob", "again").await;
    assert!(said.contains("the short one"), "{said}");
    assert!(!said.contains(LONG), "{said}");
    assert!(said.contains("1 more"), "{said}");
    assert_eq!(hidden.methods(&stage), [""; 0]);
    hidden.put_back();
    until("it is handed over", || hidden.methods(&stage) == ["prompt"]).await;
    lead.until_idle("bob").await;
    lead.close().await;
}

#[tokio::test]
async fn an_agent_is_woken_as_soon_as_its_mail_can_be_read() {
    let stage = Stage::new(REPORTING);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    lead.until_idle("ann").await;
    let peer = stage.peer("gate").await;
    lead.signal(nix::sys::signal::Signal::SIGSTOP);
    let hidden = send_unreadable(&stage, &peer, "ann").await;
    lead.signal(nix::sys::signal::Signal::SIGCONT);
    until("reading it has failed", || lead.stderr().contains("which stays unread")).await;
    assert_eq!(hidden.methods(&stage), [""; 0]);
    hidden.put_back();
    let message = lead.hear_from("ann").await;
    assert!(message.contains(LONG), "{message}");
    assert_eq!(hidden.methods(&stage), ["prompt"]);
    lead.until_idle("ann").await;
    for member in [peer, lead] {
        member.close().await;
    }
}

/// A call of a tool that runs until the gate opens.
const WAIT: &str =
    r#"{ call = "wait_for_message", with = { from = "gate", timeout_seconds = 60 } },"#;

/// Checks the delivery of an unreadable message to a working agent, whose turn takes messages by one method.
async fn check_in_turn(start: &str, between: &str, method: &str) {
    let stage = Stage::new(&format!(
        r#"
[agents.ann.start]
{start}
[[agents.ann.turns]]
when = "Your task: "
steps = [
  {WAIT}
  {{ heed_ms = 60000, save = "one" }},
  {{ say = "one: {{{{one.text}}}}" }},
  {between}
  {{ heed_ms = 60000, save = "two" }},
  {{ say = "two: {{{{two.text}}}}" }},
]
"#
    ));
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let bob = stage.peer("bob").await;
    lead.signal(nix::sys::signal::Signal::SIGSTOP);
    let hidden = send_unreadable(&stage, &bob, "ann").await;
    bob.send("ann", "the short one").await;
    lead.signal(nix::sys::signal::Signal::SIGCONT);
    gate.send("ann", "go on").await;
    lead.until("get_task_result", json!({ "task_id": task }), |result| {
        result["output"].as_str().unwrap().contains("one: ")
    })
    .await;
    assert_eq!(hidden.methods(&stage), [""; 0]);
    hidden.put_back();
    if between == WAIT {
        gate.send("ann", "and on").await;
    }
    let said = lead.done(&task).await;
    let (one, two) = said.split_once("two: ").unwrap();
    assert!(one.contains("the short one") && !one.contains(LONG), "{one}");
    assert!(two.contains(LONG), "{two}");
    assert_eq!(hidden.methods(&stage), [method]);
    lead.until_idle("ann").await;
    for member in [gate, bob, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn an_unreadable_message_is_not_steered() {
    check_in_turn("steering = \"inject\"", "", "steer").await;
}

#[tokio::test]
async fn an_unreadable_message_is_not_drained() {
    check_in_turn("drain = true", WAIT, "drain").await;
}

#[tokio::test]
async fn words_that_another_program_has_put_into_a_long_text_are_shown_nowhere() {
    let stage = Stage::new("");
    let [ann, bob] = [stage.peer("ann").await, stage.peer("bob").await];
    let sent = ann.send("bob", &format!("honest {}", "x".repeat(70_000))).await;
    let id = sent["message_id"].as_str().unwrap();
    assert_eq!(json_of(&stage, &["search", "honest"]).await["hits"][0]["id"], *id);
    let mut blobs = std::fs::read_dir(stage.bus().join("blobs")).unwrap();
    let file = blobs.next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("honest", "forged")).unwrap();

    let read = bob.call("check_messages", json!({})).await;
    let why = read["messages"][0]["lost"].clone();
    assert!(why.as_str().unwrap().contains("another SHA-256"), "{read}");
    let web = WebServer::start(&stage, &[]).await;
    let reads = ApiClient::new(&stage, &web, "reads", &["--read"]).await;
    let listed = json_of(&stage, &["messages"]).await;
    let traced = json_of(&stage, &["trace", id]).await;
    let api = reads.get("/messages", 200).await;
    for letter in [&listed[0], &traced["nodes"][0], &api["messages"][0]] {
        assert_eq!((&letter["text"], &letter["lost"]), (&Value::Null, &why), "{letter}");
    }
    let lines = [
        done(&stage, &["messages"]).await,
        done(&stage, &["log"]).await,
        done(&stage, &["trace", id]).await,
    ];
    for shown in lines {
        assert!(shown.contains(&format!("(its text cannot be shown: {}", why.as_str().unwrap())));
        assert!(!shown.contains("forged"), "{shown}");
    }
    let exported = done(&stage, &["bus", "export"]).await;
    assert!(exported.contains("has another SHA-256") && !exported.contains("forged"));
    for word in ["honest", "forged"] {
        assert_eq!(json_of(&stage, &["search", word]).await["hits"], json!([]), "{word}");
    }
    let thread = reads.get(&format!("/threads/{id}"), 200).await.to_string();
    assert!(thread.contains("another SHA-256") && !thread.contains("forged"), "{thread}");
    web.end().await;
    for member in [ann, bob] {
        member.close().await;
    }
}
