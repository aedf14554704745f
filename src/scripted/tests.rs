//! The agent over in-memory pipes, driven by a client that writes its JSON by hand, so that the protocol library is not tested against
//! itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::play::agent_loop::{Agent, Ending};
use super::script::script_format::Script;

mod files;
mod midturn;
mod servers;
mod shipped_scripts;

/// Far more than any step here takes; a test that reaches it has failed.
const DEADLINE: Duration = Duration::from_secs(20);

struct RawClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: Option<WriteHalf<DuplexStream>>,
    terminate: mpsc::Sender<()>,
    is_introduced: bool,
    agent: JoinHandle<Ending>,
}

impl RawClient {
    fn start(script: &str, table: Option<&str>) -> Self {
        let script = Script::parse(Path::new("test.toml"), script).unwrap();
        let table = table.map(|table| script.named(table).unwrap());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = split(theirs);
        let (terminate, terminated) = mpsc::channel(1);
        let agent =
            tokio::spawn(Agent::new(Arc::new(script), table).serve(reader, writer, terminated));
        let (output, input) = split(ours);
        Self {
            lines: BufReader::new(output).lines(),
            input: Some(input),
            terminate,
            is_introduced: false,
            agent,
        }
    }

    /// Starts an agent with these turns and opens its first session.
    async fn with_turns(turns: &str) -> Self {
        let mut client = Self::start(&format!("[agents.default]\nturns = [{turns}]"), None);
        client.open(json!([])).await;
        client
    }

    /// Introduces the client and returns the agent's answer.
    async fn initialize(&mut self) -> Value {
        self.is_introduced = true;
        self.send("init", "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}))
            .await;
        self.answer("init").await
    }

    /// Opens a session, after the introduction if there was none yet.
    async fn open(&mut self, servers: Value) -> Value {
        if !self.is_introduced {
            self.initialize().await;
        }
        self.send("new", "session/new", json!({"cwd": "/", "mcpServers": servers})).await;
        self.answer("new").await
    }

    async fn write(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn send(&mut self, id: &str, method: &str, params: Value) {
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn prompt(&mut self, id: &str, text: &str) {
        let params = json!({"sessionId": "session-1", "prompt": [{"type": "text", "text": text}]});
        self.send(id, "session/prompt", params).await;
    }

    async fn cancel(&mut self) {
        let params = json!({"sessionId": "session-1"});
        self.write(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params})).await;
    }

    async fn line(&mut self) -> Option<String> {
        tokio::time::timeout(DEADLINE, self.lines.next_line())
            .await
            .expect("the agent says something")
            .unwrap()
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.line().await.expect("the agent is there")).unwrap()
    }

    /// Returns the `result` or `error` of a request, and skips all messages before it.
    async fn answer(&mut self, id: &str) -> Value {
        loop {
            let message = self.message().await;
            if message["id"] == id && message.get("method").is_none() {
                return message.get("result").or_else(|| message.get("error")).unwrap().clone();
            }
        }
    }

    /// Returns the next update.
    async fn update(&mut self) -> Value {
        let message = self.message().await;
        assert_eq!(message["method"], "session/update", "{message}");
        message["params"]["update"].clone()
    }

    /// Returns the text until a prompt is answered, and the answer.
    async fn said(&mut self, id: &str) -> (String, Value) {
        let mut said = String::new();
        loop {
            let message = self.message().await;
            if message["id"] == id {
                let answer =
                    message.get("result").or_else(|| message.get("error")).unwrap().clone();
                return (said, answer);
            }
            said.push_str(
                message["params"]["update"]["content"]["text"].as_str().unwrap_or_default(),
            );
        }
    }

    async fn end(mut self) -> Ending {
        self.input = None;
        // A half of a split stream closes the stream only together with the other half.
        drop(self.lines);
        tokio::time::timeout(DEADLINE, self.agent).await.expect("the agent ends").unwrap()
    }
}

#[tokio::test]
async fn the_agent_introduces_itself() {
    let mut client =
        RawClient::start("[agents.default.start]\nload = true\nmodels = ['small', 'large']", None);
    let answer = client.initialize().await;
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentCapabilities"]["loadSession"], true);
    let session = client.open(json!([])).await;
    assert_eq!(session["sessionId"], "session-1");
    assert_eq!(session["configOptions"][0]["currentValue"], "small");
    assert_eq!(client.end().await, Ending::Closed);
}

