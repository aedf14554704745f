//! A client that writes any line: for behaviour that a correct client never has.

use std::time::Duration;

use cli_team_bridge::supervisor::{Pipes, Supervised};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

use super::DEADLINE;

/// A program and its bare pipes.
pub(crate) struct Raw {
    child: Supervised,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    calls: u64,
    /// The instructions that the server gives to a model.
    instructions: String,
}

impl Raw {
    /// Opens a session as MCP clients do.
    pub(crate) async fn open(started: (Supervised, Pipes)) -> Self {
        Self::open_with(started, json!({})).await
    }

    /// Opens a session of a client with these capabilities.
    pub(crate) async fn open_with((child, pipes): (Supervised, Pipes), can: Value) -> Self {
        let mut raw = Self {
            child,
            input: pipes.stdin,
            output: BufReader::new(pipes.stdout).lines(),
            calls: 0,
            instructions: String::new(),
        };
        let about = json!({
            "protocolVersion": "2025-06-18", "capabilities": can, "clientInfo": { "name": "raw", "version": "1" }
        });
        let id = raw.request("initialize", about).await;
        let answer = raw.answer(id).await;
        let instructions = &answer["result"]["instructions"];
        raw.instructions = instructions.as_str().unwrap_or_default().to_owned();
        raw.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())
            .await;
        raw
    }

    pub(crate) fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Writes a line as it is.
    pub(crate) async fn say(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.calls += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params });
        self.say(&request.to_string()).await;
        self.calls
    }

    /// Sends a notification.
    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.say(&notification.to_string()).await;
    }

    /// Reads the next message.
    pub(crate) async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(DEADLINE, self.output.next_line()).await;
        let line = line.expect("an answer comes").unwrap();
        let line = line.unwrap_or_else(|| panic!("it ended: {}", self.child.stderr_tail()));
        serde_json::from_str(&line).expect("every line is a message")
    }

    /// Reads on until the answer to a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Reads on until the next push of a message into the session.
    pub(crate) async fn pushed(&mut self) -> Value {
        loop {
            let message = self.hear().await;
            if message["method"] == "notifications/claude/channel" {
                return message["params"].clone();
            }
        }
    }

    /// Calls a tool, and returns the whole answer.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let id = self.request("tools/call", params).await;
        self.answer(id).await
    }

    /// Requests the list of tools again and again without reading answers, until the program has read nothing for a second.
    pub(crate) async fn flood(&mut self) {
        let patience = Duration::from_secs(1);
        while tokio::time::timeout(patience, self.request("tools/list", json!({}))).await.is_ok() {
            assert!(self.calls < 20_000, "it reads on and on");
        }
    }

    /// Closes the input, and checks that the program exits with 0.
    pub(crate) async fn close(self) {
        let Self { child, input, .. } = self;
        drop(input);
        let exit = tokio::time::timeout(DEADLINE, child.exited()).await;
        let exit = exit.expect("a program whose input is closed ends");
        assert_eq!(exit.code, Some(0), "{exit}: {}", child.stderr_tail());
    }
}
