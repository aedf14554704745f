//! The bytes of an agent: a bounded, lossy reader of its lines, and a writer with a limit for stalls.
//!
//! An agent's stdout carries more than the protocol: warnings, colours, half characters, a dump of megabytes. A line that cannot be a
//! message is dropped and counted; none ends the connection. (The transports of the protocol crate end it at the first invalid byte, and
//! read lines of any length.)

use super::error::Ending;
use crate::sys::bounded_lines::{Line, Lines};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Counts of the input, shared by the connection and its observers.
#[derive(Debug, Default)]
pub(super) struct LineStats {
    pub(super) lines: AtomicU64,
    pub(super) noise: AtomicU64,
    pub(super) oversize: AtomicU64,
    pub(super) lossy: AtomicU64,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    /// Lines accepted as messages.
    pub lines: u64,
    /// Lines dropped because they are not JSON-RPC messages. Blank lines are not counted.
    pub noise: u64,
    /// Lines dropped because they are longer than the cap.
    pub oversize: u64,
    /// Lines with invalid UTF-8 or half characters, which were replaced.
    pub lossy: u64,
}

impl LineStats {
    /// Returns the counts so far.
    pub(super) fn counts(&self) -> LineCounts {
        LineCounts {
            lines: self.lines.load(Ordering::Relaxed),
            noise: self.noise.load(Ordering::Relaxed),
            oversize: self.oversize.load(Ordering::Relaxed),
            lossy: self.lossy.load(Ordering::Relaxed),
        }
    }
}

/// Increments a counter. The counters order no other memory access, so relaxed is enough.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Reads lines that may be messages.
pub(super) struct LineReader<R> {
    lines: Lines<R>,
    stats: Arc<LineStats>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(bytes: R, longest: usize, stats: Arc<LineStats>) -> Self {
        Self { lines: Lines::new(bytes, longest), stats }
    }

    /// Returns the next line that starts like a JSON object, or `None` at the end. A last line without newline counts.
    pub(super) async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let line = match self.lines.next(|_| {}).await? {
                None => return Ok(None),
                Some(Line::Whole(line)) => line,
                Some(Line::TooLong) => {
                    count(&self.stats.oversize);
                    continue;
                }
            };
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            if !line.starts_with(b"{") {
                count(&self.stats.noise);
                continue;
            }
            let text = String::from_utf8_lossy(line);
            if matches!(text, std::borrow::Cow::Owned(_)) {
                count(&self.stats.lossy);
            }
            return Ok(Some(text.into_owned()));
        }
    }
}

/// Writes lines, with a time limit for each part of a line.
pub(super) struct LineWriter<W> {
    pipe: W,
    limit: Duration,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    pub(super) fn new(pipe: W, limit: Duration) -> Self {
        Self { pipe, limit }
    }

    /// Writes a line. The limit is for progress, not for the line: reading a long prompt slowly is no stall.
    pub(super) async fn write(&mut self, mut line: String) -> Result<(), Ending> {
        line.push('\n');
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let taken = within(self.limit, self.pipe.write(rest)).await?;
            if taken == 0 {
                return Err(Ending::StdinBroken {
                    problem: io::Error::from(io::ErrorKind::WriteZero).to_string(),
                });
            }
            rest = &rest[taken..];
        }
        within(self.limit, self.pipe.flush()).await
    }

    /// Closes the pipe: the agent sees the end of its stdin.
    pub(super) async fn close(mut self) -> Result<(), Ending> {
        within(self.limit, self.pipe.shutdown()).await
    }
}

async fn within<T>(
    limit: Duration,
    write: impl Future<Output = io::Result<T>>,
) -> Result<T, Ending> {
    match tokio::time::timeout(limit, write).await {
        Err(_elapsed) => Err(Ending::StdinStalled { after: limit }),
        Ok(Err(error)) => Err(Ending::StdinBroken { problem: error.to_string() }),
        Ok(Ok(value)) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(input: &[u8], longest: usize, expected: &[&str], counts: LineCounts) {
        let stats = Arc::new(LineStats::default());
        let mut reader = LineReader::new(input, longest, Arc::clone(&stats));
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.expect("a slice can be read") {
            lines.push(line);
        }
        assert_eq!(lines, expected);
        assert_eq!(stats.counts(), counts);
    }

    #[tokio::test]
    async fn noise_is_dropped_and_counted() {
        let input = b"warning: x\n\x1b[31mred\x1b[0m\n\n[1,2]\n\"s\"\n42\n  {\"a\":1}\r\n{\"b\":2}";
        check(
            input,
            100,
            &["{\"a\":1}", "{\"b\":2}"],
            LineCounts { noise: 5, ..LineCounts::default() },
        )
        .await;
    }

    #[tokio::test]
    async fn a_line_over_the_cap_is_skipped_and_the_next_one_read() {
        let mut input = vec![b'{'; 300_000];
        input.extend_from_slice(b"\n{}\n");
        check(&input, 1000, &["{}"], LineCounts { oversize: 1, ..LineCounts::default() }).await;
        check(b"{\"a\":1}\n", 7, &["{\"a\":1}"], LineCounts::default()).await;
        check(b"{\"a\":1}\n", 6, &[], LineCounts { oversize: 1, ..LineCounts::default() }).await;
    }

    #[tokio::test]
    async fn a_line_without_end_is_skipped_at_the_end_of_the_stream() {
        check(&vec![b'{'; 200_000], 1000, &[], LineCounts { oversize: 1, ..LineCounts::default() })
            .await;
    }

    #[tokio::test]
    async fn invalid_utf8_is_replaced_and_counted() {
        let expected = "{\"t\":\"\u{fffd}\u{fffd}\"}";
        check(
            b"{\"t\":\"\xff\xfe\"}\n",
            100,
            &[expected],
            LineCounts { lossy: 1, ..LineCounts::default() },
        )
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_is_a_stall_and_a_slow_one_is_not() {
        let limit = Duration::from_secs(30);
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut writer = LineWriter::new(ours, limit);
        let slow = tokio::spawn(async move {
            let mut taken = [0; 10];
            for _ in 0..3 {
                tokio::time::sleep(limit / 2).await;
                tokio::io::AsyncReadExt::read_exact(&mut theirs, &mut taken)
                    .await
                    .expect("the writer is there");
            }
            theirs
        });
        writer.write("x".repeat(35)).await.expect("a slow reader is waited for");
        let _theirs = slow.await.expect("the reader does not panic");
        let stalled = writer.write("x".repeat(35)).await.expect_err("the agent does not read");
        assert_eq!(stalled, Ending::StdinStalled { after: limit });
        assert!(stalled.to_string().starts_with("the agent stopped reading its stdin"));
    }
}