#[tokio::test]
async fn a_turn_plays_its_steps_in_their_order() {
    let mut client = RawClient::with_turns(
        "{ steps = [{ think = 'hm' }, { say = '{{name}}: {{prompt}}' }, { stream = 'abcde', chunk = 2, every_ms = 0 },
           { plan = ['one', 'two'] }, { usage = { used = 10, size = 1000 } }, { stop = true }, { say = 'never' }] }",
    )
    .await;
    client.prompt("p", "hello").await;
    let mut updates = Vec::new();
    for _ in 0..7 {
        let update = client.update().await;
        let text = update["content"]["text"].as_str().unwrap_or_default();
        updates.push(format!("{} {text}", update["sessionUpdate"].as_str().unwrap()));
    }
    assert_eq!(
        updates,
        [
            "agent_thought_chunk hm",
            "agent_message_chunk default: hello",
            "agent_message_chunk ab",
            "agent_message_chunk cd",
            "agent_message_chunk e",
            "plan ",
            "usage_update ",
        ]
    );
    assert_eq!(client.answer("p").await["stopReason"], "end_turn");
}

#[tokio::test]
async fn the_first_turn_that_fits_and_is_not_used_up_is_played() {
    let mut client = RawClient::with_turns(
        "{ when = 'red', times = 1, steps = [{ say = 'first' }] },
         { when = 'red', steps = [{ say = 'again' }] }, { when = 'blue', steps = [{ say = 'sea' }] }",
    )
    .await;
    for (prompt, expected) in
        [("red", "first"), ("a red car", "again"), ("blue", "sea"), ("red", "again")]
    {
        client.prompt("p", prompt).await;
        assert_eq!(client.said("p").await.0, expected, "{prompt}");
    }
    client.prompt("p", "green").await;
    let (_, error) = client.said("p").await;
    assert_eq!(error["message"], "no turn of `default` is left that matches this prompt");
}

#[tokio::test]
async fn a_turn_can_fail_refuse_and_have_an_unknown_name() {
    let mut client = RawClient::with_turns(
        "{ when = 'a', steps = [{ fail = 'no {{prompt}}', code = -32000 }] }, { when = 'b', steps = [{ refuse = true }] },
         { when = 'c', steps = [{ say = '{{nothing.at_all}}' }] }, { when = 'd', steps = [{ call = 'send_message' }] }",
    )
    .await;
    let expected = [
        ("a", json!({"code": -32000, "message": "no a"})),
        ("b", json!({"stopReason": "refusal"})),
        (
            "c",
            json!({"code": -32603, "message":
                "`{{nothing.at_all}}` does not exist; use one of `mode`, `model`, `name`, `prompt`"}),
        ),
        ("d", json!({"code": -32603, "message": "no MCP server was given"})),
    ];
    for (prompt, expected) in expected {
        client.prompt("p", prompt).await;
        assert_eq!(client.said("p").await.1, expected);
    }
}

#[tokio::test]
async fn a_cancelled_turn_ends_at_once_and_the_session_continues() {
    let mut client =
        RawClient::with_turns("{ steps = [{ say = 'working' }, { hang = true }] }").await;
    for id in ["one", "two"] {
        client.prompt(id, "go").await;
        client.update().await;
        client.cancel().await;
        assert_eq!(client.answer(id).await["stopReason"], "cancelled");
    }
}

#[tokio::test]
async fn a_turn_that_ignores_cancelling_ends_with_its_session() {
    let mut client = RawClient::with_turns(
        "{ steps = [{ ignore_cancel = true }, { say = 'working' }, { hang = true }] }",
    )
    .await;
    client.prompt("p", "go").await;
    client.update().await;
    client.cancel().await;
    // This is answered after the cancellation was received, and the turn still runs.
    client.prompt("second", "go").await;
    assert_eq!(
        client.answer("second").await["message"],
        "a turn is already running in session `session-1`"
    );
    client.send("close", "session/close", json!({"sessionId": "session-1"})).await;
    let mut answers = [client.message().await, client.message().await];
    answers.sort_by_key(|answer| answer["id"].to_string());
    assert_eq!(answers[0]["id"], "close");
    assert_eq!(answers[1]["result"]["stopReason"], "cancelled");
    client.prompt("p", "go").await;
    assert_eq!(client.answer("p").await["message"], "there is no session `session-1`");
}

