//! The only task of a connection: it moves lines between the pipes and the protocol, and reports the ending.
//!
//! The protocol crate gets an in-process channel instead of the pipes. So a line is parsed once, an object that is no JSON-RPC message is
//! dropped instead of answered with an error that echoes it, and the pipes stay ours to the end.

use super::data::json_fields;
use super::error::Ending;
use super::incoming::dispatch::{AnswerCustom, Inbound};
use super::incoming::event_queue::Queue;
use super::incoming::file_request::FileSystem;
use super::line_io::{LineReader, LineStats, LineWriter, count};
use crate::domain::grace_periods;
use crate::domain::text::redact::Secrets;
use crate::domain::wait_times;
use crate::sys::bounded_lines::mend_half_characters;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::{
    Agent, Channel, Client, RawJsonRpcMessage, RawJsonRpcResponse, TransportFrame,
};
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use serde_json::Value;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// The options of a connection.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// How this client introduces itself.
    pub client_name: String,
    /// The longest line that is read, in bytes. The default, 16 MiB, is the limit of the MCP side as well; agents send whole files in
    /// updates, but no useful message is longer.
    pub longest_line: usize,
    /// How much may wait in [`super::AgentEvents`] before reading stops, in bytes. The default, 8 MiB, is half a minute of the fastest
    /// agent seen, and little compared with the agent's own hundreds of megabytes.
    pub events_limit: usize,
    /// How long the pipe to the agent may stall.
    pub stdin_limit: Duration,
    /// How long requests may take.
    pub deadlines: Deadlines,
    /// Answers to requests outside the protocol.
    pub custom: AnswerCustom,
    /// Whether the agent is offered to read and write files through us.
    pub file_system: FileSystem,
    /// The secrets that the agent was given. They are hidden in its words.
    pub secrets: Secrets,
}

/// How long each kind of request may take. A prompt has no deadline.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// `initialize`.
    pub initialize: Duration,
    /// `session/new`, `load` and `resume`.
    pub session: Duration,
    /// Settings and `session/close`.
    pub setting: Duration,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            client_name: env!("CARGO_PKG_NAME").to_owned(),
            longest_line: 16 * 1024 * 1024,
            events_limit: 8 * 1024 * 1024,
            stdin_limit: wait_times::AGENT_STDIN,
            deadlines: Deadlines::default(),
            custom: AnswerCustom::default(),
            file_system: FileSystem::default(),
            secrets: Secrets::default(),
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            initialize: wait_times::INITIALIZE,
            session: wait_times::OPEN_SESSION,
            setting: wait_times::SETTING,
        }
    }
}

/// How many requests of the agent may wait for answers before reading stops. The answers are queued for a pipe that the agent may not
/// read; no agent asks more than a few things at once.
const OWED_ANSWERS: usize = 1024;

/// The state that the task and its handles share.
pub(super) struct SharedTransport {
    pub(super) options: ConnectOptions,
    pub(super) stats: Arc<LineStats>,
    pub(super) stop: CancellationToken,
    /// The `protocolVersion` of the first answer that has one: the protocol crate replaces any but 1 with an error of its own.
    pub(super) version: OnceLock<Value>,
    events: Arc<Queue>,
    owed: AtomicUsize,
    repaid: Notify,
    /// The first cause of a break; `broken` is cancelled with it.
    cause: OnceLock<Ending>,
    broken: CancellationToken,
}

/// The stage of a connection. The stages are passed in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The protocol has ended: no answer and no event will come.
    pub(super) ending: Option<Ending>,
    /// The agent's stdin is closed.
    pub(super) stdin_closed: bool,
}

impl SharedTransport {
    pub(super) fn new(options: ConnectOptions, events: Arc<Queue>) -> Self {
        Self {
            options,
            stats: Arc::default(),
            stop: CancellationToken::new(),
            version: OnceLock::new(),
            events,
            owed: AtomicUsize::new(0),
            repaid: Notify::new(),
            cause: OnceLock::new(),
            broken: CancellationToken::new(),
        }
    }

