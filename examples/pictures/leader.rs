//! A session that leads the team: an MCP client of the bridge's `orchestrator`, as small as the pictures need it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::Outcome;

pub(crate) struct Leader {
    program: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    calls: u64,
}

impl Leader {
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let mut program =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let requests = program.stdin.take().ok_or("the bridge has no stdin")?;
        let answers = BufReader::new(program.stdout.take().ok_or("the bridge has no stdout")?);
        let mut leader = Self { program, requests, answers, calls: 0 };
        leader.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                     "clientInfo": { "name": "pictures", "version": "1" } }),
        )?;
        leader.put(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(leader)
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<()> {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        if answer["result"]["isError"] == json!(true) || answer.get("error").is_some() {
            return Err(answer.to_string().into());
        }
        Ok(())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.calls += 1;
        let id = self.calls;
        self.put(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        while self.answers.read_line(&mut line)? > 0 {
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == json!(id) {
                return Ok(answer);
            }
            line.clear();
        }
        Err("the bridge has ended".into())
    }

    fn put(&mut self, message: &Value) -> Outcome<()> {
        writeln!(self.requests, "{message}")?;
        Ok(())
    }

    /// Ends the session, and with it the team.
    pub(crate) fn end(mut self) -> Outcome<()> {
        drop(self.requests);
        self.program.wait()?;
        Ok(())
    }
}