#[tokio::test]
async fn the_answer_to_a_permission_question_is_obeyed() {
    let mut client = RawClient::with_turns(
        "{ when = 'strict', steps = [{ ask_permission = 'write {{prompt}}', kind = 'edit' }, { say = 'written' }] },
         { steps = [{ ask_permission = 'x', on_reject = 'go_on', save = 'it' }, { say = '{{it.option}} {{it.allowed}}' }] }",
    )
    .await;
    let allow = json!({"outcome": "selected", "optionId": "allow_once"});
    let reject = json!({"outcome": "selected", "optionId": "reject_once"});
    let cancelled = json!({"outcome": "cancelled"});
    for (prompt, outcome, said, stop) in [
        ("strict", &allow, "written", "end_turn"),
        ("strict", &reject, "", "end_turn"),
        ("strict", &cancelled, "", "cancelled"),
        ("free", &reject, "reject_once false", "end_turn"),
    ] {
        client.prompt("p", prompt).await;
        assert_eq!(
            client.update().await["status"],
            Value::Null,
            "pending is the default and left out"
        );
        let question = client.message().await;
        assert_eq!(question["method"], "session/request_permission");
        let options = question["params"]["options"].as_array().unwrap();
        let kinds: Vec<&Value> = options.iter().map(|option| &option["kind"]).collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
        client
            .write(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}}))
            .await;
        let (text, answer) = client.said("p").await;
        assert_eq!(
            (text.as_str(), &answer["stopReason"]),
            (said, &json!(stop)),
            "{prompt} {outcome}"
        );
    }
}

#[tokio::test]
async fn a_crash_comes_after_all_earlier_output_and_leaves_the_prompt_unanswered() {
    let mut client =
        RawClient::with_turns("{ steps = [{ say = 'last words' }, { crash = 7 }] }").await;
    client.prompt("p", "go").await;
    assert_eq!(client.update().await["content"]["text"], "last words");
    assert_eq!(client.line().await, None);
    assert_eq!(client.end().await, Ending::Crashed(7));
}

#[tokio::test]
async fn a_raw_line_is_written_unchanged_and_in_order() {
    let mut client = RawClient::with_turns(
        r#"{ steps = [{ say = "_scripted/raw" }, { raw = "{half [31m" }, { say = "after" }] }"#,
    )
    .await;
    client.prompt("p", "go").await;
    assert_eq!(client.update().await["content"]["text"], "_scripted/raw");
    assert_eq!(client.line().await.unwrap(), "{half [31m");
    assert_eq!(client.update().await["content"]["text"], "after");
}

#[tokio::test]
async fn steps_repeat_and_branch() {
    let mut client = RawClient::with_turns(
        "{ steps = [{ repeat = 3, steps = [{ say = 'x' }] },
           { if = '{{prompt}}', steps = [{ say = 'yes' }], else = [{ say = 'no' }] }] }",
    )
    .await;
    client.prompt("p", "go").await;
    assert_eq!(client.said("p").await.0, "xxxyes");
    client.prompt("p", "").await;
    assert_eq!(client.said("p").await.0, "xxxno");
}

#[tokio::test]
async fn a_member_plays_the_table_of_its_name() {
    let script = "agents.codex.turns = [{ steps = [{ say = '{{name}}' }] }]
                  agents.writer.turns = [{ steps = [{ say = 'w' }] }]";
    let server = |name: &str| {
        let env = json!([{"name": "BRIDGE_MEMBER", "value": name}]);
        json!([{"name": "bridge", "command": "/nowhere/server", "args": [], "env": env}])
    };
    let mut client = RawClient::start(script, None);
    client.open(server("codex-2")).await;
    client.prompt("p", "go").await;
    assert_eq!(client.said("p").await.0, "codex-2");
    let error = client.open(server("gemini")).await;
    assert_eq!(
        error["message"],
        "the script has no table for `gemini`, nor `default`; it has `codex`, `writer`"
    );
    let mut client = RawClient::start(script, Some("writer"));
    client.open(server("codex-2")).await;
    client.prompt("p", "go").await;
    assert_eq!(client.said("p").await.0, "w");
}