    fn breaks(&self, ending: Ending) {
        // Only the first cause is reported; later ones follow from it.
        let _ = self.cause.set(ending);
        self.broken.cancel();
    }
}

/// Drives a connection until both pipes have ended. Its own end, however it comes, drops `progress`.
pub(super) async fn drive(
    stdout: impl AsyncRead + Send + Unpin,
    stdin: impl AsyncWrite + Send + Unpin,
    shared: Arc<SharedTransport>,
    ready: oneshot::Sender<ConnectionTo<Agent>>,
    progress: watch::Sender<Progress>,
) {
    let (theirs, ours) = Channel::duplex();
    let (outgoing, incoming) = ours.into_parts();
    let reader = LineReader::new(stdout, shared.options.longest_line, Arc::clone(&shared.stats));
    let writer = LineWriter::new(stdin, shared.options.stdin_limit);
    let mut reading = pin!(read(reader, incoming, &shared));
    let mut writing = pin!(write(writer, outgoing, &shared));
    let (mut still_reading, mut still_writing) = (true, true);

    let ending = {
        let inbound = Inbound::new(
            Arc::clone(&shared.events),
            shared.options.custom.clone(),
            shared.options.file_system,
            shared.options.secrets.clone(),
        );
        let stop = shared.stop.clone();
        let protocol = Client.v1().name("agent").with_handler(inbound).connect_with(
            theirs,
            async move |connection| {
                // The receiver is gone if the last handle was dropped, which also cancels `stop`.
                let _ = ready.send(ConnectionTo::clone(&connection));
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = connection.incoming_closed() => {}
                }
                Ok(())
            },
        );
        let mut protocol = pin!(protocol);
        let result = loop {
            tokio::select! {
                result = &mut protocol => break result,
                () = &mut reading, if still_reading => still_reading = false,
                () = &mut writing, if still_writing => still_writing = false,
            }
        };
        match (result, shared.cause.get()) {
            _ if shared.stop.is_cancelled() => Ending::Shutdown,
            (_, Some(cause)) => cause.clone(),
            (Ok(()), None) => Ending::AgentClosed,
            (Err(error), None) => Ending::Failed { problem: error.to_string() },
        }
    };
    shared.events.end();
    shared.repaid.notify_one();
    progress.send_modify(|progress| progress.ending = Some(ending));

    let last_writes = async {
        if still_writing {
            // A pipe that stalls now is closed at the end of this function, by dropping it.
            let _ = tokio::time::timeout(grace_periods::LAST_WRITES, &mut writing).await;
        }
        progress.send_modify(|progress| progress.stdin_closed = true);
    };
    let goodbye = async {
        if still_reading && shared.stop.is_cancelled() {
            let _ = tokio::time::timeout(grace_periods::DISCARD_OUTPUT, &mut reading).await;
        }
    };
    tokio::join!(last_writes, goodbye);
}

/// Reads messages until stdout ends or the pipes break, and passes them to the protocol; after its end, discards them.
async fn read<R: AsyncRead + Unpin>(
    mut reader: LineReader<R>,
    protocol: UnboundedSender<TransportFrame>,
    shared: &SharedTransport,
) {
    let lines = async {
        // The protocol works in the same task. It gets its turn after at most one pipe's content, so that little waits between this loop
        // and the events.
        const TURN: usize = 64 * 1024;
        let mut passed = 0;
        loop {
            shared.events.room().await;
            while shared.owed.load(Ordering::Relaxed) > OWED_ANSWERS && !protocol.is_closed() {
                shared.repaid.notified().await;
            }
            let line = match reader.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => {
                    return shared.breaks(Ending::StdoutBroken { problem: error.to_string() });
                }
            };
            passed += line.len();
            if let Some(frame) = frame(&line, &shared.stats) {
                note(&frame, shared);
                // Once the protocol has ended, the output is read to its end and dropped.
                let _ = protocol.unbounded_send(frame);
            }
            if passed > TURN {
                passed = 0;
                tokio::task::yield_now().await;
            }
        }
    };
    let broken = async {
        shared.broken.cancelled().await;
        if matches!(shared.cause.get(), Some(Ending::StdinBroken { .. })) {
            tokio::time::sleep(grace_periods::LAST_WORDS).await;
        }
    };
    tokio::select! {
        () = lines => {}
        () = broken => {}
    }
}

