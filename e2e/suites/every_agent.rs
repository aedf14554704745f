//! The lifecycle of an agent: one suite, played by every kind of real agent there is.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent_kinds::{Kind, Reach};
use crate::model::{Newest, Rule};
use crate::real_project::{Scene, memory_mb};
use crate::results_table::{Column, Matrix};
use crate::support::until;

/// What an agent is asked to say that proves nothing but that it works.
const HELLO: &str = "say hello";

/// Starts, has its tools, asks for permission and gets it, calls our tool, and does a second task in the same process.
pub(crate) async fn works(kind: &Kind, matrix: &Matrix) {
    let scene = Scene::new(
        &[kind],
        vec![
            Rule::result("msg-").says("I have written."),
            Rule::user("greet the lead")
                .calls("send_message", json!({ "to": "orchestrator", "content": "good morning" })),
            Rule::user(HELLO).says("hello again"),
        ],
    )
    .await;
    let began = Instant::now();
    let task = scene.start(kind, "greet the lead").await;
    scene.lead.until_agent(kind.name, |agent| agent["tools"] == "ready").await;
    let ready = began.elapsed();
    matrix.note(kind.name, Column::Start, &seconds(ready));
    matrix.note(kind.name, Column::Memory, &format!("{} MB", memory_mb(&scene.of_agents())));
    matrix.note(kind.name, Column::Tools, "yes");

    assert_eq!(scene.lead.hear_from(kind.name).await, "good morning");
    assert_eq!(scene.done(&task).await, "I have written.", "{}", scene.shown_to_models());
    matrix.note(kind.name, Column::Called, "yes");
    let asked = scene.transcript("permission");
    let allowed = asked.iter().any(|line| line["answer"] == "allow_once");
    assert!(allowed, "it asked for permission and got it: {asked:?}");
    matrix.note(kind.name, Column::Permission, "asked, allowed once");

    let began = Instant::now();
    let second = scene.lead.assign(kind.name, HELLO).await;
    assert_eq!(scene.done(&second).await, "hello again");
    matrix.note(kind.name, Column::Second, &seconds(began.elapsed()));
    assert_eq!(scene.processes_of(kind), 1, "it is the same process");
    scene.end().await;
}

/// Gets a message in the middle of a turn, with the result of a tool, and is woken by one when it is idle.
pub(crate) async fn hears(kind: &Kind, matrix: &Matrix) {
    // Else it may get the message before it calls the tool.
    let profile = format!("[agents.{}]\nmid_turn = \"never\"", kind.name);
    let scene = Scene::with_profiles(
        &[kind],
        vec![
            Rule::result("the code is 4711").says("heard 4711"),
            Rule::result("msg-").says("I have answered."),
            Rule::user("look around").behind("message sent").calls("list_agents", json!({})),
            Rule::user("the word is 4712").calls(
                "send_message",
                json!({ "to": "orchestrator", "content": "awake for 4712" }),
            ),
        ],
        &profile,
    )
    .await;
    let task = scene.start(kind, "look around").await;
    scene.until_answered("look around").await;
    scene.lead.send(kind.name, "the code is 4711").await;
    scene.model.open("message sent");
    assert_eq!(scene.done(&task).await, "heard 4711", "{}", scene.shown_to_models());
    assert!(
        scene.model.was_shown_to(kind.api, Newest::ToolResult, "the code is 4711"),
        "{}",
        scene.shown_to_models()
    );
    matrix.note(kind.name, Column::Piggyback, "yes");

    scene.lead.until_idle(kind.name).await;
    let began = Instant::now();
    scene.lead.send(kind.name, "the word is 4712").await;
    assert_eq!(scene.lead.hear_from(kind.name).await, "awake for 4712");
    matrix.note(kind.name, Column::Wake, &seconds(began.elapsed()));
    assert!(
        scene.model.was_shown_to(kind.api, Newest::User, "the word is 4712"),
        "{}",
        scene.shown_to_models()
    );
    scene.lead.until_idle(kind.name).await;
    // Each message went once: none was offered twice.
    let handed = scene.stage.events_of("message_handed");
    let to_agent = handed.iter().filter(|handed| handed["member"] == kind.name).count();
    assert_eq!(to_agent, 2, "{handed:?}");
    scene.end().await;
}

