//! Agents that are silent, crash or are too many, and the bridge's reactions.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::support::{Member, Stage};

const AGENTS: &str = r#"
[agents.default.start]
load = true
[[agents.default.turns]]
when = "Your process ended in the middle"
steps = [{ say = "went on" }]
[[agents.default.turns]]
when = "Your task: crash"
steps = [{ say = "half of it" }, { stderr = "out of memory" }, { crash = 7 }]
[[agents.default.turns]]
when = "Your task: log"
steps = [{ repeat = 1000, steps = [{ stderr = "trying again" }, { sleep_ms = 100 }] }]
[[agents.default.turns]]
when = "Your task: hang"
steps = [{ say = "for ever" }, { hang = true }]
[[agents.default.turns]]
steps = [{ say = "{{prompt}}" }]

[agents.doomed.start]
load = true
[[agents.doomed.turns]]
steps = [{ stderr = "no memory at all" }, { crash = 7 }]
"#;

/// Agents whose sessions end with their process.
const FORGETFUL: &str = r#"
[[agents.default.turns]]
when = "Your task: crash"
steps = [{ crash = 7 }]
[[agents.default.turns]]
steps = [{ say = "{{prompt}}" }]
"#;

const PROFILES: &str = r#"
[limits]
agents = 3
queued_tasks = 1
stall_seconds = 1
[agents.phoenix]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT"]
restart = "on_failure"
"#;

fn stage() -> Stage {
    Stage::new(AGENTS).with_profiles(PROFILES)
}

/// Starts an agent that is restarted when it crashes, and returns its first task.
async fn start_phoenix(lead: &Member, name: &str, prompt: &str) -> String {
    let new = json!({ "agent": "phoenix", "name": name, "prompt": prompt });
    let task = lead.call("assign_task", new).await;
    task["task_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_suspended_agent_in_a_turn_is_reported_as_stalled_and_left_alone() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "hang").await;
    lead.until("get_task_result", json!({ "task_id": task }), |result| {
        result["output"] == "for ever"
    })
    .await;
    let run = stage.events_of("agent_runs");
    let pid = run[0]["agent"]["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    let ann = lead.until_agent("ann", |agent| agent["status"] == "stalled").await;
    assert_eq!(ann["task_id"], task.as_str());
    lead.hear_notice("ann has been silent in its turn for 1 s").await;
    assert!(lead.names().await.contains(&"ann".to_owned()), "it is still a member");
    assert_eq!(stage.events_of("agent_stalled").len(), 1);

    kill(pid, Signal::SIGCONT).unwrap();
    lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(lead.ended(&task).await["status"], "cancelled");
    lead.until_idle("ann").await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn what_a_program_logs_while_its_model_hangs_is_no_sign_of_life() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let task = lead.start("ann", "log").await;
    lead.until_agent("ann", |agent| agent["status"] == "stalled").await;
    lead.hear_notice("ann has been silent in its turn for 1 s").await;
    assert!(stage.events_of("agent_stirred").is_empty());
    lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(lead.ended(&task).await["status"], "cancelled");
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_restart_after_a_crash_keeps_name_inbox_and_queue_and_resumes_the_task() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let first = start_phoenix(&lead, "phil", "hello").await;
    lead.done(&first).await;
    let before = stage.events_of("member_starting");
    let crashing = lead.assign("phil", "crash").await;
    let queued = lead.assign("phil", "after").await;
    lead.hear_notice(
        "phil crashed and is being restarted: \"exit code 7; its stderr ends: out of memory\"",
    )
    .await;
    assert_eq!(lead.done(&crashing).await, "went on");
    lead.hear_notice("of phil is resumed").await;
    assert!(lead.done(&queued).await.contains("Your task: after"));
    assert_eq!(stage.events_of("member_starting"), before, "the same member");
    let runs = stage.events_of("agent_runs");
    let sessions: Vec<_> = runs.iter().filter_map(|run| run.get("acp_session")).collect();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0], sessions[1], "its session was resumed");
    lead.close().await;
    stage.check_nobody_is_left();
}

/// Gemini cannot resume a session, only load it: it replays the history, which is not part of the next turn.
#[tokio::test]
async fn the_history_that_a_loaded_session_replays_does_not_count_as_output() {
    let script = AGENTS.replace("load = true", "history = 'half of it'");
    let stage = Stage::new(&script).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let first = start_phoenix(&lead, "phil", "hello").await;
    lead.done(&first).await;
    let crashing = lead.assign("phil", "crash").await;
    assert_eq!(lead.done(&crashing).await, "went on");
    lead.hear_notice("of phil is resumed").await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_restarted_agent_without_its_session_has_its_task_interrupted_and_goes_on() {
    let stage = Stage::new(FORGETFUL).with_profiles(PROFILES);
    let lead = stage.orchestrator().await;
    let first = start_phoenix(&lead, "plain", "hello").await;
    lead.done(&first).await;
    let task = lead.assign("plain", "crash").await;
    let queued = lead.assign("plain", "after").await;
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "interrupted", "{result}");
    assert_eq!(result["error"]["class"], "crashed");
    lead.send("plain", "still there?").await;
    assert!(lead.done(&queued).await.contains("Your task: after"));
    lead.until_idle("plain").await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn an_agent_that_crashes_repeatedly_is_abandoned_with_its_last_words() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let task = start_phoenix(&lead, "doomed", "go").await;
    let result = lead.ended(&task).await;
    assert_eq!(result["status"], "interrupted", "{result}");
    let why = result["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("its stderr ends: no memory at all")
            && why.ends_with("; not restarted: it had been restarted less than 5 s before"),
        "{why}"
    );
    let doomed = lead.until_agent("doomed", |agent| agent["status"] == "dead").await;
    assert!(doomed["reason"].as_str().unwrap().starts_with("failed: "));
    assert_eq!(stage.events_of("agent_crashed").len(), 1);
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn work_beyond_the_configured_limits_is_refused_with_a_hint() {
    let stage = stage();
    let lead = stage.orchestrator().await;
    let busy = lead.start("ann", "hang").await;
    lead.task_is(&busy, "running").await;
    for name in ["ben", "cid"] {
        lead.start_and_wait(name, "hello").await;
    }
    let fourth = json!({ "agent": "scripted", "name": "dan", "prompt": "hello" });
    let refused = lead.refused("assign_task", fourth.clone()).await;
    assert!(refused.starts_with("3 agents are live, which is the limit: "), "{refused}");
    let queued = lead.call("assign_task", json!({ "agent": "ann", "prompt": "next" })).await;
    assert_eq!(queued["position"], 1);
    let refused = lead.refused("assign_task", json!({ "agent": "ann", "prompt": "more" })).await;
    assert!(refused.starts_with("`ann` has 1 queued task, which is the limit: "), "{refused}");
    lead.call("kill_agent", json!({ "agent": "cid" })).await;
    lead.call("assign_task", fourth).await;
    lead.call("kill_agent", json!({ "agent": "ann" })).await;
    lead.close().await;
    stage.check_nobody_is_left();
}
