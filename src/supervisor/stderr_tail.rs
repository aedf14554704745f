//! The end of a child's stderr, for error messages.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::domain::grace_periods;
use crate::sys::mutex::lock;

/// How much is kept: room for several panics with backtraces or usage texts, and less than a megabyte with a dozen agents.
pub(super) const KEPT_BYTES: usize = 64 * 1024;

/// The size of one read. Pipes hold 64 KiB, and larger reads would not speed up a flood.
const CHUNK_BYTES: usize = 8 * 1024;

/// Keeps the last bytes of a stream and counts the dropped ones.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl Tail {
    fn push(&self, chunk: &[u8]) {
        // At worst, a panic while the lock was held left the bytes incomplete, as a tail may be.
        let mut kept = lock(&self.kept);
        kept.bytes.extend(chunk);
        let excess = kept.bytes.len().saturating_sub(KEPT_BYTES);
        kept.bytes.drain(..excess);
        kept.dropped += excess as u64;
    }

    /// Returns the number of bytes read so far.
    pub(super) fn total(&self) -> u64 {
        let kept = lock(&self.kept);
        kept.dropped + kept.bytes.len() as u64
    }

    /// Returns the kept bytes as text, with invalid UTF-8 replaced. A first line counts the dropped bytes.
    pub(super) fn text(&self) -> String {
        let mut kept = lock(&self.kept);
        let dropped = kept.dropped;
        let bytes = kept.bytes.make_contiguous();
        let mut text = String::new();
        let mut start = 0;
        if dropped > 0 {
            // The cut may have split a character, whose rest is at most 3 continuation bytes.
            start = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            let missing = dropped + start as u64;
            writeln!(text, "[{missing} earlier bytes are not kept]")
                .expect("writing to a string cannot fail");
        }
        text.push_str(&String::from_utf8_lossy(&bytes[start..]));
        text
    }
}

/// Reads the stream into `tail` until it ends or fails: a failed pipe brings no more bytes.
pub(super) async fn drain(mut stream: impl AsyncRead + Unpin, tail: Arc<Tail>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        tail.push(&chunk[..length]);
    }
}

/// Waits for the end of stderr.
pub(super) async fn end_of(mut stderr: JoinHandle<()>) {
    if timeout(grace_periods::LAST_STDERR, &mut stderr).await.is_err() {
        stderr.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept_whole() {
        let tail = Tail::default();
        tail.push(b"no such model: ");
        tail.push("grün\n".as_bytes());
        assert_eq!(tail.text(), "no such model: grün\n");
    }

    #[test]
    fn a_long_text_is_cut_to_its_end_and_the_rest_counted() {
        let tail = Tail::default();
        tail.push("ü".repeat(KEPT_BYTES / 2).as_bytes());
        tail.push(b"end");
        let text = tail.text();
        let (note, rest) = text.split_once('\n').unwrap();
        assert_eq!(
            note, "[4 earlier bytes are not kept]",
            "3 were dropped, 1 is the rest of a cut character"
        );
        assert!(rest.starts_with('ü') && rest.ends_with("üend"));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let tail = Tail::default();
        tail.push(b"\xff\xfe!");
        assert_eq!(tail.text(), "\u{fffd}\u{fffd}!");
    }
}
