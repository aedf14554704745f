//! An HTTP server in front of programs that speak MCP on stdio, for a judge that speaks only HTTP.
//!
//! Each session (`initialize`) gets a process of its own, as each client of a stdio server does; requests without a session share one
//! process. Messages pass unchanged except for their ids, which two connections may choose alike. An answer is sent when it is
//! complete, with what the server said before it, and its error code decides the HTTP status, as the specification has it.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex as SyncMutex};

use cli_team_bridge::supervisor::{self, ChildSpec, Supervised};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::support::DEADLINE;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// Sessions that are open at the same time. A judge uses one after the other and need not end them.
const SESSIONS: usize = 4;

/// Makes the process of a session; sessions are numbered from 1 on.
type Start = Box<dyn Fn(usize) -> ChildSpec + Send + Sync>;

/// A server that runs until it is ended.
pub(crate) struct HttpFront {
    url: String,
    programs: Arc<Mutex<Programs>>,
    _serving: AbortOnDropHandle<()>,
}

/// The processes behind the server.
struct Programs {
    start: Start,
    started: usize,
    sessions: VecDeque<(String, Arc<Program>)>,
    /// The one for requests without a session.
    shared: Option<Arc<Program>>,
}

/// One process.
struct Program {
    child: Supervised,
    input: Mutex<Option<ChildStdin>>,
    open: Arc<SyncMutex<OpenRequests>>,
    _reading: AbortOnDropHandle<()>,
}

/// The requests that wait for an answer, by the id that the process knows them by.
#[derive(Default)]
struct OpenRequests {
    last: u64,
    by_id: BTreeMap<u64, OpenRequest>,
}

struct OpenRequest {
    /// The id that the judge gave it.
    id: Value,
    /// What the process said before the answer.
    said: Vec<Value>,
    answered: oneshot::Sender<Vec<Value>>,
}

impl HttpFront {
    /// Listens on a free port of the loopback interface.
    pub(crate) async fn start(start: Start) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let programs = Programs { start, started: 0, sessions: VecDeque::new(), shared: None };
        let programs = Arc::new(Mutex::new(programs));
        let serving = tokio::spawn(serve(listener, Arc::clone(&programs)));
        Self { url, programs, _serving: AbortOnDropHandle::new(serving) }
    }

    /// Returns the address of the MCP server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends all processes, and returns how many there were.
    pub(crate) async fn end(self) -> usize {
        let mut programs = self.programs.lock().await;
        let sessions = std::mem::take(&mut programs.sessions);
        for program in
            sessions.into_iter().map(|(_, program)| program).chain(programs.shared.take())
        {
            program.end().await;
        }
        programs.started
    }
}

impl Programs {
    async fn start(&mut self) -> Arc<Program> {
        self.started += 1;
        let spec = (self.start)(self.started);
        let (child, pipes) = supervisor::spawn(spec).await.unwrap();
        let open = Arc::default();
        let reading = tokio::spawn(read_answers(pipes.stdout, Arc::clone(&open)));
        let reading = AbortOnDropHandle::new(reading);
        let input = Mutex::new(Some(pipes.stdin));
        Arc::new(Program { child, input, open, _reading: reading })
    }

    /// Begins a session, and ends the oldest if there are too many.
    async fn begin_session(&mut self) -> (String, Arc<Program>) {
        if self.sessions.len() == SESSIONS
            && let Some((_, oldest)) = self.sessions.pop_front()
        {
            oldest.end().await;
        }
        let program = self.start().await;
        let name = format!("session-{}", self.started);
        self.sessions.push_back((name.clone(), Arc::clone(&program)));
        (name, program)
    }

    fn session(&self, name: &str) -> Option<Arc<Program>> {
        let mut sessions = self.sessions.iter();
        sessions.find(|(known, _)| known == name).map(|(_, program)| Arc::clone(program))
    }

    async fn without_session(&mut self) -> Arc<Program> {
        if self.shared.is_none() {
            self.shared = Some(self.start().await);
        }
        Arc::clone(self.shared.as_ref().expect("it was just started"))
    }
}

impl Program {
    async fn write(&self, message: &Value) {
        if let Some(input) = &mut *self.input.lock().await {
            let line = format!("{message}\n");
            input.write_all(line.as_bytes()).await.unwrap();
        }
    }

    /// Sends a request; returns its answer, after what the process said before it. `None` if none comes in time.
    async fn answer(&self, mut request: Value) -> Option<Vec<Value>> {
        let (answered, answer) = oneshot::channel();
        {
            let mut open = self.open.lock().unwrap();
            open.last += 1;
            let id = std::mem::replace(&mut request["id"], json!(open.last));
            let last = open.last;
            open.by_id.insert(last, OpenRequest { id, said: Vec::new(), answered });
        }
        self.write(&request).await;
        tokio::time::timeout(DEADLINE, answer).await.ok()?.ok()
    }

