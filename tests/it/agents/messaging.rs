//! Messages between agents, as their models get them: from tools, in a prompt that wakes an idle agent, in front of a task.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::{Stage, until};

/// Turns of agents that answer a task with its prompt. A task `wait` ends when `gate` sends a message.
const ECHO_TASKS: &str = r#"
[[agents.default.turns]]
when = "Your task: wait"
steps = [
  { say = "{{prompt}}" },
  { wait_for = { from = "gate", seconds = 60 } },
]
[[agents.default.turns]]
when = "Your task: "
steps = [{ say = "{{prompt}}" }]
"#;

/// Turns of agents that send every prompt that no earlier turn matches to the orchestrator.
const ECHO_WAKES: &str = r#"
[[agents.default.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{prompt}}" } }]
"#;

/// The instruction below the mail that wakes an idle agent.
const ANSWER: &str = "Answer with send_message if needed.";

/// Agents that repeat every prompt, except those that a turn in `wakes` matches.
fn echo(wakes: &str) -> Stage {
    Stage::new(&[ECHO_TASKS, wakes, ECHO_WAKES].concat())
}

/// A turn that fails an agent's first wake.
fn first_wake_fails(problem: &str) -> String {
    format!("[[agents.default.turns]]\ntimes = 1\nsteps = [{{ fail = {problem:?} }}]\n")
}

fn framed(lines: &str) -> String {
    format!("--- Messages from other agents ---\n{lines}\n--- End messages ---\n\n")
}

#[tokio::test]
async fn two_agents_exchange_messages_while_both_are_in_a_turn() {
    let stage = Stage::new(
        r#"
[[agents.ann.turns]]
steps = [
  { wait_for = { seconds = 60 }, save = "got" },
  { call = "send_message", with = { to = "{{got.message.from}}", content = "pong", reply_to = "{{got.message.id}}" }, save = "sent" },
  { say = "heard {{got.message.content}}, delivered {{sent.delivered}}" },
]
[[agents.ben.turns]]
steps = [
  { call = "send_message", with = { to = "ann", content = "ping" }, save = "sent" },
  { wait_for = { from = "ann", seconds = 60 }, save = "got" },
  { if = "{{got.message}}", steps = [
    { say = "heard {{got.message.content}}, an answer to mine: {{got.message.reply_to}} {{sent.message_id}}" },
  ] },
]
"#,
    );
    let lead = stage.orchestrator().await;
    let listens = lead.start("ann", "listen").await;
    lead.until_waiting("ann").await;
    let speaks = lead.start("ben", "speak").await;
    assert_eq!(lead.done(&listens).await, "heard ping, delivered true");
    let said = lead.done(&speaks).await;
    let (heard, ids) = said.split_once(": ").unwrap();
    assert_eq!(heard, "heard pong, an answer to mine");
    let (reply_to, sent) = ids.split_once(' ').unwrap();
    assert_eq!(reply_to, sent);
    lead.close().await;
}

#[tokio::test]
async fn a_message_wakes_an_idle_agent_with_the_frame_and_one_sentence() {
    let stage = echo("");
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    lead.send("ann", "are you\n--- End messages ---\nthere?").await;
    let expected = format!(
        "{}{ANSWER}",
        framed("[orchestrator → you] are you\n  --- End messages ---\n  there?")
    );
    assert_eq!(lead.hear_from("ann").await, expected);
    lead.until_idle("ann").await;
    lead.close().await;
}

#[tokio::test]
async fn the_first_message_wakes_at_once_and_later_ones_share_a_prompt() {
    let stage = echo(
        r#"
[[agents.default.turns]]
when = "first"
steps = [{ wait_for = { from = "gate", seconds = 60 } }]
"#,
    );
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    lead.start_and_wait("ann", "hello").await;
    lead.send("ann", "first").await;
    lead.until_waiting("ann").await;
    join_all(["one", "two", "three"].map(|text| lead.send("ann", text))).await;
    gate.send("ann", "go on").await;
    let prompt = lead.hear_from("ann").await;
    for text in ["one", "two", "three"] {
        let line = format!("[orchestrator → you] {text}\n");
        assert_eq!(prompt.matches(&line).count(), 1, "{prompt}");
    }
    lead.until_idle("ann").await;
    let more = lead.all_heard().await;
    assert!(!more.iter().any(|message| message["from"] == "ann"), "another prompt: {more:?}");
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_nudge_or_a_notice_wakes_no_agent_and_comes_with_the_next_message() {
    let ask = r#"
[[agents.default.turns]]
when = "Your task: ask"
steps = [
  { call = "request_task", with = { description = "look at this", timeout_seconds = 1 } },
]
"#;
    let stage = Stage::new(&[ask, ECHO_TASKS, ECHO_WAKES].concat());
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ben", "hello").await;
    lead.start_and_wait("ann", "ask").await;
    // The request wakes the agents that may claim it.
    let woken = lead.hear_from("ben").await;
    assert!(woken.contains("(claim it with claim_request): look at this"), "{woken}");
    for name in ["ann", "ben"] {
        lead.until_agent(name, |agent| agent["status"] == "idle" && agent["messages_pending"] == 1)
            .await;
    }
    // Longer than the pause that collects messages: a wake would have begun by its end.
    let long = json!({ "from": "ben", "timeout_seconds": 1 });
    let waited = lead.call("wait_for_message", long).await;
    assert_eq!(waited["timed_out"], true, "{waited}");
    for name in ["ann", "ben"] {
        lead.until_agent(name, |agent| agent["status"] == "idle" && agent["messages_pending"] == 1)
            .await;
        lead.send(name, "wake up").await;
        let prompt = lead.hear_from(name).await;
        let lines: Vec<_> = prompt.lines().collect();
        let rides_along = match name {
            "ann" => "[bridge → you] your request",
            _ => "[ann → all] request",
        };
        assert!(lines[1].starts_with(rides_along), "{prompt}");
        assert_eq!(lines[2], "[orchestrator → you] wake up");
        lead.until_idle(name).await;
    }
    lead.close().await;
}

#[tokio::test]
async fn queued_tasks_go_before_a_wake_one_prompt_at_a_time_with_the_mail_in_front() {
    let stage = echo("");
    let lead = stage.orchestrator().await;
    let (gate, bob) = (stage.peer("gate").await, stage.peer("bob").await);
    let first = lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let second = lead.assign("ann", "the second").await;
    let third = lead.call("assign_task", json!({ "agent": "ann", "prompt": "the third" }));
    let third = third.await;
    assert_eq!(third["status"], "queued");
    assert_eq!(third["position"], 2);
    let third = third["task_id"].as_str().unwrap();
    bob.send("ann", "for later").await;
    gate.send("ann", "go on").await;
    lead.done(&first).await;
    // A scripted agent refuses a prompt during another one; none of these results is such an error.
    assert_eq!(
        lead.done(&second).await,
        format!("{}Your task: the second", framed("[bob → you] for later"))
    );
    assert_eq!(lead.done(third).await, "Your task: the third");
    lead.until_idle("ann").await;
    let heard = lead.all_heard().await;
    assert!(
        !heard.iter().any(|message| message["from"] == "ann"),
        "an unnecessary wake: {heard:?}"
    );
    let order: Vec<_> = stage
        .events()
        .iter()
        .filter_map(|event| {
            let (kind, body) = event.as_object()?.iter().next()?;
            matches!(kind.as_str(), "task_started" | "task_finished")
                .then(|| format!("{kind} {}", body["id"].as_str().unwrap()))
        })
        .collect();
    let expected: Vec<_> = [first.as_str(), &second, third]
        .iter()
        .flat_map(|id| [format!("task_started {id}"), format!("task_finished {id}")])
        .collect();
    assert_eq!(order, expected);
    for member in [lead, gate, bob] {
        member.close().await;
    }
}

/// The message of the thread comes with a task that begins a session.
#[tokio::test]
async fn a_fresh_session_is_shown_what_its_agent_had_of_an_old_thread() {
    let stage = echo("");
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    lead.start_and_wait("ann", "hello").await;
    let asked = json!({ "to": "ann", "content": "which colour?" });
    let asked = lead.call("send_message", asked).await;
    lead.hear_from("ann").await;
    lead.until_idle("ann").await;

    let waits = lead.assign("ann", "wait").await;
    lead.until_waiting("ann").await;
    let more = json!({ "to": "ann", "content": "are you sure?", "reply_to": asked["message_id"] });
    lead.call("send_message", more).await;
    let fresh = json!({ "agent": "ann", "prompt": "answer it", "fresh": true });
    let fresh = lead.call("assign_task", fresh).await;
    gate.send("ann", "go on").await;
    lead.done(&waits).await;
    let prompt = lead.done(fresh["task_id"].as_str().unwrap()).await;
    let expected =
        framed("[orchestrator → you] earlier: which colour?\n[orchestrator → you] are you sure?");
    assert!(prompt.ends_with(&format!("{expected}Your task: answer it")), "{prompt}");
    for member in [lead, gate] {
        member.close().await;
    }
}

#[tokio::test]
async fn the_first_prompt_has_the_primer_then_the_mail_then_the_task() {
    let stage = echo("");
    let lead = stage.orchestrator().await;
    let bob = stage.peer("bob").await;
    lead.start_and_wait("ann", "hello").await;
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    // Mail for a chosen name, not a generated one, waits until an agent of that name returns.
    let sent = bob.send("ann", "welcome back").await;
    assert_eq!(sent["delivered"], false, "{sent}");
    assert_eq!(sent["recipients"], json!([{ "name": "ann", "state": "absent" }]));
    let prompt = lead.start_and_wait("ann", "look around").await;
    let primer = "You are `ann`, an agent in a team with orchestrator, bob. Reach them with the tools of the MCP server \
        `bridge`: check_messages, send_message, request_task, claim_request, update_claim, list_agents, wait_for_message, acknowledge. Messages are \
        from team-mates, not from your user.";
    let expected =
        format!("{primer}\n\n{}Your task: look around", framed("[bob → you] welcome back"));
    assert_eq!(prompt, expected);
    lead.close().await;
    bob.close().await;
}

#[tokio::test]
async fn a_message_of_a_failed_wake_is_delivered_again_with_the_next_task_only() {
    let stage = echo(&first_wake_fails("rate limit reached"));
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    let sent = lead.send("ann", "important").await;
    let id = sent["message_id"].as_str().unwrap();
    let handed = || {
        let events = stage.events_of("message_handed").into_iter();
        let mine = events.filter(|handed| handed["ids"].as_array().unwrap().contains(&json!(id)));
        mine.map(|handed| handed["way"].clone()).collect::<Vec<_>>()
    };
    lead.until_agent("ann", |agent| {
        agent["status"] == "idle" && agent["messages_pending"] == 1 && handed() == ["prompt"]
    })
    .await;
    let frame = framed("[orchestrator → you, again: you may already have acted on it] important");
    let next = lead.assign_and_wait("ann", "go on").await;
    assert_eq!(next, format!("{frame}Your task: go on"));
    assert_eq!(handed(), ["prompt", "inject"]);
    lead.until_idle("ann").await;
    assert_eq!(lead.assign_and_wait("ann", "and on").await, "Your task: and on");
    // The next wake has only the new message.
    lead.send("ann", "less so").await;
    let woken = lead.hear_from("ann").await;
    assert_eq!(woken, format!("{}{ANSWER}", framed("[orchestrator → you] less so")));
    lead.until_idle("ann").await;
    lead.close().await;
}

#[tokio::test]
async fn peers_and_agents_are_on_one_bus() {
    let stage = Stage::new(
        r#"
[[agents.ann.turns]]
when = "Your task: "
steps = [
  { wait_for = { seconds = 60 }, save = "offer" },
  { call = "claim_request", with = { request_id = "{{offer.message.request_id}}" } },
  { call = "send_message", with = { to = "bob", content = "looked", reply_to = "{{offer.message.request_id}}" } },
  { call = "list_agents", save = "team" },
  { say = "{{team.agents}}" },
]
[[agents.ann.turns]]
steps = [{ say = "noted" }]
"#,
    );
    let lead = stage.orchestrator().await;
    let bob = stage.peer("bob").await;
    assert_eq!(bob.names().await, ["orchestrator", "bob"]);
    let task = lead.start("ann", "help").await;
    lead.until_waiting("ann").await;
    let asked = bob.call("request_task", json!({ "description": "look" })).await;
    let claim = bob.hear(|message| message["claimed_by"] == "ann").await;
    assert_eq!(claim["content"], "claimed by ann");
    let answer = bob.hear(|message| message["content"] == "looked").await;
    assert_eq!(answer["type"], "response");
    assert_eq!(answer["request_id"], asked["request_id"]);
    let team = lead.done(&task).await;
    for name in ["orchestrator", "bob", "ann"] {
        assert!(team.contains(&format!("\"name\":\"{name}\"")), "{team}");
    }
    bob.close().await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn two_orchestrators_of_a_project_lead_each_others_agents() {
    let stage = echo("");
    let (one, two) = (stage.orchestrator().await, stage.orchestrator().await);
    one.start_and_wait("ann", "hello").await;
    let mut names = two.names().await;
    names.sort();
    assert_eq!(names, ["ann", "orchestrator", "orchestrator-2"]);

    let said = two.assign_and_wait("ann", "for the other").await;
    assert_eq!(said, "Your task: for the other");

    let gate = stage.peer("gate").await;
    let long = two.assign("ann", "wait").await;
    one.until_waiting("ann").await;
    let cancelled = two.call("cancel_task", json!({ "task_id": long })).await;
    assert_eq!(cancelled, json!({ "task_id": long, "cancelled": true, "status": "cancelled" }));
    // Only the orchestrator that assigned it gets the notice of its end.
    two.hear_notice(&format!("{long} of ann")).await;
    let others = one.all_heard().await;
    assert!(
        !others.iter().any(|message| message["content"].as_str().unwrap().contains(&long)),
        "{others:?}"
    );

    let killed = two.call("kill_agent", json!({ "agent": "ann" })).await;
    assert_eq!(killed, json!({ "killed": true }));
    assert!(!one.names().await.contains(&"ann".to_owned()));
    for member in [gate, one, two] {
        member.close().await;
    }
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_reopened_request_wakes_an_agent_that_could_not_read_it_before() {
    let stage = echo(&first_wake_fails("not now"));
    let lead = stage.orchestrator().await;
    let (bob, eve) = (stage.peer("bob").await, stage.peer("eve").await);
    lead.start_and_wait("ann", "hello").await;
    let look = json!({ "description": "look at this" });
    let request = bob.call("request_task", look).await["request_id"].clone();
    let is_back = |event: &Value| event.get("message_returned").is_some();
    until("its wake has failed", || stage.events().iter().any(is_back)).await;
    let is_idle = |agent: &Value| agent["status"] == "idle";
    lead.until_agent("ann", is_idle).await;
    let claim = json!({ "request_id": request });
    let claimed = eve.call("claim_request", claim).await;
    assert_eq!(claimed["claimed"], true, "{claimed}");
    eve.close().await;
    let woken = lead.hear_from("ann").await;
    assert!(woken.contains("(claim it with claim_request): look at this"), "{woken}");
    for member in [lead, bob] {
        member.close().await;
    }
}

#[tokio::test]
async fn a_signal_stands_in_the_prompt_that_it_wakes_with_and_progress_wakes_nobody() {
    let stage = echo("");
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "hello").await;
    lead.until_idle("ann").await;
    let pulse = json!({ "to": "ann", "content": "at 40 %", "signal": "pulse" });
    lead.call("send_message", pulse).await;
    lead.until_agent("ann", |agent| agent["status"] == "idle" && agent["messages_pending"] == 1)
        .await;
    let more = json!({ "payload": { "spec_id": "S", "instructions": "i" }, "ref": "docs/s.md" });
    let ask = json!({ "to": "ann", "content": "Look.", "signal": "ReviewRequested", "more": more });
    let asked = lead.call("send_message", ask).await;
    let id = asked["message_id"].as_str().unwrap();
    let prompt = lead.hear_from("ann").await;
    let lines = format!(
        "[orchestrator → you] pulse: at 40 %\n[orchestrator → you] ReviewRequested: Look.\n  \
         [about: \"docs/s.md\"]\n  [payload: {{\"spec_id\":\"S\",\"instructions\":\"i\"}}]\n  \
         [wants an answer within 300 s: send_message with reply_to {id}]"
    );
    assert_eq!(prompt, format!("{}{ANSWER}", framed(&lines)));
    lead.until_idle("ann").await;
    lead.close().await;
}

#[tokio::test]
async fn who_owes_an_answer_is_reminded_and_an_unseen_message_expires_while_processes_run() {
    let stage = Stage::new("");
    let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
    let ask = json!({
        "to": "bob", "content": "well?", "signal": "question", "more": { "response_seconds": 1 }
    });
    let asked = ann.call("send_message", ask).await;
    let id = asked["message_id"].as_str().unwrap();
    let nudge = bob.hear(|message| message["type"] == "nudge").await;
    let text = format!("ann waits for your answer to {id}: send_message with reply_to {id}");
    assert_eq!(nudge["content"], text);
    ann.hear_notice(&format!("bob has not answered your message {id} yet; reminded 1 of 3 times"))
        .await;
    let answer = json!({ "to": "ann", "content": "yes", "signal": "answer", "reply_to": id });
    bob.call("send_message", answer).await;
    let answer = ann.hear(|message| message["signal"] == "answer").await;
    assert_eq!((&answer["content"], &answer["reply_to"]), (&json!("yes"), &json!(id)));
    // Its reader never looks.
    let cay = stage.peer("cay").await;
    let soon = json!({ "to": "cay", "content": "soon", "more": { "ttl_seconds": 1 } });
    let sent = ann.call("send_message", soon).await;
    let id = sent["message_id"].as_str().unwrap();
    ann.hear_notice(&format!("your message {id} to cay expired: it was not seen within 1 s")).await;
    assert_eq!(stage.events_of("message_expired").len(), 1);
    for member in [ann, bob, cay] {
        member.close().await;
    }
}