/// Is reached in the middle of a turn by its own way, and its model is shown the message once.
pub(crate) async fn is_reached(kind: &Kind, matrix: &Matrix) {
    let task = Rule::user("think it over");
    let task = match kind.reach {
        Reach::Steer => task.behind("it is handed").calls("list_agents", json!({})),
        Reach::Drain(own) => {
            task.behind("it is sent").calls_own(own, json!({ "file_path": "notes.txt" }))
        }
        Reach::Interrupt => task.behind("never"),
    };
    let rules = vec![
        Rule::user("the code is 4714").says("heard 4714"),
        Rule::result("the code is 4714").says("heard 4714"),
        task,
    ];
    let scene = Scene::new(&[kind], rules).await;
    let task = scene.start(kind, "think it over").await;
    scene.until_answered("think it over").await;
    let (first, priority, way, column) = match kind.reach {
        Reach::Steer => ("steer", "normal", "steer", Column::Steer),
        Reach::Drain(_) => ("drain", "normal", "drain", Column::Drain),
        Reach::Interrupt => ("interrupt", "urgent", "inject", Column::Urgent),
    };
    scene.lead.until_agent(kind.name, |agent| agent["delivery"][0] == first).await;
    let began = Instant::now();
    let message = json!({ "to": kind.name, "content": "the code is 4714", "priority": priority });
    scene.lead.call("send_message", message).await;
    scene.model.open("it is sent");
    let handed = || {
        let handed = scene.stage.events_of("message_handed").into_iter();
        let to_agent = handed.filter(|handed| handed["member"] == kind.name);
        to_agent.collect::<Vec<_>>()
    };
    until("the message is handed over, and taken or seen", || {
        let seen = scene.stage.events_of("message_seen");
        let is_seen = |handed: &Value| seen.iter().any(|seen| seen["call"] == handed["call"]);
        // What was steered counts as seen only when the turn goes on.
        let taken = kind.reach == Reach::Steer && !scene.transcript("taken").is_empty();
        handed().iter().any(|handed| taken || is_seen(handed))
    })
    .await;
    matrix.note(kind.name, column, &seconds(began.elapsed()));
    scene.model.open("it is handed");
    let said = scene.done(&task).await;
    assert!(said.ends_with("heard 4714"), "{said}; {}", scene.shown_to_models());
    scene.lead.until_idle(kind.name).await;
    let ways: Vec<_> = handed().iter().map(|handed| handed["way"].clone()).collect();
    assert_eq!(ways, [way], "{}", scene.shown_to_models());
    let shown = scene.model.shown();
    let most = shown.iter().map(|shown| shown.whole.matches("] the code is 4714").count()).max();
    let most_urgent =
        shown.iter().map(|shown| shown.whole.matches("] urgent: the code is 4714").count()).max();
    assert_eq!(most.max(most_urgent), Some(1), "{}", scene.shown_to_models());
    scene.end().await;
}

/// Ends a turn that is cancelled, works on in the same process, and is gone after a shutdown.
pub(crate) async fn stops(kind: &Kind, matrix: &Matrix) {
    let scene = Scene::new(
        &[kind],
        vec![Rule::user("think for ever").behind("never"), Rule::user(HELLO).says("hello again")],
    )
    .await;
    let task = scene.start(kind, "think for ever").await;
    scene.until_answered("think for ever").await;
    let began = Instant::now();
    let cancelled = scene.lead.call("cancel_task", json!({ "task_id": task })).await;
    assert_eq!(cancelled["cancelled"], true, "{cancelled}");
    matrix.note(kind.name, Column::Cancel, &seconds(began.elapsed()));
    let second = scene.lead.assign(kind.name, HELLO).await;
    assert_eq!(scene.done(&second).await, "hello again", "{}", scene.shown_to_models());
    assert_eq!(scene.processes_of(kind), 1, "it is the same process");

    let began = Instant::now();
    scene.lead.call("shutdown_agent", json!({ "agent": kind.name })).await;
    scene.lead.until_agent(kind.name, |agent| agent["status"] == "dead").await;
    matrix.note(kind.name, Column::Shutdown, &seconds(began.elapsed()));
    scene.until_agents_are_gone().await;
    scene.end().await;
}

