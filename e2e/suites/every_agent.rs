//! The lifecycle of an agent: one suite that runs with every kind of real agent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent_kinds::{Kind, Reach};
use crate::model::{Newest, Rule};
use crate::real_project::{Scene, memory_mb};
use crate::results_table::{Column, Matrix};
use crate::support::until;

/// A prompt that proves only that the agent works.
const HELLO: &str = "say hello";

/// An agent starts, gets its tools, asks for permission, calls our tool, and does a second task in the same process.
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

/// An agent gets a message during a turn with the result of a tool, and a message wakes it when it is idle.
pub(crate) async fn gets_messages(kind: &Kind, matrix: &Matrix) {
    // Otherwise it may get the message before it calls the tool.
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
    // Each message was handed over once.
    let handed = scene.stage.events_of("message_handed");
    let to_agent = handed.iter().filter(|handed| handed["member"] == kind.name).count();
    assert_eq!(to_agent, 2, "{handed:?}");
    scene.end().await;
}

/// An agent gets a message during a turn by the method that it supports, and its model is shown the message once.
pub(crate) async fn gets_a_message_by_its_own_method(kind: &Kind, matrix: &Matrix) {
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
    let (first, priority, method, column) = match kind.reach {
        Reach::Steer => ("steer", "normal", "steer", Column::Steer),
        Reach::Drain(_) => ("drain", "normal", "drain", Column::Drain),
        Reach::Interrupt => ("interrupt", "urgent", "interrupt", Column::Urgent),
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
        // A steered message counts as seen only when the turn goes on.
        let taken = kind.reach == Reach::Steer && !scene.transcript("taken").is_empty();
        handed().iter().any(|handed| taken || is_seen(handed))
    })
    .await;
    matrix.note(kind.name, column, &seconds(began.elapsed()));
    scene.model.open("it is handed");
    let output = scene.done(&task).await;
    assert!(output.ends_with("heard 4714"), "{output}; {}", scene.shown_to_models());
    scene.lead.until_idle(kind.name).await;
    let methods: Vec<_> = handed().iter().map(|handed| handed["way"].clone()).collect();
    assert_eq!(methods, [method], "{}", scene.shown_to_models());
    let shown = scene.model.shown();
    let most = shown.iter().map(|shown| shown.whole.matches("] the code is 4714").count()).max();
    let most_urgent =
        shown.iter().map(|shown| shown.whole.matches("] urgent: the code is 4714").count()).max();
    assert_eq!(most.max(most_urgent), Some(1), "{}", scene.shown_to_models());
    scene.end().await;
}

/// An agent ends a cancelled turn, does the next task in the same process, and exits after a shutdown.
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

/// An agent that is killed during a call of our tool leaves no process.
pub(crate) async fn is_killed(kind: &Kind, matrix: &Matrix) {
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

/// An agent forgets its conversation when a task asks for a fresh session, and has our tools and permissions there as well.
pub(crate) async fn starts_fresh_session(kind: &Kind, matrix: &Matrix) {
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

/// An agent that was shut down is resumed by its name, with its conversation.
pub(crate) async fn resumes(kind: &Kind, matrix: &Matrix) {
    let rules = vec![
        Rule::user("remember 4715").says("noted"),
        Rule::user("what was it").says("I remember."),
    ];
    let scene = Scene::new(&[kind], rules).await;
    let first = scene.start(kind, "remember 4715").await;
    assert_eq!(scene.done(&first).await, "noted", "{}", scene.shown_to_models());
    let minute = this_minute();
    let result = scene.lead.call("get_task_result", json!({ "task_id": first })).await;
    matrix.note(kind.name, Column::Usage, &usage_fields(&result["usage"]));
    scene.lead.call("shutdown_agent", json!({ "agent": kind.name })).await;
    scene.lead.until_agent(kind.name, |agent| agent["status"] == "dead").await;
    scene.until_agents_are_gone().await;
    if kind.loses_young_sessions {
        until("another minute begins", || this_minute() != minute).await;
    }

    let resumed = json!({ "agent": kind.name, "prompt": "what was it", "resume": true });
    let began = Instant::now();
    let second = scene.lead.call("assign_task", resumed).await;
    let second = second["task_id"].as_str().unwrap().to_owned();
    let result = scene.lead.ended(&second).await;
    assert_eq!(result["status"], "done", "{result}; {}", scene.shown_to_models());
    let stderr = scene.lead.stderr();
    assert_eq!(result["context"], "resumed", "{result}; {stderr}");
    let took = began.elapsed();
    let shown = scene.model.shown();
    let prompts: Vec<_> =
        shown.iter().filter(|shown| shown.rule.as_deref() == Some("what was it")).collect();
    let has_history = prompts.iter().all(|shown| shown.whole.contains("remember 4715"));
    assert!(!prompts.is_empty() && has_history, "{}", scene.shown_to_models());
    matrix.note(kind.name, Column::Resume, &seconds(took));
    scene.end().await;
}

/// A model that the agent does not offer is refused with the list of models that it offers.
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
    // The agent stays, and accepts a model that it offers.
    let offered = json!({ "agent": kind.name, "prompt": HELLO, "model": known[0] });
    let assigned = scene.lead.call("assign_task", offered).await;
    let result = scene.lead.ended(assigned["task_id"].as_str().unwrap()).await;
    assert_ne!(result["error"]["class"], "model", "{result}");
    scene.end().await;
}

/// Returns the minute of the wall clock.
fn this_minute() -> i64 {
    cli_team_bridge::sys::clock::now().wall_ms / 60_000
}

/// Names the figures of its usage that an agent reports.
fn usage_fields(usage: &Value) -> String {
    let fields = [("total_tokens", "tokens"), ("cost", "cost"), ("context_size", "context")];
    let reported = fields.iter().filter(|(key, _)| usage[*key].is_number());
    let reported: Vec<_> = reported.map(|(_, word)| *word).collect();
    if reported.is_empty() { "nothing".to_owned() } else { reported.join(", ") }
}

/// The error says how to log in when the model server rejects the key.
pub(crate) async fn says_how_to_log_in(kind: &Kind, _: &Matrix) {
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

/// The error says how to log in when the variable with the key is missing, although codex reports that as the text of a successful
/// turn.
pub(crate) async fn says_how_to_log_in_without_its_key() {
    const KEYLESS: Kind = Kind { env: |_| Vec::new(), ..crate::agent_kinds::CODEX };
    let scene = Scene::new(&[&KEYLESS], vec![Rule::user(HELLO).says("hello")]).await;
    let task = scene.start(&KEYLESS, HELLO).await;
    let result = scene.lead.ended(&task).await;
    assert_eq!(result["status"], "failed", "{result}");
    assert_eq!(result["error"]["class"], "auth", "{result}");
    assert!(result["error"]["login"].is_string(), "{result}");
    scene.end().await;
}

/// A task whose model cannot be used fails with the model server's reason.
pub(crate) async fn reports_a_failing_model(kind: &Kind, _: &Matrix) {
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
