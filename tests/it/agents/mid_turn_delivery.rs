//! The delivery policy: which methods deliver messages to a working agent, and what happens if a method fails.

use serde_json::{Value, json};

use crate::support::{Member, Stage};

/// The instruction below messages that arrive during a turn.
const CONTINUE: &str = "These arrived while you work. Answer with send_message if needed, then continue with your task.";

/// The instruction below the mail that wakes an idle agent.
const ANSWER: &str = "Answer with send_message if needed.";

/// An agent that heeds messages during its turn, and that mail wakes when it is idle.
fn heeding(start: &str) -> String {
    format!(
        r#"
[agents.ann.start]
{start}
[[agents.ann.turns]]
when = "Your task: heed"
steps = [
  {{ say = "begun. " }},
  {{ heed_ms = 60000, save = "one" }},
  {{ say = "heard {{{{one.text}}}}" }},
]
[[agents.ann.turns]]
when = "Your task: "
steps = [{{ say = "{{{{prompt}}}}" }}]
[[agents.ann.turns]]
steps = [{{ call = "send_message", with = {{ to = "orchestrator", content = "{{{{prompt}}}}" }} }}]
"#
    )
}

fn framed(from: &str, text: &str) -> String {
    format!("--- Messages from other agents ---\n[{from} → you] {text}\n--- End messages ---\n\n")
}

/// Returns the methods by which a message was delivered, in order.
fn methods(stage: &Stage, sent: &Value) -> Vec<String> {
    let id = &sent["message_id"];
    let handed = stage.events_of("message_handed").into_iter();
    handed
        .filter(|handed| handed["ids"].as_array().unwrap().contains(id))
        .map(|handed| handed["way"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the outcome of each call that delivered messages by `method`: `message_seen` or `message_returned`.
fn outcomes(stage: &Stage, method: &str) -> Vec<String> {
    let events = stage.events();
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| event.get("message_handed"))
        .filter(|handed| handed["way"] == method)
        .map(|handed| handed["call"].clone())
        .collect();
    let settled = |event: &Value| {
        let (kind, body) = event.as_object()?.iter().next()?;
        let settles = matches!(kind.as_str(), "message_seen" | "message_returned");
        (settles && calls.contains(&body["call"])).then(|| kind.clone())
    };
    events.iter().filter_map(settled).collect()
}

async fn delivery(lead: &Member, name: &str) -> Value {
    let agent = lead.until_agent(name, |agent| agent["tools"] == "ready");
    agent.await["delivery"].clone()
}

#[tokio::test]
async fn a_message_steered_into_a_turn_is_seen() {
    let stage = Stage::new(&heeding("steering = \"inject\""));
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "heed").await;
    lead.until_said(&task, "begun").await;
    assert_eq!(
        delivery(&lead, "ann").await,
        json!(["steer", "piggyback", "pull", "prompt", "inject"])
    );
    let sent = lead.send("ann", "the code is 4711").await;
    let heard = format!("begun. heard {}{CONTINUE}", framed("orchestrator", "the code is 4711"));
    assert_eq!(lead.done(&task).await, heard);
    assert_eq!(methods(&stage, &sent), ["steer"]);
    assert_eq!(outcomes(&stage, "steer"), ["message_seen"]);
    // The message is not delivered again.
    lead.until_idle("ann").await;
    assert_eq!(lead.assign_and_wait("ann", "go on").await, "Your task: go on");
    lead.close().await;
}

#[tokio::test]
async fn a_message_that_finds_no_turn_to_steer_wakes_the_agent_later() {
    let stage = Stage::new(&heeding("steering = \"no_turn\"").replace("60000", "1500"));
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "heed").await;
    lead.until_said(&task, "begun").await;
    let sent = lead.send("ann", "the code is 4711").await;
    assert_eq!(lead.done(&task).await, "begun. heard null");
    // The bridge cannot know that no try has shown it.
    let again = framed("orchestrator", "the code is 4711")
        .replace("→ you]", "→ you, again: you may already have acted on it]");
    assert_eq!(lead.hear_from("ann").await, format!("{again}{ANSWER}"));
    lead.until_idle("ann").await;
    // Steering was tried repeatedly, and each failure was recorded before the next try. The message is seen once.
    let methods = methods(&stage, &sent);
    let (last, tried) = methods.split_last().unwrap();
    assert_eq!(last, "prompt");
    assert!(!tried.is_empty() && tried.iter().all(|method| method == "steer"));
    assert!(outcomes(&stage, "steer").iter().all(|outcome| outcome == "message_returned"));
    assert_eq!(outcomes(&stage, "prompt"), ["message_seen"]);
    lead.close().await;
}

