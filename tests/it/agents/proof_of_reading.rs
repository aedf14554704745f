//! Proof that a model was shown a message: a message that an agent accepted during a turn is unread again if the turn ends before
//! the model has said a word after it.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Member, Stage, until};

/// The text of the message.
const CODE: &str = "the code is 4711";

/// An agent that accepts messages during a turn. A tool call of the turn runs until `gate` sends a message; the steps `end` follow.
fn script(start: &str, end: &str) -> String {
    format!(
        r#"
[agents.ann.start]
load = true
{start}
[[agents.ann.turns]]
when = "Your process ended"
steps = [{{ say = "{{{{prompt}}}}" }}]
[[agents.ann.turns]]
when = "Your task: work"
times = 1
steps = [
  {{ say = "begun" }},
  {{ call = "wait_for_message", with = {{ from = "gate", timeout_seconds = 60 }} }},
  {end}
]
[[agents.ann.turns]]
when = "Your task: "
steps = [{{ say = "{{{{prompt}}}}" }}]
[[agents.ann.turns]]
steps = [{{ call = "send_message", with = {{ to = "orchestrator", content = "{{{{prompt}}}}" }} }}]
"#
    )
}

const STEERED: &str = "steering = \"inject\"";

/// Returns the methods by which the message was delivered, each with its outcome.
fn methods(stage: &Stage, id: &Value) -> Vec<(String, String)> {
    let events = stage.events();
    let of = |kind: &str| -> Vec<Value> {
        let found = events.iter().filter_map(|event| event.get(kind));
        found.cloned().collect()
    };
    let (seen, returned) = (of("message_seen"), of("message_returned"));
    let handed = of("message_handed").into_iter();
    let ours = handed.filter(|handed| handed["ids"].as_array().unwrap().contains(id));
    let outcome = |handed: &Value| {
        let is_of = |event: &Value| event["call"] == handed["call"];
        match (seen.iter().any(is_of), returned.iter().any(is_of)) {
            (true, _) => "seen",
            (false, true) => "returned",
            (false, false) => "open",
        }
    };
    ours.map(|handed| {
        let method = handed["way"].as_str().unwrap().to_owned();
        (method, outcome(&handed).to_owned())
    })
    .collect()
}

fn pair(method: &str, outcome: &str) -> (String, String) {
    (method.to_owned(), outcome.to_owned())
}

/// Starts a turn, and waits until a message is in it.
async fn steered(stage: &Stage, lead: &Member) -> (String, Value) {
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let id = lead.send("ann", CODE).await["message_id"].clone();
    // The bus records the delivery before the agent has the message, so wait for the agent too.
    let transcript = stage.project().join(".claude/bridge/tasks").join(format!("{task}.jsonl"));
    let is_taken = || {
        let text = fs::read_to_string(&transcript).unwrap_or_default();
        text.contains("\"kind\":\"taken\"")
    };
    until("it is in the turn", is_taken).await;
    assert_eq!(methods(stage, &id), [pair("steer", "open")], "not seen yet");
    (task, id)
}

