//! The server itself: connections, the script, the gates, and the record of what models were shown.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::pick_rule::decide;
use super::request::{Api, Newest};
use super::rule::Rule;
use super::wire;

/// A server that runs until it is dropped.
pub(crate) struct ModelServer {
    base: String,
    shared: Arc<Shared>,
    _serving: AbortOnDropHandle<()>,
}

struct Shared {
    rules: Vec<Rule>,
    shown: Mutex<Vec<Shown>>,
    open: watch::Sender<BTreeSet<String>>,
}

/// What a model was shown, and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The API; none for a request that is not for a model.
    pub(crate) api: Option<Api>,
    /// The path of the request.
    pub(crate) path: String,
    /// The number of tools.
    pub(crate) tools: usize,
    /// The names of the tools.
    pub(crate) offered: Vec<String>,
    /// The kind of the newest part of the conversation.
    pub(crate) newest: Option<Newest>,
    /// The text of that part.
    pub(crate) text: String,
    /// The whole body of the request.
    pub(crate) whole: String,
    /// The rule that answered, if one did.
    pub(crate) rule: Option<String>,
    /// The tools that were called.
    pub(crate) calls: Vec<String>,
    /// Whether the answer was sent: false for a request that still waits, or whose client closed the connection.
    pub(crate) answered: bool,
}

impl ModelServer {
    /// Starts a server that answers by these rules.
    pub(crate) async fn start(rules: Vec<Rule>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let shared =
            Arc::new(Shared { rules, shown: Mutex::default(), open: watch::Sender::default() });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { base, shared, _serving: AbortOnDropHandle::new(serving) }
    }

    /// Returns its base URL: `http://host:port`.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Releases all answers that wait behind this gate, now and later.
    pub(crate) fn open(&self, gate: &str) {
        self.shared.open.send_modify(|open| {
            open.insert(gate.to_owned());
        });
    }

    /// Returns all requests so far, in order.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        self.shared.shown.lock().unwrap().clone()
    }

    /// Returns whether the newest part of some request was of this kind and contained this text.
    pub(crate) fn was_shown_to(&self, api: Api, newest: Newest, text: &str) -> bool {
        let shown = self.shared.shown.lock().unwrap();
        shown.iter().any(|shown| {
            shown.api == Some(api) && shown.newest == Some(newest) && shown.text.contains(text)
        })
    }

    /// Returns whether a rule has begun to answer.
    pub(crate) fn has_answered(&self, rule: &str) -> bool {
        let shown = self.shared.shown.lock().unwrap();
        shown.iter().any(|shown| shown.rule.as_deref() == Some(rule))
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let shared = Arc::clone(&shared);
        // The set aborts the connections when this task is aborted.
        connections.spawn(async move {
            let service = service_fn(|request| handle(Arc::clone(&shared), request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // Agents cancel by closing the connection, so an error here is normal.
            drop(connection.await);
        });
    }
}

async fn handle(
    shared: Arc<Shared>,
    request: HttpRequest<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    match api_of(&path).filter(|_| method == "POST") {
        Some(api) => Ok(converse(&shared, api, &path, &body).await),
        None => Ok(aside(&shared, &path)),
    }
}

/// Returns the API that a path belongs to, if the request is for a model.
fn api_of(path: &str) -> Option<Api> {
    let last = path.trim_end_matches('/').rsplit('/').next()?;
    match last {
        "messages" => Some(Api::Anthropic),
        "responses" => Some(Api::Responses),
        "completions" => Some(Api::Chat),
        _ if last.ends_with(":generateContent") => Some(Api::Gemini),
        _ if last.ends_with(":streamGenerateContent") => Some(Api::Gemini),
        _ => None,
    }
}

async fn converse(shared: &Shared, api: Api, path: &str, body: &Value) -> Response<Full<Bytes>> {
    let request = wire::read(api, path, body);
    let decision = decide(&shared.rules, &request);
    let tail = request.tail();
    let shown = Shown {
        api: Some(api),
        path: path.to_owned(),
        tools: request.tools.len(),
        offered: request.tools.iter().map(|tool| tool.name.clone()).collect(),
        newest: Some(tail.newest),
        text: tail.texts.last().cloned().unwrap_or_default(),
        whole: request.raw.clone(),
        rule: decision.rule,
        calls: decision.calls.iter().map(|call| call.tool.name.clone()).collect(),
        answered: false,
    };
    let number = shared.note(shown);
    if let Some(gate) = &decision.reply.gate {
        // The server outlives its connections, so the sender exists.
        drop(shared.open.subscribe().wait_for(|open| open.contains(gate)).await);
    }
    tokio::time::sleep(decision.reply.delay).await;
    if let Some(shown) = shared.shown.lock().unwrap().get_mut(number) {
        shown.answered = true;
    }
    if let Some((status, message)) = &decision.reply.error {
        return respond(
            *status,
            "application/json",
            wire::error(api, *status, message).to_string(),
        );
    }
    let answer = wire::answer(&request, &decision.reply.text, &decision.calls);
    let kind = if answer.stream { "text/event-stream" } else { "application/json" };
    respond(200, kind, answer.body)
}

/// Answers requests outside of a conversation: lists of models and token counts. All others get a 404.
fn aside(shared: &Shared, path: &str) -> Response<Full<Bytes>> {
    shared.note(Shown {
        api: None,
        path: path.to_owned(),
        tools: 0,
        offered: Vec::new(),
        newest: None,
        text: String::new(),
        whole: String::new(),
        rule: None,
        calls: Vec::new(),
        answered: true,
    });
    let json = |status, body: Value| respond(status, "application/json", body.to_string());
    let path = path.trim_end_matches('/');
    if path.ends_with("/count_tokens") {
        return json(200, json!({ "input_tokens": 11 }));
    }
    if path.ends_with(":countTokens") {
        return json(200, json!({ "totalTokens": 11 }));
    }
    if path.ends_with("/models") {
        return json(200, json!({ "object": "list", "has_more": false, "data": [], "models": [] }));
    }
    if let Some((_, model)) = path.split_once("/models/") {
        let about =
            json!({ "id": model, "object": "model", "type": "model", "display_name": model });
        return json(200, about);
    }
    json(
        404,
        json!({ "error": { "type": "not_found_error", "message": "there is no such thing" } }),
    )
}

impl Shared {
    fn note(&self, shown: Shown) -> usize {
        let mut all = self.shown.lock().unwrap();
        all.push(shown);
        all.len() - 1
    }
}

fn respond(status: u16, kind: &str, body: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(Full::new(Bytes::from(body)))
        .unwrap()
}
