//! The real Claude Code as a leader: it waits for two members at the same time, and in a new session it finds the work that an earlier
//! one gave away. Its model knows nothing but what it is told of the tools.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::claude_as_user::{claude, result};
use crate::model::{ModelServer, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// The programs that it takes.
pub(crate) const PROGRAMS: [&str; 2] = ["node", "claude"];

/// Longer than a story takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(3);

/// Runs Claude Code with a prompt to its end, and returns what it says last.
async fn ask(stage: &Stage, model: &ModelServer, prompt: &str) -> String {
    let running = claude(stage, model)
        .args(["-p", prompt, "--allowedTools", "mcp__bridge"])
        .args(["--output-format", "stream-json", "--verbose"])
        .stdin(Stdio::null())
        .output();
    let output = tokio::time::timeout(DEADLINE, running).await;
    let output =
        output.unwrap_or_else(|_| panic!("it does not end; {}", shown_to_models(model))).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", shown_to_models(model));
    result(&said).as_str().unwrap_or_default().to_owned()
}

/// Two waits in one message of the model begin before either has ended.
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
        // Neither says a word before both waits have begun.
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

/// A session gives a task and ends; the next one finds the task by its prompt, and reads its result.
pub(crate) async fn finds_the_work_of_an_earlier_session() {
    let task_id = |text: &str| {
        // The notice of its end, which nothing proved to the first session, may ride along and begins with the id as well.
        let is_id = |word: &&str| word.starts_with("task-") && !word.contains(' ');
        let id = text.split('"').find(is_id);
        json!({ "task_id": id })
    };
    let give = json!({
        "agent": "scripted", "name": "worker", "prompt": "count the beans", "wait": true, "timeout_seconds": 100,
    });
    let model = ModelServer::start(vec![
        Rule::user("give the work away").calls("assign_task", give),
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
    let ends = ["get_task_status", "get_task_result"];
    assert_eq!(calls.len(), ends.len(), "{calls:?}");
    assert!(calls.iter().zip(ends).all(|(call, end)| call.ends_with(end)), "{calls:?}");
    // What led it there is what every session is told.
    assert!(shown.iter().any(|shown| shown.whole.contains("get_task_status without task_id")));
}
