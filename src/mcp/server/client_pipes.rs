//! A client's pipes: its lines in, ours out, with a limit for its concurrent calls.
//!
//! A request occupies a slot until its answer is written. A few more requests are held until a slot is free; any further request is
//! refused. So messages that need no slot always get through: a cancellation, the answer to a question of ours, and the end of the input.
//! If a client writes without reading, reading stops once a few refusals wait to be written, too; after that only the end of its input is
//! noticed.
//!
//! Each request carries the position of its line in the input, and an [`Answer`] that learns when it is written. So the bus can tell
//! which answers the client had before it sent the request.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex as SyncMutex};
use std::task::{Context, Poll};

use futures::future::{BoxFuture, OptionFuture};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, GetExtensions, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::read_line::{self, IdScan, ParsedLine, Refused};
use crate::bus::Answer;
use crate::domain::wait_times;
use crate::sys::bounded_lines::{Line, Lines};
use crate::sys::mutex::lock;
use crate::sys::pipe_backlog::Inflow;

/// The longest message that is read: an agent's words in one call, as JSON, with room to spare.
const LINE_BYTES: usize = 8 * 1024 * 1024;

/// Concurrent calls of one client: more than any client makes for one model.
const CALLS: usize = 64;

/// Requests that are held until a slot is free.
const HELD: usize = 64;

/// Bytes of lines that are held; the last line may exceed it.
const HELD_BYTES: usize = LINE_BYTES;

/// Refusals that wait to be written.
const REFUSALS: usize = 64;

/// Bytes of refusals that wait. A request chooses its id, and the last refusal may exceed the limit.
const REFUSAL_BYTES: usize = 1024 * 1024;

/// The code of a refusal that may be retried: the first code that is free for servers.
const TRY_AGAIN: ErrorCode = ErrorCode(-32000);

/// Answers that are remembered in case their client cancels them: more than the concurrent calls of a client.
pub(crate) const REMEMBERED: usize = 2 * CALLS;

/// When a request came, and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// The position of its line, in bytes of the client's whole input.
    pub(crate) at: u64,
    pub(crate) answer: Answer,
}

