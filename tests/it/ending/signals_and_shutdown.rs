//! How agents, peers and bridges end, by themselves or on request, and that they leave only the log.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::steer::{done, json_of};
use crate::support::misbehaving_agents::promised;
use crate::support::{Stage, until};

/// Agents whose behaviour depends on the first words of their task.
pub(crate) const AGENTS: &str = r#"
[agents.default.start]
models = ["small", "large"]
[[agents.default.turns]]
when = "Your task: wait"
steps = [{ wait_for = { from = "gate", seconds = 100 }, save = "end" }, { say = "heard {{end.message.type}}" }]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ say = "for ever" }, { hang = true }]
[[agents.default.turns]]
when = "Your task: fork"
steps = [{ fork = "sleep 300" }, { say = "forked" }]
[[agents.default.turns]]
when = "Your task: where"
steps = [{ fork = "pwd > $HOME/here.new; mv $HOME/here.new $HOME/here" }]
[[agents.default.turns]]
when = "Your task: model"
steps = [{ say = "{{model}}" }]
[[agents.default.turns]]
steps = [{ say = "{{prompt}}" }]

[agents.stubborn.start]
ignore_eof = true
ignore_term = true
[[agents.stubborn.turns]]
steps = [{ ignore_cancel = true }, { say = "never" }, { hang = true }]

[[agents.crasher.turns]]
steps = [
  { wait_for = { seconds = 100 }, save = "offer" },
  { call = "claim_request", with = { request_id = "{{offer.message.request_id}}" } },
  { say = "half of it" },
  { stderr = "out of memory" },
  { crash = 7 },
]

[[agents.failing.turns]]
when = "Answer with send_message if"
steps = [
  { raw = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}}}' },
  { say = "there is no such model" },
]
[[agents.failing.turns]]
steps = [{ say = "{{prompt}}" }]

[agents.torpid.start]
sessions = 1
[[agents.torpid.turns]]
steps = [{ say = "once" }]

