//! The real Claude Code as a leader: it waits for two members at the same time, and in a new session it finds the work that an earlier
//! session assigned, also what was lost when that one ended. Its model knows only what the tools say.

use serde_json::json;

use super::is_notified::{hooks, write_settings};
use crate::claude_code::{claude_with_bridge, print, result};
use crate::model::{ModelServer, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// Runs Claude Code with a prompt until it ends, and returns its result.
async fn ask(stage: &Stage, model: &ModelServer, prompt: &str) -> String {
    let printed = print(claude_with_bridge(stage, model), prompt, "mcp__bridge", model).await;
    result(&printed).as_str().unwrap_or_default().to_owned()
}

/// Two waits in one message of the model run at the same time.
pub(crate) async fn waits_for_two_members_at_once() {
    let wait = |from: &str| json!({ "from": from, "timeout_seconds": 100 });
    let model = ModelServer::start(vec![
        Rule::user("wait for both")
            .calls("wait_for_message", wait("ann"))
            .calls("wait_for_message", wait("bob")),
        Rule::result("news of").says("I have both."),
    ])
    .await;
    let stage = stage(&[], &model);
    let (ann, bob) = (stage.peer("ann").await, stage.peer("bob").await);
    let members = async {
        // Neither sends before both waits have begun.
        until("both waits have begun", || stage.events_of("wait_started").len() == 2).await;
        ann.send("orchestrator", "news of ann").await;
        bob.send("orchestrator", "news of bob").await;
    };
    let (said, ()) = tokio::join!(ask(&stage, &model, "wait for both"), members);
    assert_eq!(said, "I have both.", "{}", shown_to_models(&model));
    for text in ["news of ann", "news of bob"] {
        let was_shown = model.shown().iter().any(|shown| shown.whole.contains(text));
        assert!(was_shown, "{text}: {}", shown_to_models(&model));
    }
    ann.close().await;
    bob.close().await;
}

/// A session assigns a task and ends; the next session finds the task by its prompt and reads its result.
pub(crate) async fn finds_the_work_of_an_earlier_session() {
    let task_id = |text: &str| {
        // The notice of its end may come with this result, because nothing proved that the first session saw it. It begins with the id, too.
        let is_id = |word: &&str| word.starts_with("task-") && !word.contains(' ');
        let id = text.split('"').find(is_id);
        json!({ "task_id": id })
    };
    let assignment = json!({
        "agent": "scripted", "name": "worker", "prompt": "count the beans", "wait": true, "timeout_seconds": 100,
    });
    let model = ModelServer::start(vec![
        Rule::user("give the work away").calls("assign_task", assignment),
        Rule::user("go on with yesterday's work").calls("get_task_status", json!({})),
        Rule::result("\"output\":\"there are 97 beans").says("It is done."),
        Rule::result("count the beans").calls_with("get_task_result", task_id),
    ])
    .await;
    let stage = stage(&[], &model);
    let script = "[[agents.default.turns]]\nsteps = [{ say = \"there are 97 beans\" }]\n";
    std::fs::write(stage.home().join("script.toml"), script).unwrap();
    assert_eq!(ask(&stage, &model, "give the work away").await, "It is done.");
    until("nothing runs any more", || stage.processes().is_empty()).await;

    let before = model.shown().len();
    let said = ask(&stage, &model, "go on with yesterday's work").await;
    assert_eq!(said, "It is done.", "{}", shown_to_models(&model));
    let shown = model.shown().split_off(before);
    let calls: Vec<_> = shown.iter().flat_map(|shown| shown.calls.iter()).collect();
    let suffixes = ["get_task_status", "get_task_result"];
    assert_eq!(calls.len(), suffixes.len(), "{calls:?}");
    assert!(calls.iter().zip(suffixes).all(|(call, suffix)| call.ends_with(suffix)), "{calls:?}");
    // The instructions that every session gets led it there.
    assert!(shown.iter().any(|shown| shown.whole.contains("get_task_status without task_id")));
}

/// A session ends while its agent works. The next one is told before anybody asks: that there is a message, or that message itself.
pub(crate) async fn is_told_of_the_work_that_was_lost_with_an_earlier_session() {
    let assignment = json!({ "agent": "scripted", "name": "worker", "prompt": "count the beans" });
    let model = ModelServer::start(vec![
        Rule::user("give the work away").calls("assign_task", assignment),
        Rule::result("\"agent\":\"worker\"").says("It works."),
        Rule::user("unread message from your team").calls("check_messages", json!({})),
        Rule::result("of worker was cancelled").says("It was lost."),
        Rule::user("of worker was cancelled").says("It was lost."),
    ])
    .await;
    let stage = stage(&[], &model);
    let script = "[[agents.default.turns]]\nsteps = [{ hang = true }]\n";
    std::fs::write(stage.home().join("script.toml"), script).unwrap();
    write_settings(&stage, &json!({ "hooks": hooks() }));
    assert_eq!(ask(&stage, &model, "give the work away").await, "It works.");
    until("nothing runs any more", || stage.processes().is_empty()).await;

    let said = ask(&stage, &model, "good morning").await;
    assert_eq!(said, "It was lost.", "{}", shown_to_models(&model));
}
