//! The fake agent: its ends of the pipes, and the usual answers of agents.

use crate::acp::{
    AgentEvent, AgentEvents, ConnectOptions, Connection, PromptOutcome, SessionInfo, connect,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, SimplexStream,
    WriteHalf,
};

/// Far more than any step takes, so that only a hang reaches it.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// An agent's side of a connection.
pub(super) struct Fake {
    stdin: Lines<BufReader<ReadHalf<SimplexStream>>>,
    pub(super) stdout: DuplexStream,
    /// The ids of the agent's own requests; they begin at 0 and so overlap with the client's.
    next_id: u64,
}

/// Connects to a fake agent with pipes of this capacity.
pub(super) async fn connected(
    pipe: usize,
    options: ConnectOptions,
) -> (Connection, AgentEvents, Fake) {
    let (client_reads, stdout) = tokio::io::duplex(pipe);
    let (stdin, client_writes): (_, WriteHalf<SimplexStream>) = tokio::io::simplex(pipe);
    let (connection, events) =
        connect(client_reads, client_writes, options).await.expect("the task starts");
    (connection, events, Fake { stdin: BufReader::new(stdin).lines(), stdout, next_id: 0 })
}

/// Connects and opens a session, with these additions to the answers.
pub(super) async fn in_session(
    options: ConnectOptions,
    agent: Value,
    session: Value,
) -> (Connection, AgentEvents, Fake, SessionInfo) {
    let (connection, events, mut fake) = connected(64 * 1024, options).await;
    fake.answering(
        connection.initialize(),
        "initialize",
        with(json!({"protocolVersion": 1}), agent),
    )
    .await
    .expect("the agent agrees");
    let answer = with(json!({"sessionId": "s-1"}), session);
    let session = fake
        .answering(connection.new_session(Path::new("/work"), &[]), "session/new", answer)
        .await;
    (connection, events, fake, session.expect("the session begins"))
}

fn with(mut base: Value, more: Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        base.extend(more);
    }
    base
}

impl Fake {
    /// Reads the client's next message.
    pub(super) async fn read(&mut self) -> Value {
        let line =
            soon(self.stdin.next_line()).await.expect("stdin can be read").expect("stdin is open");
        serde_json::from_str(&line).expect("the client writes JSON")
    }

    /// Waits for the end of stdin.
    pub(super) async fn read_end(&mut self) {
        assert_eq!(soon(self.stdin.next_line()).await.expect("stdin can be read"), None);
    }

    /// Reads the client's next message and checks its method.
    pub(super) async fn read_method(&mut self, method: &str) -> Value {
        let message = self.read().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Writes a message.
    pub(super) async fn write(&mut self, message: Value) {
        self.write_bytes(format!("{message}\n").as_bytes()).await;
    }

    /// Writes bytes.
    pub(super) async fn write_bytes(&mut self, bytes: &[u8]) {
        soon(self.stdout.write_all(bytes)).await.expect("stdout is open");
    }

    /// Answers a request.
    pub(super) async fn answer(&mut self, request: &Value, result: Value) {
        self.write(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    /// Answers a request with an error.
    pub(super) async fn refuse(&mut self, request: &Value, error: Value) {
        self.write(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).await;
    }

    /// Sends an update of the session.
    pub(super) async fn tell(&mut self, update: Value) {
        let params = json!({"sessionId": "s-1", "update": update});
        self.write(json!({"jsonrpc": "2.0", "method": "session/update", "params": params})).await;
    }

    /// Sends a chunk of text.
    pub(super) async fn say(&mut self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.tell(json!({"sessionUpdate": "agent_message_chunk", "content": content})).await;
    }

    /// Asks the client something and returns the id of the request.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Drives a call of ours while the agent answers its one request.
    pub(super) async fn answering<T>(
        &mut self,
        call: impl Future<Output = T>,
        method: &str,
        result: Value,
    ) -> T {
        let agent = async {
            let request = self.read_method(method).await;
            self.answer(&request, result).await;
        };
        soon(async { tokio::join!(call, agent).0 }).await
    }

    /// Plays a turn that ends at once, for this reason.
    pub(super) async fn end_turn(
        &mut self,
        connection: &Connection,
        session: &SessionInfo,
        reason: &str,
    ) -> PromptOutcome {
        let prompt = connection.prompt(&session.id, "go");
        let ended = json!({"stopReason": reason});
        self.answering(prompt, "session/prompt", ended).await.expect("the turn ends")
    }
}

/// Awaits something that has to come.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it comes long before this deadline")
}

/// Returns all events that wait already, shortly.
pub(super) fn waiting(events: &mut AgentEvents) -> Vec<String> {
    std::iter::from_fn(|| events.try_recv()).map(|event| shown(&event)).collect()
}

/// Awaits the next event and returns it shortly.
pub(super) async fn next(events: &mut AgentEvents) -> String {
    shown(&soon(events.recv()).await.expect("the connection lives"))
}

fn shown(event: &AgentEvent) -> String {
    use crate::acp::Update;
    match event {
        AgentEvent::Update { update: Update::MessageText(text), .. } => text.clone(),
        AgentEvent::Update { update: Update::Unknown { kind, .. }, .. } => {
            format!("unknown {kind}")
        }
        AgentEvent::Update { update: Update::ToolCall(call), .. } => format!("call {}", call.id),
        AgentEvent::Update { update, .. } => format!("{update:?}"),
        AgentEvent::PermissionAsked(question) => {
            format!("asks {}", question.request().tool_call.id)
        }
        AgentEvent::FileAsked(question) => format!("{:?}", question.request().access),
        AgentEvent::DrainAsked(question) => format!("drains {}", question.session().as_str()),
        AgentEvent::UnknownNotification { method } => format!("notification {method}"),
        AgentEvent::UnknownRequest { method } => format!("request {method}"),
    }
}