#[tokio::test]
async fn a_message_steered_into_a_cancelled_turn_is_delivered_again() {
    let stage = Stage::new(&script(STEERED, ""));
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let (task, id) = steered(&stage, &lead).await;
    lead.call("cancel_task", json!({ "task_id": task })).await;
    let prompt = lead.hear_from("ann").await;
    assert!(prompt.contains(CODE), "{prompt}");
    lead.until_idle("ann").await;
    let expected = [pair("steer", "returned"), pair("prompt", "seen")];
    assert_eq!(methods(&stage, &id), expected);
    for member in [gate, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_message_steered_into_a_crashing_process_is_delivered_to_the_next_one() {
    let stage = Stage::new(&script(STEERED, "{ crash = 1 },"))
        .with_profiles("[agents.scripted]\nrestart = \"on_failure\"");
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let (task, id) = steered(&stage, &lead).await;
    gate.send("ann", "go on").await;
    let said = lead.done(&task).await;
    assert!(said.contains(CODE), "{said}");
    lead.until_idle("ann").await;
    let expected = [pair("steer", "returned"), pair("inject", "seen")];
    assert_eq!(methods(&stage, &id), expected);
    for member in [gate, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_message_steered_before_the_bridge_dies_is_delivered_to_the_resumed_agent() {
    let stage = Stage::new(&script(STEERED, ""));
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let (_, id) = steered(&stage, &lead).await;
    lead.die().await;
    let lead = stage.orchestrator().await;
    lead.until_agent("ann", |agent| agent["status"] == "dead").await;
    let back = json!({ "agent": "ann", "prompt": "go on" });
    let task = lead.call("assign_task", back).await["task_id"].clone();
    let said = lead.done(task.as_str().unwrap()).await;
    assert!(said.contains(CODE), "{said}");
    lead.until_idle("ann").await;
    // The end of its session made the message unread again.
    let expected = [pair("steer", "open"), pair("inject", "seen")];
    assert_eq!(methods(&stage, &id), expected);
    for member in [gate, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_steered_message_is_seen_with_the_first_words_after_the_running_call() {
    let stage = Stage::new(&script(STEERED, "{ say = \" on\" }, { hang = true },"));
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let (task, id) = steered(&stage, &lead).await;
    gate.send("ann", "go on").await;
    until("it is seen", || methods(&stage, &id) == [pair("steer", "seen")]).await;
    lead.call("cancel_task", json!({ "task_id": task })).await;
    lead.ended(&task).await;
    lead.until_idle("ann").await;
    assert_eq!(methods(&stage, &id), [pair("steer", "seen")], "and once");
    for member in [gate, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_drained_message_is_delivered_again_when_its_turn_is_cancelled_before_a_word() {
    let stage = Stage::new(&script("drain = true", "{ hang = true },"));
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let id = lead.send("ann", CODE).await["message_id"].clone();
    gate.send("ann", "go on").await;
    until("it is given", || methods(&stage, &id) == [pair("drain", "open")]).await;
    lead.call("cancel_task", json!({ "task_id": task })).await;
    let prompt = lead.hear_from("ann").await;
    assert!(prompt.contains(CODE), "{prompt}");
    lead.until_idle("ann").await;
    let expected = [pair("drain", "returned"), pair("prompt", "seen")];
    assert_eq!(methods(&stage, &id), expected);
    for member in [gate, lead] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_message_pulled_just_before_a_cancel_is_delivered_again() {
    let script = script("", "{ hang = true },").replace("from = \"gate\", ", "");
    let stage = Stage::new(&script);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let id = lead.send("ann", CODE).await["message_id"].clone();
    assert_eq!(methods(&stage, &id), [pair("pull", "open")]);
    lead.call("cancel_task", json!({ "task_id": task })).await;
    let prompt = lead.hear_from("ann").await;
    assert!(prompt.contains(CODE), "{prompt}");
    lead.until_idle("ann").await;
    let expected = [pair("pull", "returned"), pair("prompt", "seen")];
    assert_eq!(methods(&stage, &id), expected);
    lead.close().await;
}

/// An agent whose call of a bridge tool fails, and that does something else before it ends its turn well.
const ABANDONED: &str = r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { call = "wait_for_message", with = { timeout_seconds = 60 }, expect_error = true },
  { ask_permission = "go on", kind = "execute" },
  { say = "done without a message" },
]
[[agents.ann.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

#[tokio::test]
async fn a_message_given_to_a_wait_of_a_dead_endpoint_is_delivered_again() {
    let profile = "[agents.scripted]\npermissions = \"ask\"";
    let stage = Stage::new(ABANDONED).with_profiles(profile);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let endpoints = stage.running("agent");
    assert_eq!(endpoints.len(), 1);
    let endpoint = Pid::from_raw(i32::try_from(endpoints[0]).unwrap());
    kill(endpoint, Signal::SIGKILL).unwrap();
    let asks = |all: &Value| all["permissions"][0]["permission_id"].is_string();
    let all = lead.until("get_agent_status", json!({}), asks).await;
    let question = all["permissions"][0]["permission_id"].clone();
    let id = lead.send("ann", CODE).await["message_id"].clone();
    let answer = json!({ "permission_id": question, "decision": "allow_once" });
    lead.call("answer_permission", answer).await;
    assert_eq!(lead.done(&task).await, "done without a message");
    until("it is shown", || methods(&stage, &id).last() == Some(&pair("prompt", "seen"))).await;
    lead.close().await;
}

/// Agents whose last call claims a request, and that then end their turn or hang.
///
/// Before the claim each agent is denied a permission. By then its bridge has read that the wait ended, and no call between that
/// and the claim ends well. Models need no such step: they are slower than these agents, whose calls are a millisecond apart.
const CLAIMS: &str = r#"
[[agents.default.turns]]
when = "Your task: end"
steps = [
  { wait_for = { seconds = 60 }, save = "offer" },
  { ask_permission = "a look", kind = "edit", paths = ["x"], on_reject = "go_on" },
  { call = "claim_request", with = { request_id = "{{offer.message.request_id}}" } },
  { say = "it is mine" },
]
[[agents.default.turns]]
when = "Your task: hang"
steps = [
  { wait_for = { seconds = 60 }, save = "offer" },
  { ask_permission = "a look", kind = "edit", paths = ["x"], on_reject = "go_on" },
  { call = "claim_request", with = { request_id = "{{offer.message.request_id}}" } },
  { hang = true },
]
[[agents.default.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

#[tokio::test]
async fn a_claim_stays_if_its_agent_saw_it_and_is_undone_if_the_turn_ended_before() {
    let stage = Stage::new(CLAIMS).with_profiles("[agents.scripted]\npermissions = 'deny'");
    let lead = stage.orchestrator().await;
    let (bob, eve) = (stage.peer("bob").await, stage.peer("eve").await);
    for (name, work, reads_answer) in [("ann", "end", true), ("carl", "hang", false)] {
        let task = lead.start(name, work).await;
        lead.until_waiting(name).await;
        let look = json!({ "description": format!("look, {name}") });
        let request = bob.call("request_task", look).await["request_id"].clone();
        bob.hear(|message| message["claimed_by"] == name).await;
        if reads_answer {
            assert_eq!(lead.done(&task).await, "it is mine");
            lead.until_idle(name).await;
        } else {
            lead.call("cancel_task", json!({ "task_id": task })).await;
            let free = format!(
                "your request {} is open again: carl, which claimed it, may not have received the answer to \
                 its claim",
                request.as_str().unwrap()
            );
            bob.hear_notice(&free).await;
        }
        let claim = json!({ "request_id": request });
        let claimed = eve.call("claim_request", claim).await;
        assert_eq!(claimed["claimed"], !reads_answer, "{claimed}");
    }
    for member in [lead, bob, eve] {
        member.close().await;
    }
}
