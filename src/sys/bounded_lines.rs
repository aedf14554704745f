//! Reads the lines of another program, each with a cap on its memory, and repairs broken characters in them.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A pipe holds 64 KiB, so one read empties it.
const BUFFER: usize = 64 * 1024;

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line within the cap.
    Whole(Vec<u8>),
    /// A longer line, which was read and dropped.
    TooLong,
}

/// Reads lines up to a cap.
#[derive(Debug)]
pub struct Lines<R> {
    bytes: BufReader<R>,
    longest: usize,
    /// The current line so far; empty once it is too long.
    line: Vec<u8>,
    too_long: bool,
    /// Whether a part of the current line was read.
    begun: bool,
    /// The bytes consumed so far, and those before the current line.
    taken: u64,
    line_at: u64,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `longest` bytes.
    pub fn new(bytes: R, longest: usize) -> Self {
        Self {
            bytes: BufReader::with_capacity(BUFFER, bytes),
            longest,
            line: Vec::new(),
            too_long: false,
            begun: false,
            taken: 0,
            line_at: 0,
        }
    }

    /// Returns the number of bytes before the current or last line.
    pub fn line_at(&self) -> u64 {
        self.line_at
    }

    /// Returns the next line, or `None` at the end. A last line without newline counts. `over` sees the bytes of a line that is too long,
    /// part by part. Cancel-safe: the next call continues after a dropped one.
    pub async fn next(&mut self, mut over: impl FnMut(&[u8])) -> io::Result<Option<Line>> {
        loop {
            let buffer = self.bytes.fill_buf().await?;
            if buffer.is_empty() {
                return Ok(self.begun.then(|| self.end_line()));
            }
            if !self.begun {
                self.begun = true;
                self.line_at = self.taken;
            }
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..newline.unwrap_or(buffer.len())];
            if !self.too_long && self.line.len() + part.len() > self.longest {
                self.too_long = true;
                over(&self.line);
                // This frees the memory at once.
                self.line = Vec::new();
            }
            if self.too_long {
                over(part);
            } else {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(newline.is_some());
            self.bytes.consume(taken);
            self.taken += taken as u64;
            if newline.is_some() {
                return Ok(Some(self.end_line()));
            }
        }
    }

    fn end_line(&mut self) -> Line {
        self.begun = false;
        if std::mem::take(&mut self.too_long) {
            return Line::TooLong;
        }
        Line::Whole(std::mem::take(&mut self.line))
    }
}

/// Replaces the `\uXXXX` escapes of lone surrogates, which our JSON parser refuses, by `\ufffd`; `None` if there are none. JavaScript
/// programs write them when an emoji is split between two chunks of a stream.
pub fn mend_half_characters(line: &str) -> Option<String> {
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
            // Skip both bytes of any other escape, so that `\\u` is not taken for one.
            _ => at += 2,
        }
    }
    // Only hexadecimal digits were replaced, by ASCII.
    changed.then(|| String::from_utf8_lossy(&mended).into_owned())
}

/// Returns the UTF-16 unit of the `\uXXXX` escape at an offset.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(input: &[u8], longest: usize, expected: &[Option<&str>]) {
        let mut reader = Lines::new(input, longest);
        let mut lines = Vec::new();
        while let Some(line) = reader.next(|_| {}).await.expect("a slice can be read") {
            lines.push(match line {
                Line::Whole(line) => Some(String::from_utf8(line).expect("the test writes text")),
                Line::TooLong => None,
            });
        }
        let lines: Vec<_> = lines.iter().map(Option::as_deref).collect();
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn lines_up_to_the_cap_are_read_and_longer_ones_skipped() {
        check(b"a\n\nbc\nlast", 4, &[Some("a"), Some(""), Some("bc"), Some("last")]).await;
        check(b"abc\nabcd\ne\n", 3, &[Some("abc"), None, Some("e")]).await;
        check(&vec![b'x'; 200_000], 1000, &[None]).await;
        check(b"", 3, &[]).await;
    }

    #[tokio::test]
    async fn every_byte_of_a_line_that_is_too_long_is_seen() {
        let input = [vec![b'x'; 100_000].as_slice(), b"\nab\n"].concat();
        let mut reader = Lines::new(input.as_slice(), 70_000);
        let mut seen = 0;
        let line = reader.next(|part| seen += part.len()).await;
        assert_eq!(line.expect("a slice can be read"), Some(Line::TooLong));
        assert_eq!(seen, 100_000);
        let line = reader.next(|part| seen += part.len()).await;
        assert_eq!(line.expect("a slice can be read"), Some(Line::Whole(b"ab".to_vec())));
        assert_eq!(seen, 100_000);
    }

    #[tokio::test]
    async fn each_line_begins_after_the_previous_one() {
        let input = b"ab\n\n\xf0\x9f\x98\x80abc\nlast";
        let mut reader = Lines::new(input.as_slice(), 5);
        let mut begin = Vec::new();
        while reader.next(|_| {}).await.expect("a slice can be read").is_some() {
            begin.push(reader.line_at());
        }
        assert_eq!(begin, [0, 3, 4, 12]);
    }

    #[tokio::test]
    async fn a_dropped_call_loses_nothing() {
        let (mut ours, theirs) = tokio::io::duplex(100);
        let mut reader = Lines::new(theirs, 100);
        tokio::io::AsyncWriteExt::write_all(&mut ours, b"half").await.expect("there is room");
        {
            let reading = std::pin::pin!(reader.next(|_| {}));
            assert!(futures::poll!(reading).is_pending());
        }
        tokio::io::AsyncWriteExt::write_all(&mut ours, b" and half\n")
            .await
            .expect("there is room");
        let line = reader.next(|_| {}).await.expect("a pipe in memory");
        assert_eq!(line, Some(Line::Whole(b"half and half".to_vec())));
    }

    #[test]
    fn half_characters_are_mended_and_whole_ones_kept() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(mend_half_characters(line).as_deref(), expected);
        };
        check(r#"{"t":"a\ud83d"}"#, Some(r#"{"t":"a\ufffd"}"#));
        check(r#"{"t":"\uDE00 b"}"#, Some(r#"{"t":"\ufffd b"}"#));
        check(r#"{"t":"\ud83d\ud83d\ude00"}"#, Some(r#"{"t":"\ufffd\ud83d\ude00"}"#));
        check(r#"{"t":"\ud83d\ude00"}"#, None);
        check(r#"{"t":"\\ud83d"}"#, None);
        check(r#"{"t":"\ud8"#, None);
        check("{\"t\":\"é\\", None);
    }

    proptest::proptest! {
        #[test]
        fn mending_never_panics_and_makes_text_that_needs_none(line in "(\\\\|u|d|D|8|c|\\\\ud83d|\\\\ude00|é){0,20}") {
            let again = mend_half_characters(&line).and_then(|mended| mend_half_characters(&mended));
            proptest::prop_assert_eq!(again, None);
        }
    }
}