/// The slot of a call. It is free again when the call's work has ended and its answer is written.
#[derive(Clone, Debug)]
struct CallSlot {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// The transport of a server.
pub(crate) struct Wire<R, W> {
    lines: Lines<Counted<R>>,
    byte_count: Arc<ByteCount>,
    /// Scans an overlong line for its id.
    scan: IdScan,
    output: Arc<Mutex<Output<W>>>,
    /// A refusal that is being written, and those that wait behind it.
    refusing: Option<BoxFuture<'static, io::Result<()>>>,
    refusals: VecDeque<Vec<u8>>,
    slots: Arc<Semaphore>,
    /// The requests without an answer.
    pending: HashMap<RequestId, Pending>,
    /// The last answers that were written, or are being written.
    answered: VecDeque<(RequestId, Answer)>,
    held: VecDeque<Held>,
    look: Interval,
    /// Cancelled at the end of the input.
    ended: CancellationToken,
    /// Cancelled when writing to the client fails.
    broken: CancellationToken,
    at_end: bool,
}

/// A request that has a slot.
struct Pending {
    slot: CallSlot,
    answer: Answer,
}

/// A request without a slot, the length of its line, and the position of that.
struct Held {
    message: ClientJsonRpcMessage,
    bytes: usize,
    at: u64,
}

impl<R, W> Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Makes a transport over these pipes; `ended` is cancelled at the end of the input.
    pub(crate) fn new(input: R, inflow: Inflow, output: W, ended: CancellationToken) -> Self {
        let byte_count = Arc::new(ByteCount { read: SyncMutex::default(), inflow });
        let input = Counted { input, byte_count: Arc::clone(&byte_count) };
        let mut look = tokio::time::interval(wait_times::LOOK_FOR_CLOSED_INPUT);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            lines: Lines::new(input, LINE_BYTES),
            byte_count,
            scan: IdScan::default(),
            output: Arc::new(Mutex::new(Output {
                pipe: Some(output),
                rest: Vec::new(),
                written: 0,
            })),
            refusing: None,
            refusals: VecDeque::new(),
            slots: Arc::new(Semaphore::new(CALLS)),
            pending: HashMap::new(),
            answered: VecDeque::new(),
            held: VecDeque::new(),
            look,
            ended,
            broken: CancellationToken::new(),
            at_end: false,
        }
    }

    fn has_room(&self) -> bool {
        let bytes: usize = self.held.iter().map(|held| held.bytes).sum();
        self.held.len() < HELD && bytes < HELD_BYTES
    }

    /// Says whether the next line can be accepted or refused.
    fn may_read(&self) -> bool {
        let bytes: usize = self.refusals.iter().map(Vec::len).sum();
        !self.at_end && self.refusals.len() < REFUSALS && bytes < REFUSAL_BYTES
    }

    fn end(&mut self) {
        self.at_end = true;
        self.ended.cancel();
    }

    /// Takes a line in; returns a message that needs no slot.
    fn take(&mut self, line: Option<Line>) -> Option<ClientJsonRpcMessage> {
        let line = match line {
            Some(Line::Whole(line)) => line,
            Some(Line::TooLong) => {
                let id = std::mem::take(&mut self.scan).id();
                let message =
                    format!("the message is longer than {LINE_BYTES} bytes; send less per call");
                self.refuse(&Refused::new(id, ErrorCode::INVALID_REQUEST, message));
                return None;
            }
            None => {
                self.end();
                return None;
            }
        };
        let message = match read_line::read(&line) {
            ParsedLine::Message(message) => *message,
            ParsedLine::Ignored => return None,
            ParsedLine::Refused(refused) => {
                self.refuse(&refused);
                return None;
            }
        };
        match &message {
            ClientJsonRpcMessage::Request(request) => {
                if self.is_known(&request.id) {
                    let message =
                        format!("a request with the id `{}` is still running", request.id);
                    self.refuse(&Refused::new(None, ErrorCode::INVALID_REQUEST, message));
                    return None;
                }
                if !self.has_room() {
                    let message = format!(
                        "{CALLS} calls are running and {} are waiting; try again when one of them \
                            is answered",
                        self.held.len()
                    );
                    let id = serde_json::to_value(&request.id).ok();
                    self.refuse(&Refused::new(id, TRY_AGAIN, message));
                    return None;
                }
                let (bytes, at) = (line.len(), self.lines.line_at());
                self.held.push_back(Held { message, bytes, at });
                None
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.take_back(id);
                    let held = self.held.len();
                    self.held.retain(|held| !is_request(&held.message, id));
                    if self.held.len() < held {
                        return None;
                    }
                }
                Some(message)
            }
            _ => Some(message),
        }
    }

    /// Handles a cancellation by the client: no later message proves that it read this answer.
    fn take_back(&mut self, id: &RequestId) {
        // If the answer is not written yet, it never will be. The work keeps its slot until it has ended.
        let pending = self.pending.remove(id).map(|one| one.answer);
        let answered = || {
            let mut answered = self.answered.iter().rev();
            let found = answered.find(|(request, _)| request == id);
            found.map(|(_, answer)| answer.clone())
        };
        if let Some(answer) = pending.or_else(answered) {
            answer.cancel();
        }
    }

    fn is_known(&self, id: &RequestId) -> bool {
        let mut held = self.held.iter();
        self.pending.contains_key(id) || held.any(|held| is_request(&held.message, id))
    }

    /// Refuses a line that is no request, or a request for which there is no room.
    fn refuse(&mut self, refused: &Refused) {
        tracing::debug!("refused a line: {}", refused.error.message);
        let answer = json!({ "jsonrpc": "2.0", "id": refused.id, "error": refused.error });
        self.refusals.push_back(answer.to_string().into_bytes());
    }

    /// Begins to write the next refusal.
    fn write_refusals(&mut self) {
        if self.refusing.is_none()
            && let Some(line) = self.refusals.pop_front()
        {
            let output = Arc::clone(&self.output);
            self.refusing = Some(Box::pin(async move { output.lock().await.write(line).await }));
        }
    }

    /// Gives the first held request a slot.
    fn begin(&mut self, permit: OwnedSemaphorePermit) -> Option<ClientJsonRpcMessage> {
        let Held { mut message, at, .. } = self.held.pop_front()?;
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            let slot = CallSlot { _permit: Arc::new(permit) };
            let answer = Answer::default();
            let extensions = request.request.extensions_mut();
            // The slot travels with the request until the work for it has ended.
            extensions.insert(slot.clone());
            extensions.insert(Arrival { at, answer: answer.clone() });
            let pending = Pending { slot, answer };
            self.pending.insert(request.id.clone(), pending);
        }
        Some(message)
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let pending = answered.and_then(|id| {
            let pending = self.pending.remove(id)?;
            self.answered.push_back((id.clone(), pending.answer.clone()));
            Some(pending)
        });
        if self.answered.len() > REMEMBERED {
            self.answered.pop_front();
        }
        let (output, byte_count) = (Arc::clone(&self.output), Arc::clone(&self.byte_count));
        let broken = self.broken.clone();
        async move {
            let line = serde_json::to_vec(&item)?;
            drop(item);
            let written = output.lock().await.write(line).await;
            if let Some(Pending { slot, answer }) = pending {
                if written.is_ok() {
                    answer.give(byte_count.bytes_written());
                } else {
                    answer.cancel();
                }
                drop(slot);
            }
            if written.is_err() {
                broken.cancel();
            }
            written
        }
    }

    /// Cancel-safe, as the library drops it whenever it has something else to do.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.write_refusals();
            if self.at_end && self.held.is_empty() && self.refusing.is_none() {
                return None;
            }
            let may_read = self.may_read();
            let is_deaf = !may_read && !self.at_end;
            let slots = Arc::clone(&self.slots);
            let broken = self.broken.clone();
            let (scan, refusing) = (&mut self.scan, &mut self.refusing);
            let heard = tokio::select! {
                biased;
                () = broken.cancelled() => {
                    tracing::debug!("the client closed our stdout");
                    self.end();
                    return None;
                }
                permit = slots.acquire_owned(), if !self.held.is_empty() => {
                    // The semaphore is never closed.
                    match permit.ok().and_then(|permit| self.begin(permit)) {
                        Some(message) => return Some(message),
                        None => continue,
                    }
                }
                written = OptionFuture::from(refusing.as_mut()), if refusing.is_some() => {
                    self.refusing = None;
                    if let Some(Err(error)) = written {
                        tracing::debug!("the client closed our stdout: {error}");
                        self.end();
                        return None;
                    }
                    continue;
                }
                line = self.lines.next(|part| scan.feed(part)), if may_read => line,
                _ = self.look.tick(), if is_deaf => {
                    if self.byte_count.inflow.is_closed() {
                        tracing::debug!("the client closed our stdin and no longer reads our \
                            stdout");
                        self.end();
                    }
                    continue;
                }
            };
            let line = heard.unwrap_or_else(|error| {
                tracing::warn!("failed to read from the client: {error}");
                None
            });
            if let Some(message) = self.take(line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.output.lock().await.pipe.take());
        Ok(())
    }
}

