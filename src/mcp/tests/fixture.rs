//! A team on a bus in memory, and clients that speak to its servers in raw lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::LogError;
use crate::bus::storage::in_memory::Store;
use crate::bus::{Bus, Joining, Membership};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::serve;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, Server, ServerEnd};
use crate::sys::clock;

/// Far more than any step here takes, even on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The bus of a team.
pub(super) struct Team {
    store: Store,
}

impl Team {
    pub(super) fn new() -> Self {
        Self { store: Store::new(Arc::new(clock::now)) }
    }

    /// Makes a team whose time is `later` by as many milliseconds as that says.
    pub(super) fn with_time(later: Arc<AtomicU64>) -> Self {
        let clock = move || {
            let mut now = clock::now();
            now.tick.ms += later.load(Ordering::Relaxed);
            now
        };
        Self { store: Store::new(Arc::new(clock)) }
    }

    /// Makes a team whose time stands still, so that all happens at once.
    pub(super) fn at_rest() -> Self {
        let now = clock::now();
        Self { store: Store::new(Arc::new(move || now)) }
    }

    /// Opens the bus as another process.
    pub(super) fn bus(&self) -> Bus {
        Bus::open(Box::new(self.store.log())).unwrap()
    }

    /// Makes the next reads of texts fail like this, one each.
    pub(super) fn fail_reads(&self, failures: impl IntoIterator<Item = LogError>) {
        self.store.fail_reads(failures);
    }

    /// Joins as a peer.
    pub(super) async fn membership(&self, name: &str) -> Membership {
        let joining = Joining {
            choice: NameChoice::Chosen(Name::parse(name).unwrap()),
            kind: MemberKind::Peer,
            roles: Vec::new(),
            description: Description::default(),
        };
        Membership::join(&self.bus(), joining).await.unwrap()
    }

    /// Joins as a peer with an endpoint, and introduces a client to it.
    pub(super) async fn member(&self, name: &str) -> Client {
        let membership = self.membership(name).await;
        let mut client = Client::of(endpoint_tools::server(LazyMembership::taken(membership)));
        client.initialize().await;
        client
    }
}

/// A client that writes and reads lines.
pub(super) struct Client {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    /// Ends the server from its side.
    pub(super) stop: CancellationToken,
    served: JoinHandle<ServerEnd>,
    next_id: u64,
}

impl Client {
    /// Starts a server.
    pub(super) fn of(server: Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let stop = CancellationToken::new();
        let (input, output) = tokio::io::split(theirs);
        let stopping = stop.clone();
        let running = tokio::spawn(async move { serve(&server, input, output, stopping).await });
        let (from, to) = tokio::io::split(ours);
        Self { to, from: BufReader::new(from).lines(), stop, served: running, next_id: 0 }
    }

    pub(super) async fn line(&mut self, line: &str) {
        self.bytes(line.as_bytes()).await;
    }

    /// Writes a line that need not be text.
    pub(super) async fn bytes(&mut self, line: &[u8]) {
        self.to.write_all(line).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    /// Writes a line, and returns whether the server accepted all of it within a second.
    pub(super) async fn try_line(&mut self, line: &str) -> bool {
        tokio::time::timeout(Duration::from_secs(1), self.line(line)).await.is_ok()
    }

    pub(super) async fn send(&mut self, message: &Value) {
        self.line(&message.to_string()).await;
    }

    /// Reads the next message.
    pub(super) async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.from.next_line());
        let line = line.await.expect("an answer in time").unwrap();
        serde_json::from_str(&line.expect("an answer, not the end")).unwrap()
    }

    /// Begins a request and returns its id.
    pub(super) async fn begin(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Reads the answer to a request; no other answer may come before it.
    pub(super) async fn end(&mut self, id: &Value) -> Value {
        let answer = self.next().await;
        assert_eq!(answer["id"], *id, "{answer}");
        answer
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.end(&id).await
    }

    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    pub(super) async fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        let answer = self.request("initialize", params).await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    pub(super) async fn begin_call(&mut self, tool: &str, arguments: Value) -> Value {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool and returns its structured result, which its text repeats.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments).await;
        self.result(&id).await
    }

    /// Returns the structured result of a call that was begun, without the news of who has come and left.
    pub(super) async fn result(&mut self, id: &Value) -> Value {
        let answer = self.end(id).await;
        let result = &answer["result"];
        assert_ne!(result["isError"], json!(true), "{answer}");
        let structured = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
        no_path(text);
        without_news(structured)
    }

    /// Calls a tool that refuses, and returns its error.
    pub(super) async fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin_call(tool, arguments).await;
        let answer = self.end(&id).await;
        assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        no_path(text);
        text.to_owned()
    }

    /// Closes the client's output, and keeps reading.
    pub(super) async fn shut(&mut self) {
        self.to.shutdown().await.unwrap();
    }

    /// Closes the client's side and returns how the server ended.
    pub(super) async fn close(mut self) -> ServerEnd {
        self.to.shutdown().await.unwrap();
        drop((self.to, self.from));
        let served = tokio::time::timeout(PATIENCE, self.served).await;
        served.expect("the server ends in time").unwrap()
    }

    /// Returns how the server ended, with the client's side open.
    pub(super) async fn ended(self) -> ServerEnd {
        let served = tokio::time::timeout(PATIENCE, self.served).await;
        served.expect("the server ends in time").unwrap()
    }
}

/// Asserts that an answer contains no path of the bus.
fn no_path(text: &str) {
    assert!(!text.contains(".claude/bridge"), "{text}");
}

/// Removes the notices of sessions that have joined or left, which come with any result.
fn without_news(mut result: Value) -> Value {
    let is_news = |message: &Value| message["to"] == "#presence" && message["from"] == "bridge";
    for list in ["inbox", "messages"] {
        let Some(messages) = result.get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let had = messages.len();
        messages.retain(|message| !is_news(message));
        if list == "inbox" && messages.is_empty() && had > 0 {
            result.as_object_mut().map(|result| result.remove(list));
        }
    }
    result
}

/// Replaces values that differ from run to run with their meaning.
pub(super) fn shape(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            object.iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(text) if is_id(text, "msg-") => json!("a message"),
        Value::String(text) if is_id(text, "req-") => json!("a request"),
        Value::String(text) if text.len() == 24 && text.ends_with('Z') => json!("a time"),
        other => other.clone(),
    }
}

fn is_id(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| rest.len() == 12)
}