/// Is killed in the middle of a call of our tool, and leaves nothing.
pub(crate) async fn dies(kind: &Kind, matrix: &Matrix) {
    let wait = json!({ "timeout_seconds": 100 });
    let scene =
        Scene::new(&[kind], vec![Rule::user("wait for me").calls("wait_for_message", wait)]).await;
    let task = scene.start(kind, "wait for me").await;
    scene.lead.until_waiting(kind.name).await;
    assert!(!scene.of_agents().is_empty());
    let began = Instant::now();
    let killed = scene.lead.call("kill_agent", json!({ "agent": kind.name })).await;
    let took = began.elapsed();
    assert_eq!(killed, json!({ "killed": true }));
    scene.until_agents_are_gone().await;
    let result: Value = scene.lead.ended(&task).await;
    assert_ne!(result["status"], "done", "{result}");
    matrix.note(kind.name, Column::Kill, &seconds(took));
    until("its session has ended", || !scene.stage.events_of("member_left").is_empty()).await;
    scene.end().await;
}

/// Forgets what it was told when a task is to begin anew, and has our tools and our permission in the new session too.
pub(crate) async fn begins_anew(kind: &Kind, matrix: &Matrix) {
    let greet = json!({ "to": "orchestrator", "content": "good evening" });
    let rules = vec![
        Rule::result("msg-").says("I have written."),
        Rule::user("greet the lead").calls("send_message", greet),
        Rule::user("remember 4713").says("noted"),
    ];
    let scene = Scene::new(&[kind], rules).await;
    let first = scene.start(kind, "remember 4713").await;
    assert_eq!(scene.done(&first).await, "noted", "{}", scene.shown_to_models());
    let mut again = kind.task("greet the lead");
    again["fresh"] = json!(true);
    let began = Instant::now();
    let second = scene.lead.call("assign_task", again).await;
    let second = second["task_id"].as_str().unwrap().to_owned();
    assert_eq!(scene.done(&second).await, "I have written.", "{}", scene.shown_to_models());
    matrix.note(kind.name, Column::Fresh, &seconds(began.elapsed()));
    assert_eq!(scene.lead.hear_from(kind.name).await, "good evening");
    assert_eq!(scene.processes_of(kind), 1 + usize::from(kind.one_session));
    let shown = scene.model.shown();
    let (before, after): (Vec<_>, Vec<_>) = shown
        .iter()
        .filter(|shown| shown.rule.is_some())
        .partition(|shown| shown.rule.as_deref() == Some("remember 4713"));
    assert!(!before.is_empty() && !after.is_empty(), "{}", scene.shown_to_models());
    assert!(before.iter().all(|shown| shown.whole.contains("remember 4713")));
    assert!(
        after.iter().all(|shown| !shown.whole.contains("remember 4713")),
        "{}",
        scene.shown_to_models()
    );
    scene.end().await;
}

/// Ends, and is resumed by its name, with its conversation.
pub(crate) async fn returns(kind: &Kind, matrix: &Matrix) {
    let rules = vec![
        Rule::user("remember 4715").says("noted"),
        Rule::user("what was it").says("I remember."),
    ];
    let scene = Scene::new(&[kind], rules).await;
    let first = scene.start(kind, "remember 4715").await;
    assert_eq!(scene.done(&first).await, "noted", "{}", scene.shown_to_models());
    let minute = this_minute();
    let told = scene.lead.call("get_task_result", json!({ "task_id": first })).await;
    matrix.note(kind.name, Column::Usage, &used(&told["usage"]));
    scene.lead.call("shutdown_agent", json!({ "agent": kind.name })).await;
    scene.lead.until_agent(kind.name, |agent| agent["status"] == "dead").await;
    scene.until_agents_are_gone().await;
    if kind.loses_young_sessions {
        until("another minute begins", || this_minute() != minute).await;
    }

    let back = json!({ "agent": kind.name, "prompt": "what was it", "resume": true });
    let began = Instant::now();
    let second = scene.lead.call("assign_task", back).await;
    let second = second["task_id"].as_str().unwrap().to_owned();
    let result = scene.lead.ended(&second).await;
    assert_eq!(result["status"], "done", "{result}; {}", scene.shown_to_models());
    let stderr = scene.lead.stderr();
    assert_eq!(result["context"], "resumed", "{result}; {stderr}");
    let took = began.elapsed();
    let shown = scene.model.shown();
    let asked: Vec<_> =
        shown.iter().filter(|shown| shown.rule.as_deref() == Some("what was it")).collect();
    let knows = asked.iter().all(|shown| shown.whole.contains("remember 4715"));
    assert!(!asked.is_empty() && knows, "{}", scene.shown_to_models());
    matrix.note(kind.name, Column::Resume, &seconds(took));
    scene.end().await;
}