#[tokio::test]
async fn a_session_continues_without_the_tools_of_a_server_that_does_not_start() {
    let mut client = RawClient::start(
        "agents.default.turns = [{ steps = [{ say = 'so be it' }, { call = 'where' }] }]",
        None,
    );
    let server = json!([{"name": "bridge", "command": "/nowhere/server", "args": [], "env": []}]);
    client.open(server).await;
    client.prompt("p", "go").await;
    let (said, error) = client.said("p").await;
    assert_eq!(said, "so be it");
    let expected = "failed to start the MCP server `bridge`: /nowhere/server: No such file or directory (os error 2)";
    assert_eq!(error["message"], expected);
}

#[tokio::test]
async fn an_ignored_server_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = RawClient::start("agents.default.start.mcp = 'ignore'", None);
    let server =
        json!([{"name": "s", "command": "/bin/sh", "args": ["-c", "echo > started"], "env": []}]);
    client.initialize().await;
    client.send("new", "session/new", json!({"cwd": folder.path(), "mcpServers": server})).await;
    client.answer("new").await;
    assert_eq!(client.end().await, Ending::Closed);
    assert!(!folder.path().join("started").exists());
}

#[tokio::test]
async fn process_settings_of_another_table_are_ignored() {
    let mut client = RawClient::start(
        "agents.default.start.crash = 3
         agents.writer.turns = []",
        None,
    );
    let env = json!([{"name": "BRIDGE_MEMBER", "value": "writer"}]);
    let server = json!([{"name": "bridge", "command": "/nowhere/server", "args": [], "env": env}]);
    assert_eq!(client.open(server).await["sessionId"], "session-1");
    client.send("new", "session/new", json!({"cwd": "/", "mcpServers": []})).await;
    assert_eq!(client.line().await, None);
    assert_eq!(client.end().await, Ending::Crashed(3));
}

#[tokio::test]
async fn an_agent_can_crash_before_its_first_output() {
    let client = RawClient::start("[agents.a.start]\ncrash = 3", Some("a"));
    assert_eq!(client.end().await, Ending::Crashed(3));
}

#[tokio::test]
async fn a_session_comes_back_with_its_memory() {
    let mut client = RawClient::start(
        "agents.default = { start = { load = true }, turns = [
           { when = 'first', steps = [{ ask_permission = 'x', save = 'it' }] }, { steps = [{ say = '{{it.option}}' }] }] }",
        None,
    );
    client.open(json!([])).await;
    client.prompt("p", "first").await;
    client.update().await;
    let question = client.message().await;
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_always"}});
    client.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome})).await;
    client.answer("p").await;
    client
        .send("l", "session/load", json!({"sessionId": "session-1", "cwd": "/", "mcpServers": []}))
        .await;
    client.answer("l").await;
    client.prompt("p", "second").await;
    assert_eq!(client.said("p").await.0, "allow_always");
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_its_input_ends_on_sigterm() {
    let mut client = RawClient::start(
        "agents.default = { start = { ignore_eof = true }, turns = [{ steps = [{ ask_permission = 'x' }] }] }",
        None,
    );
    client.open(json!([])).await;
    client.prompt("p", "go").await;
    client.update().await;
    client.message().await;
    client.input.as_mut().unwrap().shutdown().await.unwrap();
    // The question can no longer be answered; that the turn reports this shows that the agent still runs.
    let error = client.answer("p").await;
    assert!(
        error["message"].as_str().unwrap().starts_with("the permission question failed"),
        "{error}"
    );
    client.terminate.send(()).await.unwrap();
    assert_eq!(client.end().await, Ending::Closed);
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_ends_with_its_input() {
    let mut client = RawClient::start(
        "agents.default = { start = { ignore_term = true }, turns = [{ steps = [{ say = 'here' }] }] }",
        None,
    );
    client.open(json!([])).await;
    client.terminate.send(()).await.unwrap();
    client.prompt("p", "go").await;
    assert_eq!(client.said("p").await.0, "here");
    assert_eq!(client.end().await, Ending::Closed);
}
