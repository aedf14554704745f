//! Agents that do not end a cancelled turn: they take no work until it ends after all, and others do their work.

use serde_json::json;

use crate::support::{Stage, of_name};
use crate::workflows::over_mcp::{begin, ended, step};

const AGENTS: &str = "
    [[agents.default.turns]]
    when = 'it took longer'
    steps = [{ say = 'done at last' }]
    [[agents.default.turns]]
    when = 'Your task: hang'
    steps = [{ ignore_cancel = true }, { say = 'I hang' }, { hang = true }]
    [[agents.default.turns]]
    when = 'Your task: be late'
    steps = [{ ignore_cancel = true }, { say = 'I come' }, { sleep_ms = 14000 }]
    [[agents.default.turns]]
    steps = [{ say = 'heard' }]
";

#[tokio::test]
async fn a_stuck_agent_takes_no_work_until_its_turn_has_ended_after_all() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let late = lead.start("ann", "be late").await;
    let behind = lead.assign("ann", "look").await;
    lead.until("get_task_result", json!({ "task_id": late }), |result| {
        result["output"] == "I come"
    })
    .await;
    lead.call("cancel_task", json!({ "task_id": late })).await;
    lead.until_agent("ann", |ann| ann["status"] == "stuck").await;
    assert_eq!(lead.ended(&late).await["status"], "cancelled");
    let behind = lead.ended(&behind).await;
    assert_eq!(behind["status"], "interrupted", "{behind}");
    assert_eq!(behind["error"]["class"], "stuck", "{behind}");
    let again = json!({ "agent": "ann", "prompt": "look" });
    let refused = lead.refused("assign_task", again).await;
    assert!(refused.contains("stop it with kill_agent"), "{refused}");
    lead.until_idle("ann").await;
    lead.assign_and_wait("ann", "look").await;
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn a_step_is_retried_by_another_agent_and_the_hanging_one_is_ended() {
    let stage = Stage::new(AGENTS);
    let lead = stage.orchestrator().await;
    let has_hung = || {
        let tasks = std::fs::read_dir(stage.bus().join("tasks")).unwrap();
        let mut transcripts = tasks.map(|task| std::fs::read_to_string(task.unwrap().path()));
        transcripts.any(|text| text.unwrap().contains("I hang"))
    };
    // On a busy machine the limit may end a turn before its agent has read the prompt; then nothing hangs.
    for seconds in [1, 4, 16] {
        let mut hangs = step("a", "scripted", "hang", &[]);
        hangs["timeout_seconds"] = json!(seconds);
        hangs["retries"] = json!(1);
        let id = begin(&lead, &[hangs]).await;
        let steps = ended(&lead, &id, "done").await;
        assert_eq!(steps["a"]["attempts"], 2, "{}", steps["a"]);
        if has_hung() {
            break;
        }
    }
    assert!(has_hung(), "an agent hangs");
    // If it ended before the step was retried, the other agent, which is idle now, has its name.
    lead.until("list_agents", json!({}), |list| {
        of_name(list, "scripted").is_none_or(|agent| agent["status"] == "idle")
    })
    .await;
    lead.close().await;
    stage.check_nobody_is_left();
}
