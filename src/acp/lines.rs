//! The bytes of an agent: a bounded, lossy reader of its lines, and a writer that does not wait for ever.
//!
//! An agent's stdout carries more than protocol: warnings, colours, half characters, a dump of megabytes. A line that
//! cannot be a message is dropped and counted; none ends the connection. (The transports of the protocol crate end it on
//! the first invalid byte, and read lines of any length.)

use super::error::Ending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// Counts what came in, shared by the connection and whoever watches it.
#[derive(Debug, Default)]
pub(super) struct LineStats {
    pub(super) lines: AtomicU64,
    pub(super) noise: AtomicU64,
    pub(super) oversize: AtomicU64,
    pub(super) lossy: AtomicU64,
}

/// The counts of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    /// Lines taken as messages.
    pub lines: u64,
    /// Lines dropped because they are no JSON-RPC message. Blank lines are not counted.
    pub noise: u64,
    /// Lines dropped because they are longer than the cap.
    pub oversize: u64,
    /// Lines that had invalid UTF-8 or half characters, which were replaced.
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

/// Adds one to a counter; the counters order nothing, so they may be relaxed.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Reads lines that may be messages.
pub(super) struct LineReader<R> {
    bytes: BufReader<R>,
    longest: usize,
    stats: Arc<LineStats>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// 64 KiB is what a pipe holds: one read empties it.
    const BUFFER: usize = 64 * 1024;

    pub(super) fn new(bytes: R, longest: usize, stats: Arc<LineStats>) -> Self {
        Self {
            bytes: BufReader::with_capacity(Self::BUFFER, bytes),
            longest,
            stats,
        }
    }

    /// Returns the next line that starts like a JSON object, or `None` at the end. A last line without newline counts.
    /// Not cancel-safe: a dropped call loses the part of a line that it read.
    pub(super) async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let Some(line) = self.next_bytes().await? else {
                return Ok(None);
            };
            let Some(line) = line else {
                count(&self.stats.oversize);
                continue;
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

    /// Returns the next line's bytes, `Some(None)` for a line over the cap, `None` at the end.
    async fn next_bytes(&mut self) -> io::Result<Option<Option<Vec<u8>>>> {
        let mut line = Some(Vec::new());
        let mut empty = true;
        loop {
            let buffer = self.bytes.fill_buf().await?;
            if buffer.is_empty() {
                return Ok((!empty).then_some(line));
            }
            empty = false;
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..newline.unwrap_or(buffer.len())];
            match &mut line {
                Some(line) if line.len() + part.len() <= self.longest => {
                    line.extend_from_slice(part);
                }
                // The memory is given back at once; the rest of the line is read and forgotten.
                _ => line = None,
            }
            let taken = part.len() + usize::from(newline.is_some());
            self.bytes.consume(taken);
            if newline.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

/// Replaces the `\uXXXX` escapes of half characters, which no JSON parser here accepts, by `\ufffd`; `None` when there
/// are none. Agents in JavaScript write them when an emoji is cut between two chunks of a stream.
pub(super) fn mend_half_characters(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let mut mended = bytes.to_vec();
    let mut changed = false;
    let mut at = 0;
    while at + 1 < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(bytes, at) {
            Some(0xD800..=0xDBFF) if matches!(unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => {
                at += 12;
            }
            Some(0xD800..=0xDFFF) => {
                mended[at + 2..at + 6].copy_from_slice(b"fffd");
                changed = true;
                at += 6;
            }
            // Both bytes of any other escape, so that `\\u` is not taken for one.
            _ => at += 2,
        }
    }
    // Only hexadecimal digits were exchanged, for ASCII.
    changed.then(|| String::from_utf8_lossy(&mended).into_owned())
}

/// Returns the UTF-16 unit of the `\uXXXX` escape at a place.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

/// Writes lines, each part of one within a limit.
pub(super) struct LineWriter<W> {
    pipe: W,
    limit: Duration,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    pub(super) fn new(pipe: W, limit: Duration) -> Self {
        Self { pipe, limit }
    }

    /// Writes a line. The limit is for progress, not for the line: a slow reader of a long prompt is no stall.
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
        Ok(Err(error)) => Err(Ending::StdinBroken {
            problem: error.to_string(),
        }),
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
            LineCounts {
                noise: 5,
                ..LineCounts::default()
            },
        )
        .await;
    }

    #[tokio::test]
    async fn a_line_over_the_cap_is_skipped_and_the_next_one_read() {
        let mut input = vec![b'{'; 300_000];
        input.extend_from_slice(b"\n{}\n");
        check(
            &input,
            1000,
            &["{}"],
            LineCounts {
                oversize: 1,
                ..LineCounts::default()
            },
        )
        .await;
        check(b"{\"a\":1}\n", 7, &["{\"a\":1}"], LineCounts::default()).await;
        check(
            b"{\"a\":1}\n",
            6,
            &[],
            LineCounts {
                oversize: 1,
                ..LineCounts::default()
            },
        )
        .await;
    }

    #[tokio::test]
    async fn a_line_without_end_is_skipped_at_the_end_of_the_stream() {
        check(
            &vec![b'{'; 200_000],
            1000,
            &[],
            LineCounts {
                oversize: 1,
                ..LineCounts::default()
            },
        )
        .await;
    }

    #[tokio::test]
    async fn invalid_utf8_is_replaced_and_counted() {
        let expected = "{\"t\":\"\u{fffd}\u{fffd}\"}";
        check(
            b"{\"t\":\"\xff\xfe\"}\n",
            100,
            &[expected],
            LineCounts {
                lossy: 1,
                ..LineCounts::default()
            },
        )
        .await;
    }

    #[test]
    fn half_characters_are_mended_and_whole_ones_kept() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(mend_half_characters(line).as_deref(), expected);
        };
        check(r#"{"t":"a\ud83d"}"#, Some(r#"{"t":"a\ufffd"}"#));
        check(r#"{"t":"\uDE00 b"}"#, Some(r#"{"t":"\ufffd b"}"#));
        check(
            r#"{"t":"\ud83d\ud83d\ude00"}"#,
            Some(r#"{"t":"\ufffd\ud83d\ude00"}"#),
        );
        check(r#"{"t":"\ud83d\ude00"}"#, None);
        check(r#"{"t":"\\ud83d"}"#, None);
        check(r#"{"t":"\ud8"#, None);
        check("{\"t\":\"é\\", None);
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
        writer
            .write("x".repeat(35))
            .await
            .expect("a slow reader is waited for");
        let _theirs = slow.await.expect("the reader does not panic");
        let stalled = writer
            .write("x".repeat(35))
            .await
            .expect_err("nobody reads");
        assert_eq!(stalled, Ending::StdinStalled { after: limit });
        assert!(
            stalled
                .to_string()
                .starts_with("agent does not read its stdin")
        );
    }

    proptest::proptest! {
        #[test]
        fn mending_never_panics_and_makes_text_that_needs_none(line in "(\\\\|u|d|D|8|c|\\\\ud83d|\\\\ude00|é){0,20}") {
            let again = mend_half_characters(&line).and_then(|mended| mend_half_characters(&mended));
            assert_eq!(again, None);
        }
    }
}
