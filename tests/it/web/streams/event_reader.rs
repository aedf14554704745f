//! A program that follows a stream of server-sent events.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::web::http_client::{DEADLINE, WebServer};

/// A connection to the stream.
pub(super) struct EventReader {
    lines: Lines<BufReader<OwnedReadHalf>>,
    /// Keeps the connection open.
    _out: OwnedWriteHalf,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) kind: String,
    pub(super) id: Option<u64>,
    pub(super) data: Value,
}

impl EventReader {
    /// Connects to a path below `/api/v1`, and reads the head of the answer.
    pub(super) async fn connect(web: &WebServer, path: &str, headers: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", web.port)).await.unwrap();
        let (read, mut out) = stream.into_split();
        let port = web.port;
        let request =
            format!("GET /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n");
        out.write_all(request.as_bytes()).await.unwrap();
        let mut reader = Self { lines: BufReader::new(read).lines(), _out: out };
        let status = reader.line().await.unwrap();
        assert!(status.contains(" 200 "), "{status}");
        while !reader.line().await.unwrap().is_empty() {}
        reader
    }

    async fn line(&mut self) -> Option<String> {
        timeout(DEADLINE, self.lines.next_line()).await.unwrap().ok().flatten()
    }

    /// Returns the next event; none once the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Event> {
        let (mut kind, mut id, mut data) = (String::new(), None, None);
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("event", text)) => text.clone_into(&mut kind),
                Some(("id", text)) => id = text.parse().ok(),
                Some(("data", text)) => data = Some(serde_json::from_str(text).unwrap()),
                _ if line.is_empty() && data.is_some() => {
                    return Some(Event { kind, id, data: data.unwrap_or_default() });
                }
                // The sizes of chunks, and comments.
                _ => {}
            }
        }
    }

    /// Reads up to an event that says these words.
    pub(super) async fn up_to(&mut self, words: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {words}: {events:?}"));
            let is_last = event.data["words"].as_str().is_some_and(|said| said.contains(words));
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// Reads up to an event of this kind that a test accepts.
    pub(super) async fn up_to_kind(
        &mut self,
        kind: &str,
        is_meant: impl Fn(&Value) -> bool,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {kind}: {events:?}"));
            let is_last = event.kind == kind && is_meant(&event.data);
            events.push(event);
            if is_last {
                return events;
            }
        }
    }
}
