//! The story of the demo: what the client does with its team.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::teller::Teller;
use crate::cli::Failure;
use crate::domain::text::visible_letters::one_line;
use crate::domain::wait_times;
use crate::mcp::client::Client;

/// The pause between two looks at the team: short, as the demo reports how fast an agent was woken.
const LOOK: Duration = Duration::from_millis(20);

/// Plays the whole story; returns how long an idle agent took to wake and answer.
pub(crate) async fn tell(
    client: &Client,
    teller: &Teller,
    bus_directory: &Path,
) -> Result<Duration, Failure> {
    let mut racers = Vec::new();
    for racer in ["reviewer", "verifier"] {
        let task =
            start(client, racer, "Stand by for a request, claim it if you can, and answer it.")
                .await?;
        racers.push((racer, task));
    }
    until(client, "waiting", &["reviewer", "verifier"]).await?;
    teller.tell("reviewer and verifier are working: both wait for a request");

    let writer = start(client, "writer", "Write the release note and have it checked.").await?;
    teller.tell("writer is working: it drafts, then posts a request for any free agent");
    let written = result(client, &writer).await?;
    teller.tell_talk(bus_directory)?;
    teller.tell(&format!("writer says: {}", one_line(&text(&written, "output"))));
    for (racer, task) in racers {
        let done = result(client, &task).await?;
        teller.tell(&format!("{racer} says: {}", one_line(&text(&done, "output"))));
    }

    let sent =
        call(client, "broadcast", json!({ "content": "The release note is out. Thank you all." }))
            .await?;
    teller.tell(&format!("broadcast to {}", list(&sent["delivered_to"])));
    until_read(client, &["writer", "reviewer", "verifier"]).await?;
    teller.tell("each woke, took a turn, and is idle again");

    let began = Instant::now();
    call(client, "send_message", json!({ "to": "writer", "content": "are you there?" })).await?;
    let answer =
        call(client, "wait_for_message", json!({ "from": "writer", "timeout_seconds": 20 }))
            .await?;
    let woken = began.elapsed();
    teller.tell(&format!(
        "orchestrator → writer: are you there?   writer → orchestrator: {}",
        text(&answer["message"], "content")
    ));

    call(client, "shutdown_agent", json!({ "agent": "verifier", "reason": "well done" })).await?;
    until_gone(client, "verifier").await?;
    teller.tell("verifier shut down gracefully");
    Ok(woken)
}

/// Starts an agent with its first task; returns the task.
pub(super) async fn start(client: &Client, name: &str, prompt: &str) -> Result<String, Failure> {
    let arguments = json!({ "agent": "scripted", "name": name, "prompt": prompt });
    let assigned = call(client, "assign_task", arguments).await?;
    Ok(text(&assigned, "task_id"))
}

/// Waits until a task is done, woken by its notice, and returns its result.
pub(super) async fn result(client: &Client, task: &str) -> Result<Value, Failure> {
    let deadline = Instant::now() + wait_times::DEMO_STEP;
    loop {
        let result = call(client, "get_task_result", json!({ "task_id": task })).await?;
        match result["status"].as_str() {
            Some("done") => return Ok(result),
            Some("queued" | "starting" | "running") if Instant::now() < deadline => {
                call(client, "wait_for_message", json!({ "timeout_seconds": 1 })).await?;
            }
            _ => return Err(format!("{task} did not finish: {result}").into()),
        }
    }
}

/// Waits until all of these have a status.
pub(super) async fn until(client: &Client, status: &str, names: &[&str]) -> Result<(), Failure> {
    until_agents(client, "list_agents", |agents| {
        names.iter().all(|name| {
            agents.iter().any(|agent| agent["name"] == *name && agent["status"] == status)
        })
    })
    .await
    .map_err(|seen| format!("{} are not {status}: {seen}", names.join(" and ")).into())
}

/// Waits until all of these have read their messages and are idle again.
async fn until_read(client: &Client, names: &[&str]) -> Result<(), Failure> {
    let read = |agent: &Value| agent["messages_pending"] == 0 && agent["status"] == "idle";
    let all = |agents: &[Value]| {
        names.iter().all(|name| agents.iter().any(|agent| agent["name"] == *name && read(agent)))
    };
    let waited = until_agents(client, "get_agent_status", all).await;
    waited.map_err(|seen| {
        format!("{} still have unread messages: {seen}", names.join(" and ")).into()
    })
}

async fn until_gone(client: &Client, name: &str) -> Result<(), Failure> {
    let gone = until_agents(client, "list_agents", |agents| {
        !agents.iter().any(|agent| agent["name"] == name)
    })
    .await;
    gone.map_err(|seen| format!("{name} is still here: {seen}").into())
}

/// Polls the team until a condition holds: no tool waits for a status.
async fn until_agents(
    client: &Client,
    tool: &str,
    holds: impl Fn(&[Value]) -> bool,
) -> Result<(), Value> {
    let deadline = Instant::now() + wait_times::DEMO_STEP;
    loop {
        let listed = call(client, tool, json!({})).await.map_err(|error| error.to_string())?;
        if listed["agents"].as_array().is_some_and(|agents| holds(agents)) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(listed);
        }
        tokio::time::sleep(LOOK).await;
    }
}

pub(super) async fn call(client: &Client, tool: &str, arguments: Value) -> Result<Value, Failure> {
    Ok(client.call(tool, arguments, wait_times::DEMO_STEP).await?)
}

pub(super) fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> String {
    let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.collect::<Vec<_>>().join(", ")
}
