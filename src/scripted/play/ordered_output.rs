//! The agent's output: messages stay in order, a step can wait until its message has been written, and a script can write a raw line
//! between the protocol's own.
//!
//! The protocol library queues messages and does not report when they are written. So two notices of our own travel through the same
//! queue and are filtered out here, before the stream: one that means "everything before me is written", one that carries a raw line.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agent_client_protocol::JsonRpcNotification;
use agent_client_protocol::v1::{ConnectionTo, schema};
use agent_client_protocol::{Client, Lines};
use futures::{Sink, Stream, sink, stream};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;

use crate::sys::mutex::lock;

const WRITTEN: &str = "_scripted/written";
const RAW: &str = "_scripted/raw";

#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "_scripted/written")]
struct Written {
    id: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "_scripted/raw")]
struct Raw {
    line: String,
}

/// The connection has ended, so nothing can be sent.
#[derive(Debug, thiserror::Error)]
#[error("the client is gone")]
pub(crate) struct Gone;

/// The state that the writing end shares with the steps that wait for it.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    silent: AtomicBool,
}

impl Wire {
    /// Drops all unwritten output: a crashed agent writes nothing more.
    pub(crate) fn silence(&self) {
        self.silent.store(true, Ordering::Release);
    }

    /// Sends an update of a session and waits until it is written, so that a client that does not read blocks the script.
    pub(crate) async fn update(
        &self,
        connection: &ConnectionTo<Client>,
        session: &schema::SessionId,
        update: schema::SessionUpdate,
    ) -> Result<(), Gone> {
        let notification = schema::SessionNotification::new(session.clone(), update);
        connection.send_notification(notification).map_err(|_| Gone)?;
        self.written(connection).await
    }

    /// Writes a line exactly as it is.
    pub(crate) async fn raw(
        &self,
        connection: &ConnectionTo<Client>,
        line: String,
    ) -> Result<(), Gone> {
        connection.send_notification(Raw { line }).map_err(|_| Gone)?;
        self.written(connection).await
    }

    async fn written(&self, connection: &ConnectionTo<Client>) -> Result<(), Gone> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (done, written) = oneshot::channel();
        lock(&self.waiting).insert(id, done);
        connection.send_notification(Written { id }).map_err(|_| Gone)?;
        written.await.map_err(|_| Gone)
    }

    /// Returns the line to write for a line of the protocol; `None` for a notice of our own.
    fn outgoing(&self, line: String) -> Option<String> {
        if self.silent.load(Ordering::Acquire) {
            return None;
        }
        let Some(own) = OwnNotice::read(&line) else {
            return Some(line);
        };
        match own {
            OwnNotice::Raw(raw) => Some(raw),
            OwnNotice::Written(id) => {
                let waiting = lock(&self.waiting).remove(&id);
                if let Some(waiting) = waiting {
                    // The receiver is gone if the turn was cancelled meanwhile.
                    waiting.send(()).ok();
                }
                None
            }
        }
    }
}

enum OwnNotice {
    Raw(String),
    Written(u64),
}

impl OwnNotice {
    fn read(line: &str) -> Option<Self> {
        // A cheap test first: nearly no line has this text in it. Parsing distinguishes our notices from a text of the script.
        if !line.contains("_scripted/") {
            return None;
        }
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let params = message.get("params")?;
        match message.get("method")?.as_str()? {
            RAW => Some(Self::Raw(params.get("line")?.as_str()?.to_owned())),
            WRITTEN => Some(Self::Written(params.get("id")?.as_u64()?)),
            _ => None,
        }
    }
}

/// Makes the protocol library's transport of two streams.
pub(crate) fn transport<R, W>(
    reader: R,
    writer: W,
    wire: Arc<Wire>,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let outgoing =
        sink::unfold((writer, wire), async |(mut writer, wire): (W, Arc<Wire>), line: String| {
            if let Some(mut line) = wire.outgoing(line) {
                line.push('\n');
                writer.write_all(line.as_bytes()).await?;
                writer.flush().await?;
            }
            Ok::<_, io::Error>((writer, wire))
        });
    let incoming = stream::unfold(BufReader::new(reader).lines(), async |mut lines| {
        let line = lines.next_line().await.transpose()?;
        Some((line, lines))
    });
    Lines::new(outgoing, incoming)
}