/// Checks an agent that falsely claims to accept steering: the message comes with the result of its next tool call.
async fn check_steered_in_vain(how: &str) {
    let stage = Stage::new(&format!(
        r#"
[agents.ann]
start = {{ steering = "{how}" }}
[[agents.ann.turns]]
when = "Your task: "
steps = [
  {{ call = "wait_for_message", with = {{ from = "gate", timeout_seconds = 60 }} }},
  {{ call = "list_agents", save = "all" }},
  {{ say = "heard {{{{all.inbox.0.content}}}}" }},
]
"#
    ));
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let sent = lead.send("ann", "the code is 4711").await;
    // `steer` is no longer one of its methods.
    lead.until_agent("ann", |agent| agent["delivery"][0] == "interrupt").await;
    gate.send("ann", "go on").await;
    assert_eq!(lead.done(&task).await, "heard the code is 4711", "{how}");
    assert_eq!(methods(&stage, &sent), ["steer", "piggyback"]);
    assert_eq!(outcomes(&stage, "steer"), ["message_returned"]);
    lead.until_idle("ann").await;
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn an_empty_success_is_no_success_and_the_next_method_follows() {
    check_steered_in_vain("empty").await;
}

#[tokio::test]
async fn a_refused_steering_is_followed_by_the_next_method() {
    check_steered_in_vain("refuse").await;
}

#[tokio::test]
async fn an_unanswered_steering_is_followed_by_the_next_method() {
    check_steered_in_vain("silent").await;
}

#[tokio::test]
async fn an_agent_whose_profile_forbids_it_is_not_steered() {
    let script = heeding("steering = \"inject\"").replace("60000", "500");
    let stage = Stage::new(&script).with_profiles("[agents.scripted]\nmid_turn = \"never\"");
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "heed").await;
    lead.until_said(&task, "begun").await;
    assert_eq!(delivery(&lead, "ann").await[0], "interrupt");
    let sent = lead.send("ann", "the code is 4711").await;
    assert_eq!(lead.done(&task).await, "begun. heard null");
    lead.hear_from("ann").await;
    assert_eq!(methods(&stage, &sent), ["prompt"]);
    lead.close().await;
}