/// Parses a line, or counts it as noise.
fn frame(line: &str, stats: &LineStats) -> Option<TransportFrame> {
    let message = |line: &str| {
        let message = serde_json::from_value(json_fields::parse(line)?).ok()?;
        Some(TransportFrame::Single(message))
    };
    let frame = message(line).or_else(|| {
        let mended = message(&mend_half_characters(line)?)?;
        count(&stats.lossy);
        Some(mended)
    });
    count(if frame.is_some() { &stats.lines } else { &stats.noise });
    frame
}

/// Records the facts about a message that the transport itself needs.
fn note(frame: &TransportFrame, shared: &SharedTransport) {
    match frame {
        TransportFrame::Single(RawJsonRpcMessage::Request(_)) => {
            shared.owed.fetch_add(1, Ordering::Relaxed);
        }
        TransportFrame::Single(RawJsonRpcMessage::Response(RawJsonRpcResponse::Result {
            result,
            ..
        })) => {
            if let Some(version) = result.get("protocolVersion") {
                // Only the first answer with a version is that to `initialize`.
                let _ = shared.version.set(version.clone());
            }
        }
        _ => {}
    }
}

/// Writes messages until the protocol has no more, then closes stdin. After a break the rest is dropped.
async fn write<W: AsyncWrite + Unpin>(
    mut writer: LineWriter<W>,
    mut protocol: UnboundedReceiver<TransportFrame>,
    shared: &SharedTransport,
) {
    while let Some(frame) = protocol.next().await {
        if shared.broken.is_cancelled() {
            continue;
        }
        let line = match frame.to_json() {
            Ok(line) => line,
            Err(error) => {
                // A message consists of JSON values, so this is not known to happen; its request ends at its deadline.
                tracing::error!(%error, "a message cannot be written as JSON");
                continue;
            }
        };
        if let Err(ending) = writer.write(line).await {
            shared.breaks(ending);
            continue;
        }
        if matches!(frame, TransportFrame::Single(RawJsonRpcMessage::Response(_))) {
            // An answer to a request that was not counted must not wrap the counter.
            let _ = shared
                .owed
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |owed| owed.checked_sub(1));
            shared.repaid.notify_one();
        }
    }
    if let Err(problem) = writer.close().await {
        tracing::debug!(%problem, "failed to close the agent's stdin cleanly");
    }
}
/// Reads an agent's output as the connection does, and returns the number of messages in it.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_all(bytes: &[u8]) -> u64 {
    use futures::FutureExt as _;
    let stats = Arc::new(LineStats::default());
    let mut reader = LineReader::new(bytes, LONGEST_FUZZED, Arc::clone(&stats));
    // A reader of bytes in memory never waits.
    while let Some(Ok(Some(line))) = reader.next().now_or_never() {
        assert!(line.len() <= 3 * LONGEST_FUZZED, "a line is bounded");
        if let Some(mended) = mend_half_characters(&line) {
            assert_eq!(mend_half_characters(&mended), None, "what is mended is whole");
        }
        // Lines that cannot be messages are dropped.
        let _ = frame(&line, &stats);
        if let Ok(params) = serde_json::from_str(&line) {
            super::incoming::dispatch::read_any(params);
        }
    }
    stats.counts().lines
}

/// A short limit for lines: no input of the fuzzer would ever reach the real one. An invalid byte becomes three.
#[cfg(any(test, feature = "fuzzing"))]
const LONGEST_FUZZED: usize = 4096;
