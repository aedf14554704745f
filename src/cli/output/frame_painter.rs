//! Paints the frames of a window, each as the difference to the one before, on a thread of its own: a terminal may be slow, or paused.

use std::io::{Write as _, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tokio::sync::Notify;

use super::full_screen;
use crate::domain::text::visible_letters::one_line;

/// A terminal that knows it shows the frame at once. Others pass over it.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// A whole picture of the window.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) buffer: Buffer,
    /// The place of the cursor.
    pub(crate) cursor: Position,
    /// The title of the window.
    pub(crate) title: String,
    /// Whether the terminal shows something else than the frame before.
    pub(crate) anew: bool,
}

/// The thread that paints. It has one frame at a time.
pub(crate) struct FramePainter {
    frames: Option<SyncSender<Frame>>,
    is_busy: Arc<AtomicBool>,
    painted: Arc<Notify>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl FramePainter {
    /// Starts the thread.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (frames, orders) = sync_channel::<Frame>(1);
        let (end, ended) = mpsc::sync_channel(1);
        let is_busy = Arc::new(AtomicBool::new(false));
        let painted = Arc::new(Notify::new());
        let (busy, notify) = (Arc::clone(&is_busy), Arc::clone(&painted));
        let thread = thread::Builder::new().name("painter".to_owned()).spawn(move || {
            let mut last = None;
            for frame in orders {
                paint(&mut last, frame);
                busy.store(false, Ordering::Release);
                notify.notify_one();
            }
            let _ = end.try_send(());
        })?;
        Ok(Self { frames: Some(frames), is_busy, painted, ended, thread: Some(thread) })
    }

    /// Says whether it can take a frame.
    pub(crate) fn is_free(&self) -> bool {
        !self.is_busy.load(Ordering::Acquire)
    }

    /// Paints a frame. Only for a free painter.
    pub(crate) fn paint(&self, frame: Frame) {
        self.is_busy.store(true, Ordering::Release);
        if let Some(frames) = &self.frames {
            // A painter that has panicked closed the window, too.
            let _ = frames.try_send(frame);
        }
    }

    /// Waits until a frame has been painted since the last call. Cancel safe.
    pub(crate) async fn painted(&self) {
        self.painted.notified().await;
    }

    /// Ends the painting, and says whether the thread has ended in time: a paused terminal may keep it.
    pub(crate) fn end(mut self, most: Duration) -> bool {
        drop(self.frames.take());
        let thread = self.thread.take();
        // An error means that the thread is gone.
        let has_ended =
            !matches!(self.ended.recv_timeout(most), Err(mpsc::RecvTimeoutError::Timeout));
        if let (true, Some(thread)) = (has_ended, thread) {
            // Its panic has been reported.
            let _ = thread.join();
        }
        has_ended
    }
}

/// Paints a frame over the last one.
fn paint(last: &mut Option<Frame>, frame: Frame) {
    let mut bytes = BEGIN.as_bytes().to_vec();
    let known = last.take().filter(|last| !frame.anew && last.buffer.area == frame.buffer.area);
    if known.as_ref().is_none_or(|last| last.title != frame.title) {
        bytes.extend(format!("\x1b]2;{}\x1b\\", one_line(&frame.title)).into_bytes());
    }
    if known.is_none() {
        bytes.extend(b"\x1b[0m\x1b[2J");
    }
    let before = known.map_or_else(|| Buffer::empty(frame.buffer.area), |last| last.buffer);
    let cells = before.diff(&frame.buffer);
    let mut backend = CrosstermBackend::new(&mut bytes);
    // Bytes in memory take everything.
    let _ = backend.draw(cells.into_iter());
    let _ = backend.set_cursor_position(frame.cursor);
    bytes.extend(END.as_bytes());
    if full_screen::is_open() {
        let mut stdout = stdout().lock();
        // A terminal that is gone is seen by the reader of its keys.
        let _ = stdout.write_all(&bytes).and_then(|()| stdout.flush());
    }
    *last = Some(frame);
}