/// Refuses a model that the agent does not offer, with those that it does.
pub(crate) async fn refuses_an_unknown_model(kind: &Kind, matrix: &Matrix) {
    let scene = Scene::new(&[kind], vec![Rule::user(HELLO).says("hello")]).await;
    let mut task = kind.task(HELLO);
    task["model"] = json!("no-such-model-4716");
    let task = scene.lead.call("assign_task", task).await;
    let result = scene.lead.ended(task["task_id"].as_str().unwrap()).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "model", "{result}");
    let known = result["error"]["known"].as_array().unwrap();
    assert!(!known.is_empty(), "{result}");
    matrix.note(kind.name, Column::Models, &known.len().to_string());
    // The agent stays, and takes one that it offers.
    let right = json!({ "agent": kind.name, "prompt": HELLO, "model": known[0] });
    let right = scene.lead.call("assign_task", right).await;
    let result = scene.lead.ended(right["task_id"].as_str().unwrap()).await;
    assert_ne!(result["error"]["class"], "model", "{result}");
    scene.end().await;
}

/// Returns the minute that the wall clock shows.
fn this_minute() -> i64 {
    cli_team_bridge::sys::clock::now().wall_ms / 60_000
}

/// Says in a few words what an agent tells of its tokens and its cost.
fn used(usage: &Value) -> String {
    let told = [("total_tokens", "tokens"), ("cost", "cost"), ("context_size", "context")];
    let told = told.iter().filter(|(key, _)| usage[*key].is_number());
    let told: Vec<_> = told.map(|(_, word)| *word).collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

/// Says how to log in when the model server wants a login.
pub(crate) async fn asks_for_a_login(kind: &Kind, _: &Matrix) {
    let rules = vec![Rule::user(HELLO).fails(401, "the key is not valid")];
    let scene = Scene::new(&[kind], rules).await;
    let task = scene.start(kind, HELLO).await;
    let result = scene.lead.ended(&task).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "auth", "{result}");
    assert!(result["error"]["login"].is_string(), "{result}");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("; to log in, "), "{message}");
    scene.end().await;
}

/// Says how to log in when the variable with the key is missing, which codex tells as the text of a turn that ends well.
pub(crate) async fn misses_its_key() {
    const KEYLESS: Kind = Kind { env: |_| Vec::new(), ..crate::agent_kinds::CODEX };
    let scene = Scene::new(&[&KEYLESS], vec![Rule::user(HELLO).says("hello")]).await;
    let task = scene.start(&KEYLESS, HELLO).await;
    let result = scene.lead.ended(&task).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "auth", "{result}");
    assert!(result["error"]["login"].is_string(), "{result}");
    scene.end().await;
}

/// Fails a task whose model cannot be used, with the reason.
pub(crate) async fn tells_of_a_failing_model(kind: &Kind, _: &Matrix) {
    let rules = vec![Rule::user(HELLO).fails(400, "there is no such model")];
    let scene = Scene::new(&[kind], rules).await;
    let task = scene.start(kind, HELLO).await;
    let result = scene.lead.ended(&task).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "model", "{result}");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("there is no such model"), "{message}");
    scene.end().await;
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