#[tokio::test]
async fn only_urgent_messages_are_steered_during_a_tool_call() {
    let stage = Stage::new(
        r#"
[agents.ann.start]
steering = "inject"
[[agents.ann.turns]]
steps = [
  { call = "wait_for_message", with = { from = "gate", timeout_seconds = 60 } },
  { heed_ms = 60000, save = "one" },
  { say = "{{one.text}}" },
  { heed_ms = 60000, save = "two" },
  { say = "{{two.text}}" },
]
"#,
    )
    .with_profiles("[agents.scripted]\nmid_turn = \"steer_between_calls\"");
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let normal = lead.send("ann", "when you can").await;
    lead.until_agent("ann", |agent| agent["messages_pending"] == 1).await;
    let urgent = json!({ "to": "ann", "content": "stop that", "priority": "urgent" });
    let urgent = lead.call("send_message", urgent).await;
    // Both go at once: unread messages are delivered together.
    lead.until_agent("ann", |agent| agent["messages_pending"] == 0).await;
    assert_eq!(methods(&stage, &normal), ["steer"]);
    assert_eq!(methods(&stage, &urgent), ["steer"]);
    let again = lead.send("ann", "and this").await;
    lead.until_agent("ann", |agent| agent["messages_pending"] == 1).await;
    assert_eq!(methods(&stage, &again), [""; 0], "the call is still running");
    gate.send("ann", "go on").await;
    let said = lead.done(&task).await;
    let lines = [
        "[orchestrator → you] urgent: stop that",
        "[orchestrator → you] when you can",
        "[orchestrator → you] and this",
    ];
    let positions: Vec<_> = lines.iter().map(|line| said.find(line)).collect();
    assert!(positions.is_sorted() && positions[0].is_some(), "{said}");
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn an_agent_that_asks_for_messages_gets_them_and_they_count_as_seen() {
    let stage = Stage::new(
        r#"
[agents.ann.start]
drain = true
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { call = "wait_for_message", with = { from = "gate", timeout_seconds = 60 } },
  { heed_ms = 5000, save = "one" },
  { say = "heard {{one.text}}" },
  { hang = true },
]
"#,
    );
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    assert_eq!(delivery(&lead, "ann").await[0], "interrupt");
    let sent = lead.send("ann", "the code is 4711").await;
    gate.send("ann", "go on").await;
    // The agent has shown that it asks, and its words prove, long before the turn ends, that it has the answer.
    lead.until_agent("ann", |agent| agent["delivery"][0] == "drain").await;
    lead.until_said(&task, "4711").await;
    let deadline = std::time::Instant::now() + crate::support::DEADLINE;
    while outcomes(&stage, "drain") != ["message_seen"] {
        assert!(std::time::Instant::now() < deadline, "{:?}", stage.events());
        tokio::time::sleep(crate::support::PAUSE).await;
    }
    assert_eq!(methods(&stage, &sent), ["drain"]);
    lead.call("cancel_task", json!({ "task_id": task })).await;
    let result = lead.ended(&task).await;
    let heard = framed("orchestrator", "the code is 4711");
    assert_eq!(result["output"], format!("heard {heard}{CONTINUE}"));
    lead.until_idle("ann").await;
    for member in [lead, gate] {
        member.close().await;
    }
}

