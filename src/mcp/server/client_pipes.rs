//! A client's pipes: its lines in, ours out, and never more of its calls than have a place.
//!
//! A request keeps its place until its answer is written. Behind the places a few more requests are held, and one that comes when
//! there is no room for it is refused: so what needs no place always gets through, a cancellation, the answer to a question of
//! ours, and the end of the input. A client that writes and does not read is read no further once a few refusals wait to be
//! written, too; of its input only the end is then heard.
//!
//! Each request goes on with where in the input it begins, and with an [`Answer`] that learns when it is written: so it can be
//! told which answers its client had before it asked.

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

use super::read_line::{self, Heard, IdScan, Refused};
use crate::bus::Answer;
use crate::domain::wait_times;
use crate::sys::bounded_lines::{Line, Lines};
use crate::sys::mutex::lock;
use crate::sys::pipe_backlog::Inflow;

/// The longest message that is read: what an agent says in one call, as JSON, with room to spare.
const LINE_BYTES: usize = 8 * 1024 * 1024;

/// Calls of one client that are under way at a time: more than any client makes for one model.
const CALLS: usize = 64;

/// Requests that are held until there is a place for them.
const HELD: usize = 64;

/// Bytes of lines that are held so: one line more may come on top.
const HELD_BYTES: usize = LINE_BYTES;

/// Refusals that wait to be written.
const REFUSALS: usize = 64;

/// Bytes of refusals that wait so: a request chooses its id, and one refusal more may come on top.
const REFUSAL_BYTES: usize = 1024 * 1024;

/// The code of a refusal that is worth another try: the first of those that are free for servers.
const TRY_AGAIN: ErrorCode = ErrorCode(-32000);

/// Answers that are remembered in case their client takes them back: more than a client has under way.
pub(crate) const REMEMBERED: usize = 2 * CALLS;

/// When a request came, and what becomes of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Where its line begins, in bytes of all that the client has said.
    pub(crate) at: u64,
    /// Its answer.
    pub(crate) answer: Answer,
}