    /// Closes the input, and checks that the process ends by itself.
    async fn end(&self) {
        drop(self.input.lock().await.take());
        let exit = tokio::time::timeout(DEADLINE, self.child.exited()).await;
        let exit = exit.expect("a server whose input is closed ends");
        assert_eq!(exit.code, Some(0), "{exit}: {}", self.child.stderr_tail());
    }
}

/// Reads the messages of a process until its end. What is no answer belongs to the newest request.
async fn read_answers(output: ChildStdout, open: Arc<SyncMutex<OpenRequests>>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut message: Value = serde_json::from_str(&line).expect("every line is a message");
        let mut open = open.lock().unwrap();
        if message.get("method").is_some() {
            if let Some(mut newest) = open.by_id.last_entry() {
                newest.get_mut().said.push(message);
            }
            continue;
        }
        let answered = message["id"].as_u64().and_then(|id| open.by_id.remove(&id));
        if let Some(OpenRequest { id, mut said, answered }) = answered {
            message["id"] = id;
            said.push(message);
            // The judge may have gone.
            let _ = answered.send(said);
        }
    }
}

async fn serve(listener: TcpListener, programs: Arc<Mutex<Programs>>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let programs = Arc::clone(&programs);
        // The set aborts the connections when this task is aborted.
        connections.spawn(async move {
            let service = service_fn(|request| handle(Arc::clone(&programs), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // A judge may close a connection at any time.
            drop(connection.await);
        });
    }
}

async fn handle(
    programs: Arc<Mutex<Programs>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let method = request.method().clone();
    let header = request.headers().get(SESSION).and_then(|name| name.to_str().ok());
    let session = header.map(str::to_owned);
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    Ok(match method {
        Method::POST => post(&programs, session, &body).await,
        Method::DELETE => delete(&programs, session).await,
        // There is no stream of messages that belong to no request.
        _ => empty(405),
    })
}

async fn delete(programs: &Mutex<Programs>, session: Option<String>) -> Response<Full<Bytes>> {
    let mut programs = programs.lock().await;
    let place = programs.sessions.iter().position(|(name, _)| Some(name) == session.as_ref());
    match place.and_then(|place| programs.sessions.remove(place)) {
        Some((_, program)) => {
            program.end().await;
            empty(200)
        }
        None => empty(404),
    }
}

async fn post(
    programs: &Mutex<Programs>,
    session: Option<String>,
    body: &[u8],
) -> Response<Full<Bytes>> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        let error = json!({ "code": -32700, "message": "the body is not JSON" });
        return answer(400, None, &[json!({ "jsonrpc": "2.0", "id": null, "error": error })]);
    };
    let (begun, program) = {
        let mut programs = programs.lock().await;
        match &session {
            Some(name) => match programs.session(name) {
                Some(program) => (None, program),
                None => return empty(404),
            },
            None if message["method"] == "initialize" => {
                let (name, program) = programs.begin_session().await;
                (Some(name), program)
            }
            None => (None, programs.without_session().await),
        }
    };
    if message.get("id").is_none() || message.get("method").is_none() {
        program.write(&message).await;
        return empty(202);
    }
    let is_stateless = session.is_none() && begun.is_none();
    match program.answer(message).await {
        Some(said) => {
            let status = if is_stateless { status_of(&said) } else { 200 };
            answer(status, begun.as_deref(), &said)
        }
        None => empty(504),
    }
}

/// Returns the HTTP status of an answer without a session (specification 2026-07-28, Streamable HTTP).
fn status_of(said: &[Value]) -> u16 {
    match said.last().and_then(|answer| answer["error"]["code"].as_i64()) {
        // The method does not exist.
        Some(-32601) => 404,
        // Invalid parameters, a missing capability, an unsupported version.
        Some(-32602 | -32021 | -32022) => 400,
        _ => 200,
    }
}

/// Sends messages: one as JSON, several as a stream.
fn answer(status: u16, session: Option<&str>, messages: &[Value]) -> Response<Full<Bytes>> {
    let (kind, body) = match messages {
        [one] => ("application/json", one.to_string()),
        all => {
            let event = |message: &Value| format!("event: message\ndata: {message}\n\n");
            ("text/event-stream", all.iter().map(event).collect())
        }
    };
    let mut response = Response::builder().status(status).header("content-type", kind);
    if let Some(session) = session {
        response = response.header(SESSION, session);
    }
    response.body(Full::new(Bytes::from(body))).unwrap()
}

fn empty(status: u16) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::default()).unwrap()
}