[agents.deaf.start]
mcp = "ignore"
[[agents.deaf.turns]]
when = "Your task: ours"
steps = [
  { ask_permission = "mcp__bridge__check_messages", kind = "other", on_reject = "go_on", save = "it" },
  { say = "{{it.option}}" },
]
[[agents.deaf.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

/// What ends an orchestrator.
enum End {
    Input,
    Signal(Signal),
}

async fn check_end(end: End) {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "fork").await;
    lead.start_and_wait("ben", "hello").await;
    // This agent is still starting when the end comes.
    lead.start("cid", "hello").await;
    assert!(stage.processes().len() >= 6, "{:?}", stage.processes());
    match end {
        End::Input => drop(lead.close().await),
        End::Signal(signal) => {
            lead.signal(signal);
            assert_eq!(lead.exit().await.code, Some(0), "{}", lead.stderr());
        }
    }
    stage.check_nobody_is_left();
    let stopped = stage.events_of("member_left");
    assert_eq!(stopped.len(), 4, "{stopped:?}");
}

#[tokio::test]
async fn the_end_of_its_input_ends_an_orchestrator_and_all_its_agents() {
    check_end(End::Input).await;
}

#[tokio::test]
async fn sigterm_ends_an_orchestrator_and_all_its_agents() {
    check_end(End::Signal(Signal::SIGTERM)).await;
}

#[tokio::test]
async fn sigint_ends_an_orchestrator_and_all_its_agents() {
    check_end(End::Signal(Signal::SIGINT)).await;
}

#[tokio::test]
async fn sighup_ends_an_orchestrator_and_all_its_agents() {
    check_end(End::Signal(Signal::SIGHUP)).await;
}

#[tokio::test]
async fn a_task_that_ends_with_the_client_of_its_orchestrator_says_so_in_every_list() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let running = lead.start("ann", "hang").await;
    lead.until_said(&running, "for ever").await;
    let queued = lead.assign("ann", "later").await;
    let taken_back = lead.assign("ann", "never").await;
    lead.call("cancel_task", json!({ "task_id": taken_back })).await;
    lead.close().await;
    let why = "its agent was stopped: the session of orchestrator ended";
    for task in [&running, &queued] {
        let shown = done(&stage, &["task", task]).await;
        assert!(shown.contains(why), "{shown}");
    }
    let tasks = json_of(&stage, &["tasks"]).await;
    let errors: Vec<_> = tasks.as_array().unwrap().iter().map(|task| &task["error"]).collect();
    assert_eq!(errors, ["cancelled by orchestrator", why, why], "{tasks}");
    let log = done(&stage, &["log", "--kind", "member"]).await;
    assert!(log.contains("the session of orchestrator ended"), "{log}");
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_second_signal_ends_agents_that_would_have_had_longer() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let task = lead.start("stubborn", "hang").await;
    lead.task_is(&task, "running").await;
    lead.signal(Signal::SIGTERM);
    until("the agent is asked to end", || !stage.events_of("stop_asked").is_empty()).await;
    let began = std::time::Instant::now();
    lead.signal(Signal::SIGINT);
    assert_eq!(lead.exit().await.code, Some(0), "{}", lead.stderr());
    let took = began.elapsed();
    // The agents take 2 s, and the bus writes its last entries. Without the second signal it takes at least 20 s.
    assert!(took < promised(), "{took:?}");
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_shutdown_ends_the_waits_of_a_turn_and_returns_queued_work() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let gate = stage.peer("gate").await;
    let running = lead.start("ann", "wait").await;
    lead.until_waiting("ann").await;
    let queued = lead.assign("ann", "later").await;
    let stop = json!({ "agent": "ann", "reason": "enough" });
    let stopped = lead.call("shutdown_agent", stop).await;
    assert_eq!(stopped, json!({ "acknowledged": true }));
    assert_eq!(lead.done(&running).await, "heard shutdown");
    let returned = lead.ended(&queued).await;
    assert_eq!(returned["status"], "cancelled");
    assert_eq!(
        returned["error"],
        json!({ "class": "cancelled", "message": "its agent was stopped" })
    );
    lead.until_agent("ann", |agent| agent["status"] == "dead").await;
    assert_eq!(lead.names().await, ["orchestrator", "gate"]);
    let refused = lead.refused("shutdown_agent", json!({ "agent": "gate" })).await;
    assert!(
        refused.starts_with("`gate` is not an agent started by a bridge, but a peer: "),
        "{refused}"
    );
    lead.close().await;
    gate.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_agent_that_is_being_stopped_takes_no_more_work_and_can_be_killed() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "hang").await;
    lead.until("get_task_result", json!({ "task_id": task }), |result| {
        result["output"] == "for ever"
    })
    .await;
    lead.call("shutdown_agent", json!({ "agent": "ann" })).await;
    let refused = lead.refused("assign_task", json!({ "agent": "ann", "prompt": "more" })).await;
    assert_eq!(
        refused,
        "`ann` is being stopped: assign the task to another agent, or to a new one of its profile"
    );
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "cancelled", "{result}");
    assert_eq!(result["error"]["message"], "its agent was killed");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_kill_ends_an_agent_that_ignores_cancel_its_input_and_sigterm() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let task = lead.start("stubborn", "go").await;
    lead.until("get_task_result", json!({ "task_id": task }), |result| result["output"] == "never")
        .await;
    let cancelled = lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(cancelled, json!({ "task_id": task, "cancelled": false, "status": "running" }));
    let began = std::time::Instant::now();
    let killed = lead.call("kill_agent", json!({ "agent": "stubborn" })).await;
    assert_eq!(killed, json!({ "killed": true }));
    let took = began.elapsed();
    assert!((Duration::from_secs(4)..promised()).contains(&took), "{took:?}");
    assert_eq!(stage.processes().len(), 1, "only the orchestrator is left");
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "cancelled", "{result}");
    assert_eq!(result["output"], "never", "what it had said is kept");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_agent_that_opens_no_second_session_ends_when_it_is_asked_to() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    for tool in ["kill_agent", "shutdown_agent"] {
        lead.start_and_wait("torpid", "hello").await;
        let fresh = json!({ "agent": "torpid", "prompt": "again", "fresh": true });
        let task = lead.call("assign_task", fresh).await;
        let task = task["task_id"].as_str().unwrap();
        lead.task_is(task, "running").await;
        let began = std::time::Instant::now();
        lead.call(tool, json!({ "agent": "torpid" })).await;
        let result = lead.ended(task).await;
        assert_eq!(result["error"]["class"], "cancelled", "{result}");
        // A session may take a minute to open; a stop does not wait for it.
        let took = began.elapsed();
        assert!(took < promised(), "`{tool}` took {took:?}");
        lead.until("list_agents", json!({}), |all| all["agents"].as_array().unwrap().len() == 1)
            .await;
    }
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_killed_orchestrator_is_seen_dead_with_its_agents_and_another_goes_on() {
    let stage = Stage::new(AGENTS);
    let (one, two) = (stage.orchestrator().await, stage.orchestrator().await);
    one.start_and_wait("ann", "hello").await;
    two.start_and_wait("ben", "hello").await;
    let task = two.assign("ann", "hang").await;
    two.until("get_task_result", json!({ "task_id": task }), |result| {
        result["output"] == "for ever"
    })
    .await;
    one.die().await;
    // The agent lives only until its shim has ended it.
    two.until_agent("ann", |agent| agent["status"] == "dead").await;
    assert_eq!(two.names().await, ["orchestrator-2", "ben"]);
    let result = two.ended(&task).await;
    assert_eq!(result["status"], "interrupted", "{result}");
    assert_eq!(result["output"], "for ever", "what it had said is kept");
    assert_eq!(two.assign_and_wait("ben", "go on").await, "Your task: go on");
    // Both names are free again.
    let again = stage.orchestrator().await;
    again.start_and_wait("ann", "hello").await;
    assert_eq!(two.names().await, ["orchestrator-2", "ben", "orchestrator", "ann"]);
    again.close().await;
    assert_eq!(two.names().await, ["orchestrator-2", "ben"]);
    two.close().await;
}