/// The place of a call. It is free again when the call's work has ended and its answer is written.
#[derive(Clone, Debug)]
struct CallSlot {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// The transport of a server.
pub(crate) struct Wire<R, W> {
    lines: Lines<Counted<R>>,
    gauge: Arc<ByteCount>,
    /// Looks at the line that is too long.
    scan: IdScan,
    output: Arc<Mutex<Output<W>>>,
    /// A refusal that is being written, and those that come after it.
    refusing: Option<BoxFuture<'static, io::Result<()>>>,
    refusals: VecDeque<Vec<u8>>,
    places: Arc<Semaphore>,
    /// The requests that have no answer yet.
    under_way: HashMap<RequestId, UnderWay>,
    /// The last answers that were written, or are being written.
    answered: VecDeque<(RequestId, Answer)>,
    held: VecDeque<Held>,
    look: Interval,
    /// Cancelled at the end of the input.
    ended: CancellationToken,
    /// Cancelled when the client cannot be written to.
    broken: CancellationToken,
    at_end: bool,
}

/// A request that has its place.
struct UnderWay {
    place: CallSlot,
    answer: Answer,
}

/// A request without a place, the length of its line, and where that begins.
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
    /// Speaks over these pipes; `ended` is cancelled at the end of the input.
    pub(crate) fn new(input: R, inflow: Inflow, output: W, ended: CancellationToken) -> Self {
        let gauge = Arc::new(ByteCount { read: SyncMutex::default(), inflow });
        let input = Counted { input, gauge: Arc::clone(&gauge) };
        let mut look = tokio::time::interval(wait_times::LOOK_FOR_CLOSED_INPUT);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            lines: Lines::new(input, LINE_BYTES),
            gauge,
            scan: IdScan::default(),
            output: Arc::new(Mutex::new(Output {
                pipe: Some(output),
                rest: Vec::new(),
                written: 0,
            })),
            refusing: None,
            refusals: VecDeque::new(),
            places: Arc::new(Semaphore::new(CALLS)),
            under_way: HashMap::new(),
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

    /// Says whether whatever is read next can be taken in, or refused.
    fn may_read(&self) -> bool {
        let bytes: usize = self.refusals.iter().map(Vec::len).sum();
        !self.at_end && self.refusals.len() < REFUSALS && bytes < REFUSAL_BYTES
    }

    fn end(&mut self) {
        self.at_end = true;
        self.ended.cancel();
    }

    /// Takes a line in; returns what needs no place.
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
            Heard::Message(message) => *message,
            Heard::Nothing => return None,
            Heard::Refused(refused) => {
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

    /// Hears that the client does not want an answer: nothing that comes behind this proves that it was read.
    fn take_back(&mut self, id: &RequestId) {
        // If it is not written yet, it never will be. The work keeps its place until it has ended.
        let under_way = self.under_way.remove(id).map(|one| one.answer);
        let answered = || {
            let mut answered = self.answered.iter().rev();
            let found = answered.find(|(request, _)| request == id);
            found.map(|(_, answer)| answer.clone())
        };
        if let Some(answer) = under_way.or_else(answered) {
            answer.cancel();
        }
    }

    fn is_known(&self, id: &RequestId) -> bool {
        let mut held = self.held.iter();
        self.under_way.contains_key(id) || held.any(|held| is_request(&held.message, id))
    }

    /// Answers a line that is no request, or a request that finds no room.
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

    /// Gives the first held request its place.
    fn begin(&mut self, permit: OwnedSemaphorePermit) -> Option<ClientJsonRpcMessage> {
        let Held { mut message, at, .. } = self.held.pop_front()?;
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            let place = CallSlot { _permit: Arc::new(permit) };
            let answer = Answer::default();
            let extensions = request.request.extensions_mut();
            // It goes with the request until the work for it has ended.
            extensions.insert(place.clone());
            extensions.insert(Arrival { at, answer: answer.clone() });
            let under_way = UnderWay { place, answer };
            self.under_way.insert(request.id.clone(), under_way);
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
        let under_way = answered.and_then(|id| {
            let under_way = self.under_way.remove(id)?;
            self.answered.push_back((id.clone(), under_way.answer.clone()));
            Some(under_way)
        });
        if self.answered.len() > REMEMBERED {
            self.answered.pop_front();
        }
        let (output, gauge) = (Arc::clone(&self.output), Arc::clone(&self.gauge));
        let broken = self.broken.clone();
        async move {
            let line = serde_json::to_vec(&item)?;
            drop(item);
            let written = output.lock().await.write(line).await;
            if let Some(UnderWay { place, answer }) = under_way {
                if written.is_ok() {
                    answer.give(gauge.said());
                } else {
                    answer.cancel();
                }
                drop(place);
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
            let places = Arc::clone(&self.places);
            let broken = self.broken.clone();
            let (scan, refusing) = (&mut self.scan, &mut self.refusing);
            let heard = tokio::select! {
                biased;
                () = broken.cancelled() => {
                    tracing::debug!("the client closed our stdout");
                    self.end();
                    return None;
                }
                permit = places.acquire_owned(), if !self.held.is_empty() => {
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
                    if self.gauge.inflow.is_closed() {
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

/// How much a client has said.
struct ByteCount {
    /// How many bytes of its input have been read. Held while more are read.
    read: SyncMutex<u64>,
    inflow: Inflow,
}

impl ByteCount {
    /// Returns how many bytes the client has written, those included that are not read yet, as far as that can be told.
    fn said(&self) -> u64 {
        let read = lock(&self.read);
        *read + self.inflow.unread()
    }
}

/// An input that keeps its gauge.
struct Counted<R> {
    input: R,
    gauge: Arc<ByteCount>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Counted<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let mut read = lock(&this.gauge.read);
        let polled = Pin::new(&mut this.input).poll_read(context, buffer);
        *read += (buffer.filled().len() - before) as u64;
        polled
    }
}

/// The pipe to the client, and what is still to be written to it.
struct Output<W> {
    pipe: Option<W>,
    rest: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes a line. What a dropped call leaves is written before the next line, so none is ever torn.
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