fn is_request(message: &ClientJsonRpcMessage, id: &RequestId) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request) if request.id == *id)
}

/// Counts the bytes of a client's input.
struct ByteCount {
    /// How many bytes of the input have been read. Locked during a read.
    read: SyncMutex<u64>,
    inflow: Inflow,
}

impl ByteCount {
    /// Returns how many bytes the client has written, including unread ones where the system reports them.
    fn bytes_written(&self) -> u64 {
        let read = lock(&self.read);
        *read + self.inflow.unread()
    }
}

/// An input that counts its bytes.
struct Counted<R> {
    input: R,
    byte_count: Arc<ByteCount>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Counted<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let mut read = lock(&this.byte_count.read);
        let polled = Pin::new(&mut this.input).poll_read(context, buffer);
        *read += (buffer.filled().len() - before) as u64;
        polled
    }
}

/// The pipe to the client, and the rest of an unfinished line.
struct Output<W> {
    pipe: Option<W>,
    rest: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes a line. The rest of a dropped call's line is written first, so no line is ever torn.
    async fn write(&mut self, line: Vec<u8>) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        if self.rest.is_empty() {
            self.rest = line;
        } else {
            self.rest.extend(line);
        }
        self.rest.push(b'\n');
        while let Some(rest) = self.rest.get(self.written..)
            && !rest.is_empty()
        {
            let taken = pipe.write(rest).await?;
            if taken == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += taken;
        }
        self.rest = Vec::new();
        self.written = 0;
        pipe.flush().await
    }
}