/// Agents that accept no messages during a turn, and repeat the prompt that follows an interrupt.
const OUT_OF_REACH: &str = r#"
[[agents.ann.turns]]
when = "Your turn was interrupted"
steps = [{ say = "again: {{prompt}}" }]
[[agents.ann.turns]]
when = "Your task: "
steps = [{ say = "begun. " }, { call = "wait_for_message", with = { from = "gate", timeout_seconds = 60 } }]
[[agents.ann.turns]]
when = "first thing"
times = 1
steps = [{ call = "wait_for_message", with = { from = "gate", timeout_seconds = 60 } }]
[[agents.ann.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{prompt}}" } }]
"#;

#[tokio::test]
async fn an_urgent_message_interrupts_a_turn_that_accepts_none_and_its_task_goes_on() {
    let stage = Stage::new(OUT_OF_REACH);
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "count the files").await;
    lead.until_waiting("ann").await;
    assert_eq!(
        delivery(&lead, "ann").await,
        json!(["interrupt", "piggyback", "pull", "prompt", "inject"])
    );
    let normal = lead.send("ann", "no hurry").await;
    lead.until_agent("ann", |agent| agent["messages_pending"] == 1).await;
    let urgent = json!({ "to": "ann", "content": "not those in docs", "priority": "urgent" });
    let urgent = lead.call("send_message", urgent).await;
    let output = lead.done(&task).await;
    let expected = "begun. \n\nagain: Your turn was interrupted for the messages below. Handle them, \
         then check how far you got with your task, and continue from there.\n\n--- Messages from \
         other agents ---\n[orchestrator → you] urgent: not those in docs\n[orchestrator → you] no \
         hurry\n--- End messages ---\n\nYour task: count the files";
    assert_eq!(output, expected);
    assert_eq!(methods(&stage, &normal), ["interrupt"]);
    assert_eq!(methods(&stage, &urgent), ["interrupt"]);
    // It is one task, started and finished once.
    assert_eq!(stage.events_of("task_started").len(), 1);
    assert_eq!(stage.events_of("task_finished").len(), 1);
    lead.until_idle("ann").await;
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_high_message_interrupts_too_unless_the_profile_leaves_that_to_urgent_ones() {
    for (interrupt, method) in [("high", "interrupt"), ("urgent", "prompt"), ("never", "prompt")] {
        let profile = format!("[agents.scripted]\ninterrupt = \"{interrupt}\"");
        let stage = Stage::new(OUT_OF_REACH).with_profiles(&profile);
        let lead = stage.orchestrator().await;
        let gate = stage.peer("gate").await;
        let task = lead.start("ann", "count the files").await;
        lead.until_waiting("ann").await;
        let high = json!({ "to": "ann", "content": "not those in docs", "priority": "high" });
        let high = lead.call("send_message", high).await;
        if method == "prompt" {
            gate.send("ann", "go on").await;
        }
        let output = lead.done(&task).await;
        assert_eq!(output.contains("high: not those in docs"), method == "interrupt", "{output}");
        lead.until_agent("ann", |agent| agent["messages_pending"] == 0).await;
        assert_eq!(methods(&stage, &high), [method], "{interrupt}");
        lead.until_idle("ann").await;
        for member in [lead, gate] {
            member.close().await;
        }
    }
}

#[tokio::test]
async fn an_urgent_message_in_a_turn_with_mail_is_prompted_together_with_that_mail() {
    let stage = Stage::new(OUT_OF_REACH);
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "count the files").await;
    lead.until_waiting("ann").await;
    lead.call("cancel_task", json!({ "task_id": task })).await;
    lead.ended(&task).await;
    lead.until_idle("ann").await;
    lead.send("ann", "first thing").await;
    lead.until_waiting("ann").await;
    let urgent = json!({ "to": "ann", "content": "this before", "priority": "urgent" });
    lead.call("send_message", urgent).await;
    let woken = lead.hear_from("ann").await;
    let frame = "--- Messages from other agents ---\n[orchestrator → you] urgent: this before\n[orchestrator → you, again: you may already have acted on it] first thing\n\
                 --- End messages ---\n\n";
    assert_eq!(woken, format!("{frame}{ANSWER}"));
    lead.until_idle("ann").await;
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn an_agent_that_ignores_an_interrupt_finishes_its_turn() {
    let stage = Stage::new(
        r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { ignore_cancel = true },
  { call = "wait_for_message", with = { from = "gate", timeout_seconds = 60 } },
  { say = "finished" },
]
[[agents.ann.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{prompt}}" } }]
"#,
    );
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "work").await;
    lead.until_waiting("ann").await;
    let urgent = json!({ "to": "ann", "content": "stop that", "priority": "urgent" });
    let urgent = lead.call("send_message", urgent).await;
    gate.send("ann", "go on").await;
    assert_eq!(lead.done(&task).await, "finished");
    let heard = lead.hear_from("ann").await;
    assert!(heard.contains("urgent: stop that"), "{heard}");
    assert_eq!(methods(&stage, &urgent), ["prompt"]);
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_task_whose_turn_was_interrupted_can_be_cancelled() {
    let stage = Stage::new(
        &OUT_OF_REACH
            .replace("[{ say = \"again: {{prompt}}\" }]", "[{ say = \"again\" }, { hang = true }]"),
    );
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let task = lead.start("ann", "count the files").await;
    lead.until_waiting("ann").await;
    let urgent = json!({ "to": "ann", "content": "not those in docs", "priority": "urgent" });
    lead.call("send_message", urgent).await;
    lead.until_said(&task, "again").await;
    lead.task_is(&task, "running").await;
    let cancelled = lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(cancelled["cancelled"], true, "{cancelled}");
    lead.until_idle("ann").await;
    for member in [lead, gate] {
        member.close().await;
    }
}

/// Some agents do not report to our endpoint that a cancelled turn cancels its call, so the call keeps waiting.
#[tokio::test]
async fn a_wait_ends_with_its_turn_and_takes_no_later_message() {
    let stage = Stage::new(
        r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [{ call = "wait_for_message", with = { timeout_seconds = 100 } }]
[[agents.ann.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{prompt}}" } }]
"#,
    );
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    lead.call("cancel_task", json!({ "task_id": task })).await;
    lead.ended(&task).await;
    lead.until_idle("ann").await;
    let sent = lead.send("ann", "the code is 4711").await;
    let woken = format!("{}{ANSWER}", framed("orchestrator", "the code is 4711"));
    assert_eq!(lead.hear_from("ann").await, woken);
    assert_eq!(methods(&stage, &sent), ["prompt"]);
    lead.until_idle("ann").await;
    lead.close().await;
}
