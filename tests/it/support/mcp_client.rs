//! A program in a stage's project and the client that uses it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::{Client, ClientError, Forms, Lifecycle};
use cli_team_bridge::supervisor::{Exit, Pipes, Supervised};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{DEADLINE, PAUSE};

/// An orchestrator or a peer, and its client. It keeps every message that it receives until a test takes it.
pub(crate) struct Member {
    client: Client,
    child: Supervised,
    heard: Mutex<Vec<Value>>,
}

impl Member {
    /// Connects to a program, and returns when it has joined, so that members join in the order of the test.
    pub(crate) async fn connect(child: Supervised, pipes: Pipes) -> Self {
        Self::connect_as(child, pipes, Lifecycle::Session, None).await
    }

    /// Connects in one of the lifecycles, for a user who fills in forms or without a user.
    pub(super) async fn connect_as(
        child: Supervised,
        pipes: Pipes,
        lifecycle: Lifecycle,
        forms: Option<Forms>,
    ) -> Self {
        let connecting = Client::connect_as(pipes.stdout, pipes.stdin, lifecycle, forms);
        let client = match connecting.await {
            Ok(client) => client,
            Err(error) => panic!("{error}; its stderr: {}", child.stderr_tail()),
        };
        let member = Self { client, child, heard: Mutex::default() };
        member.names().await;
        member
    }