#[tokio::test]
async fn a_peer_leaves_by_the_end_of_its_input_and_by_each_signal() {
    let stage = Stage::new(AGENTS);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let peer = stage.peer("ann").await;
        peer.signal(signal);
        assert_eq!(peer.exit().await.code, Some(0), "{}", peer.stderr());
    }
    stage.peer("ann").await.close().await;
    stage.check_nobody_is_left();
    assert_eq!(stage.events_of("member_left").len(), 4);
}

/// Returns the texts of all notices to a member.
fn notices_to(stage: &Stage, name: &str) -> Vec<String> {
    let sent = stage.events_of("message_sent").into_iter();
    let notices = sent.filter(|sent| sent["kind"] == "notice" && sent["audience"] == name);
    notices.map(|sent| sent["body"]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_crash_in_a_turn_interrupts_its_task_and_reopens_its_claim() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let bob = stage.peer("bob").await;
    let task = lead.start("crasher", "go").await;
    lead.until_waiting("crasher").await;
    let asked = bob.call("request_task", json!({ "description": "look" })).await;
    let request = asked["request_id"].as_str().unwrap();
    bob.hear(|message| message["claimed_by"] == "crasher").await;

    let result = lead.ended(&task).await;
    let why = "its agent ended: exit code 7; its stderr ends: out of memory";
    assert_eq!(result["status"], "interrupted", "{result}");
    assert_eq!(result["error"], json!({ "class": "crashed", "message": why }));
    assert_eq!(result["output"], "half of it", "what it had said is kept");
    let notice = format!(
        "crasher has failed: \"exit code 7; its stderr ends: out of memory\"; {task} was interrupted"
    );
    let to_lead = notices_to(&stage, "orchestrator");
    assert_eq!(to_lead, [notice], "it is said once");
    // It is gone, or was gone before the bus knew that it had the answer to its claim.
    let open = format!("your request {request} is open again: crasher, which claimed it, ");
    bob.hear_notice(&open).await;
    let health = lead.until_agent("crasher", |agent| agent["status"] == "dead").await;
    let reason = "failed: exit code 7; its stderr ends: out of memory";
    assert_eq!(health["reason"], reason, "{health}");
    let claimed = lead.call("claim_request", json!({ "request_id": request })).await;
    assert_eq!(claimed["claimed"], true, "{claimed}");
    lead.close().await;
    bob.close().await;
    stage.check_nobody_is_left();
}

/// Programs that fail to be agents, each for another reason.
const BROKEN: &str = r#"
[agents.dead]
command = "sh"
args = ["-c", "echo no api key >&2; exit 3"]
[agents.babbling]
command = "sh"
args = ["-c", "echo Welcome to my agent; echo; printf '\\377\\n'; echo '{\"jsonrpc\":\"2.0\",\"id\":null}'; echo sorry >&2"]
[agents.silent]
command = "sh"
args = ["-c", "cat > /dev/null; sleep 300"]
[agents.slow]
command = "sh"
args = ["-c", "cat > /dev/null; sleep 300"]
start_seconds = 1
[agents.missing]
command = "no-such-program-anywhere"
"#;

#[tokio::test]
async fn an_agent_that_does_not_start_fails_its_task_with_its_last_words() {
    let stage = Stage::new(AGENTS).with_profiles(BROKEN);
    let lead = stage.orchestrator().await;
    let dead = json!({ "agent": "dead", "prompt": "x" });
    let assigned = lead.call("assign_task", dead).await;
    let result = lead.ended(assigned["task_id"].as_str().unwrap()).await;
    let why = "its agent did not start: it ended before it was ready: exit code 3; its stderr ends: no api key";
    assert_eq!(result["status"], "failed", "{result}");
    // The end of its stderr shows that the login is missing.
    assert_eq!(result["error"], json!({ "class": "auth", "message": why }));
    let task = assigned["task_id"].as_str().unwrap();
    let notice = "dead has failed: \"it ended before it was ready: exit code 3; its stderr ends: no api key\"";
    let to_lead = notices_to(&stage, "orchestrator");
    assert_eq!(to_lead, [format!("{notice}; {task} has failed")], "it is said once");

    let babbling = lead.assign("babbling", "x").await;
    let result = lead.ended(&babbling).await;
    assert_eq!(
        result["error"],
        json!({ "class": "start", "message":
            "its agent did not start: it ended before it was ready: exit code 0; it printed lines that are no \
             messages: Welcome to my agent / \u{fffd}; its stderr ends: sorry" })
    );

    let slow = lead.assign("slow", "x").await;
    let result = lead.ended(&slow).await;
    assert_eq!(result["error"]["class"], "start", "{result}");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("did not answer `initialize` within 1 s"), "{message}");
    assert!(message.contains("`start_seconds`"), "{message}");

    let silent = lead.assign("silent", "x").await;
    lead.task_is(&silent, "starting").await;
    let cancelled = lead.call("cancel_task", json!({ "task_id": silent })).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    let more = lead.assign("silent", "y").await;
    lead.call("kill_agent", json!({ "agent": "silent" })).await;
    assert_eq!(lead.ended(&more).await["status"], "cancelled");

    let missing = json!({ "agent": "missing", "prompt": "x" });
    let refused = lead.refused("assign_task", missing).await;
    assert!(
        refused.starts_with(
            "the profile `missing` needs the program `no-such-program-anywhere`, which is not on PATH: install it, or \
             correct `command` of [agents.missing]"
        ),
        "{refused}"
    );
    assert_eq!(lead.names().await, ["orchestrator"]);
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_killed_peer_is_dead_at_once_and_its_claim_and_name_are_free() {
    let stage = Stage::new(AGENTS);
    let (lead, ann) = (stage.orchestrator().await, stage.peer("ann").await);
    let bob = stage.peer("bob").await;
    let asked = ann.call("request_task", json!({ "description": "look" })).await;
    let request = asked["request_id"].as_str().unwrap();
    bob.call("claim_request", json!({ "request_id": request })).await;
    bob.die().await;
    let names = lead.names().await;
    assert!(!names.contains(&"bob".to_owned()), "{names:?}");
    ann.hear_notice(&format!(
        "your request {request} is open again: bob, which claimed it, is gone"
    ))
    .await;

    ann.send("bob", "for your return").await;
    let bob = stage.peer("bob").await;
    let message = bob.hear(|message| message["type"] == "message").await;
    assert_eq!(message["content"], "for your return");
    let claimed = bob.call("claim_request", json!({ "request_id": request })).await;
    assert_eq!(claimed["claimed"], true, "{claimed}");

    // The name's holder is dead, and no process has noticed yet.
    bob.die().await;
    let bob = stage.peer("bob").await;
    assert_eq!(bob.names().await.len(), 3);
    for member in [lead, ann, bob] {
        member.close().await;
    }
}