    /// Calls a tool that must succeed, and keeps the messages that came along.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        match self.client.call(tool, arguments, DEADLINE).await {
            Ok(mut result) => {
                let inbox = result.as_object_mut().and_then(|all| all.remove("inbox"));
                if let Some(Value::Array(inbox)) = inbox {
                    self.heard.lock().unwrap().extend(inbox);
                }
                result
            }
            Err(error) => panic!("{error}; stderr: {}", self.child.stderr_tail()),
        }
    }

    /// Calls a tool that must succeed, again as long as the server of the bus cannot be reached: a call waits for that for seconds.
    pub(crate) async fn call_until_reached(&self, tool: &str, arguments: Value) -> Value {
        let begun = Instant::now();
        loop {
            match self.client.call(tool, arguments.clone(), DEADLINE).await {
                Ok(result) => return result,
                Err(ClientError::Refused { problem, .. })
                    if problem.contains("cannot be reached") && begun.elapsed() < DEADLINE => {}
                Err(error) => panic!("{error}; stderr: {}", self.child.stderr_tail()),
            }
        }
    }

    /// Calls a tool that must refuse, and returns its error text.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        match self.client.call(tool, arguments, DEADLINE).await {
            Err(ClientError::Refused { problem, .. }) => problem,
            other => panic!("`{tool}` should be refused: {other:?}"),
        }
    }

    /// Starts an agent of the profile `scripted` under this name, with a task; returns the task.
    pub(crate) async fn start(&self, agent: &str, prompt: &str) -> String {
        let new = json!({ "agent": "scripted", "name": agent, "prompt": prompt });
        id(&self.call("assign_task", new).await, "task_id")
    }

    /// Gives a live agent a task; returns the task.
    pub(crate) async fn assign(&self, agent: &str, prompt: &str) -> String {
        let more = json!({ "agent": agent, "prompt": prompt });
        id(&self.call("assign_task", more).await, "task_id")
    }

    /// Starts an agent, lets it do a task, and returns what it said.
    pub(crate) async fn start_and_wait(&self, agent: &str, prompt: &str) -> String {
        let task = self.start(agent, prompt).await;
        self.done(&task).await
    }

    /// Gives a live agent a task, and returns what it said.
    pub(crate) async fn assign_and_wait(&self, agent: &str, prompt: &str) -> String {
        let task = self.assign(agent, prompt).await;
        self.done(&task).await
    }

    /// Waits for the end of a task, and returns its result.
    pub(crate) async fn ended(&self, task: &str) -> Value {
        let task = json!({ "task_id": task });
        self.until("get_task_status", task.clone(), |status| {
            let status = status["status"].as_str();
            !matches!(status, Some("queued" | "starting" | "running"))
        })
        .await;
        self.call("get_task_result", task).await
    }

    /// Waits until a task has succeeded, and returns what its agent said.
    pub(crate) async fn done(&self, task: &str) -> String {
        let result = self.ended(task).await;
        assert_eq!(result["status"], "done", "{result}");
        id(&result, "output")
    }

    /// Waits until a task has this status.
    pub(crate) async fn task_is(&self, task: &str, status: &str) {
        self.until("get_task_status", json!({ "task_id": task }), |task| task["status"] == status)
            .await;
    }

    /// Waits until the output of a running task contains `text`: then its prompt has reached the agent, which `running` alone does not
    /// say.
    pub(crate) async fn until_said(&self, task: &str, text: &str) {
        self.until("get_task_result", json!({ "task_id": task }), |result| {
            result["output"].as_str().is_some_and(|output| output.contains(text))
        })
        .await;
    }

    /// Sends a message.
    pub(crate) async fn send(&self, to: &str, content: &str) -> Value {
        let message = json!({ "to": to, "content": content });
        self.call("send_message", message).await
    }

    /// Calls a tool again and again until its result satisfies a condition: for changes that no tool waits for.
    pub(crate) async fn until(
        &self,
        tool: &str,
        arguments: Value,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let result = self.call(tool, arguments.clone()).await;
            if holds(&result) {
                return result;
            }
            assert!(Instant::now() < deadline, "`{tool}` stays at {result}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until an agent's health satisfies a condition, and returns it.
    pub(crate) async fn until_agent(&self, name: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let found = |all: &Value| of_name(all, name).cloned();
        let all = self
            .until("get_agent_status", json!({}), |all| {
                found(all).is_some_and(|agent| holds(&agent))
            })
            .await;
        found(&all).unwrap()
    }

    /// Waits until an agent has nothing to do and has read its mail.
    pub(crate) async fn until_idle(&self, name: &str) {
        self.until_agent(name, |agent| agent["status"] == "idle" && agent["messages_pending"] == 0)
            .await;
    }

    /// Waits until an agent waits for a message.
    pub(crate) async fn until_waiting(&self, name: &str) {
        self.until_agent(name, |agent| agent["status"] == "waiting").await;
    }

    /// Returns the names of all live members.
    pub(crate) async fn names(&self) -> Vec<String> {
        let all = self.call("list_agents", json!({})).await;
        let agents = all["agents"].as_array().unwrap();
        agents.iter().map(|agent| id(agent, "name")).collect()
    }

    /// Waits for a message, whether it comes by itself or with another result, and takes it.
    pub(crate) async fn hear(&self, matches: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = self.take_heard(&matches) {
                return found;
            }
            let heard = self.heard.lock().unwrap().clone();
            assert!(Instant::now() < deadline, "only this was heard: {heard:#?}");
            let wait = json!({ "timeout_seconds": 5 });
            let answer = self.call("wait_for_message", wait).await;
            if answer["message"].is_object() {
                self.heard.lock().unwrap().push(answer["message"].clone());
            }
        }
    }

    /// Waits for a message from a member, and returns its text.
    pub(crate) async fn hear_from(&self, name: &str) -> String {
        let message =
            self.hear(|message| message["type"] == "message" && message["from"] == name).await;
        id(&message, "content")
    }

    /// Waits for a notice of the bus that contains a text.
    pub(crate) async fn hear_notice(&self, text: &str) {
        self.hear(|message| {
            message["type"] == "notice"
                && message["content"].as_str().is_some_and(|content| content.contains(text))
        })
        .await;
    }

    /// Receives all unread messages, and takes them and all that were kept, without the news of who has come and left.
    pub(crate) async fn all_heard(&self) -> Vec<Value> {
        let unread = self.call("check_messages", json!({ "limit": 500 })).await;
        let mut heard = self.heard.lock().unwrap();
        heard.extend(unread["messages"].as_array().unwrap().iter().cloned());
        let mut all = std::mem::take(&mut *heard);
        all.retain(|message| message["from"] != "bridge" || message["to"] != "#presence");
        all
    }

    fn take_heard(&self, matches: impl Fn(&Value) -> bool) -> Option<Value> {
        let mut heard = self.heard.lock().unwrap();
        let at = heard.iter().position(matches)?;
        Some(heard.remove(at))
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.pid()).unwrap()), signal).unwrap();
    }

    /// Kills the program at once, and returns when it is dead.
    pub(crate) async fn die(self) {
        self.signal(Signal::SIGKILL);
        self.exit().await;
    }

    /// Waits for the end of the program.
    pub(crate) async fn exit(&self) -> Exit {
        let exited = tokio::time::timeout(DEADLINE, self.child.exited()).await;
        exited.expect("the program ends by itself")
    }

    /// Closes the program's input, and checks that it exits with 0; returns how long that took.
    pub(crate) async fn close(self) -> Duration {
        let began = Instant::now();
        let Self { client, child, .. } = self;
        client.close().await;
        let exit = tokio::time::timeout(DEADLINE, child.exited()).await;
        let exit = exit.expect("a program whose input is closed ends");
        assert_eq!(exit.code, Some(0), "{exit}: {}", child.stderr_tail());
        began.elapsed()
    }

    /// Returns the end of the program's stderr.
    pub(crate) fn stderr(&self) -> String {
        self.child.stderr_tail()
    }
}

/// Returns the row of a name in a list of agents.
pub(crate) fn of_name<'a>(all: &'a Value, name: &str) -> Option<&'a Value> {
    let agents = all["agents"].as_array()?;
    agents.iter().find(|agent| agent["name"] == name)
}

fn id(value: &Value, key: &str) -> String {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("no `{key}` in {value}")).to_owned()
}
