//! Makes keys of the bytes that a terminal sends (xterm's control sequences, which all terminals of today share). Pure.

use crate::config::KeyPress;
use crate::domain::limits;
use crate::domain::text::visible_letters::{is_invisible, seen};

/// What came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum Input {
    Key(KeyPress),
    /// A pasted text, with its line ends.
    Paste(String),
    /// A click at a row and a column, from zero.
    Click {
        row: u16,
        column: u16,
    },
    WheelUp,
    WheelDown,
    /// The terminal is gone.
    Closed,
}

const ESCAPE: u8 = 0x1b;
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// The longest sequence of a key. A longer one is none that we know, and its bytes are dropped.
const LONGEST: usize = 32;

/// Bytes that are not keys yet, and keys that were not taken yet.
#[derive(Debug, Default)]
pub(super) struct InputBytes {
    bytes: Vec<u8>,
    inputs: Vec<Input>,
}

/// The beginning of the bytes.
enum Head {
    /// So many bytes are this input, or nothing that counts.
    Whole(usize, Option<Input>),
    Unfinished,
}

impl InputBytes {
    /// Takes bytes of the terminal.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        while !self.bytes.is_empty() {
            match head(&self.bytes) {
                Head::Whole(count, input) => {
                    self.inputs.extend(input);
                    self.bytes.drain(..count);
                }
                Head::Unfinished => {
                    self.bound();
                    return;
                }
            }
        }
    }

    /// Drops what can no longer become an input that is taken.
    fn bound(&mut self) {
        if self.bytes.starts_with(PASTE) {
            // The end of an endless paste has to be found all the same.
            let most = PASTE.len() + limits::TYPED_BYTES;
            if self.bytes.len() > most + PASTE_END.len() {
                let end = self.bytes.len() - PASTE_END.len();
                self.bytes.drain(most..end);
            }
        } else if self.bytes.len() > LONGEST {
            self.bytes.clear();
        }
    }

    /// Says whether more bytes are expected at once.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.bytes.is_empty() && !self.bytes.starts_with(PASTE)
    }

    /// Notes that no more bytes have come: an escape character alone was the key.
    pub(super) fn give_up(&mut self) {
        if self.bytes == [ESCAPE] {
            self.inputs.push(Input::Key(KeyPress::Escape));
        }
        self.bytes.clear();
    }

    /// Returns the inputs so far.
    pub(super) fn inputs(&mut self) -> Vec<Input> {
        std::mem::take(&mut self.inputs)
    }
}

fn head(bytes: &[u8]) -> Head {
    let key = |count, key| Head::Whole(count, Some(Input::Key(key)));
    match bytes[0] {
        ESCAPE => escape(bytes),
        b'\r' | b'\n' => key(1, KeyPress::Enter),
        b'\t' => key(1, KeyPress::Tab),
        0x7f | 0x08 => key(1, KeyPress::Backspace),
        control @ 1..=26 => key(1, KeyPress::Control(char::from(b'a' + control - 1))),
        0..=31 => Head::Whole(1, None),
        first => letter(bytes, first),
    }
}

/// Reads a letter in UTF-8.
fn letter(bytes: &[u8], first: u8) -> Head {
    let length = match first {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Head::Whole(1, None),
    };
    let Some(letter) = bytes.get(..length) else { return Head::Unfinished };
    let Ok(text) = std::str::from_utf8(letter) else { return Head::Whole(1, None) };
    let letter = text.chars().next().filter(|letter| !is_invisible(*letter));
    Head::Whole(length, letter.map(|letter| Input::Key(KeyPress::Letter(letter))))
}

/// Reads what begins with an escape character.
fn escape(bytes: &[u8]) -> Head {
    if bytes.starts_with(PASTE) {
        return paste(bytes);
    }
    match bytes.get(1) {
        None => Head::Unfinished,
        Some(b'[') => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte));
            let Some(end) = end else { return Head::Unfinished };
            Head::Whole(end + 3, sequence(&bytes[2..end + 2], bytes[end + 2]))
        }
        // The keypad mode of some terminals.
        Some(b'O') => match bytes.get(2) {
            None => Head::Unfinished,
            Some(last) => Head::Whole(3, sequence(&[], *last)),
        },
        Some(&ESCAPE) => Head::Whole(1, Some(Input::Key(KeyPress::Escape))),
        // A key with Alt, of which none is bound: neither key counts, so that Alt-K kills nothing.
        Some(_) => match head(&bytes[1..]) {
            Head::Whole(count, _) => Head::Whole(count + 1, None),
            Head::Unfinished => Head::Unfinished,
        },
    }
}

fn paste(bytes: &[u8]) -> Head {
    let rest = &bytes[PASTE.len()..];
    let end = rest.windows(PASTE_END.len()).position(|window| window == PASTE_END);
    let Some(end) = end else { return Head::Unfinished };
    let text = seen(&String::from_utf8_lossy(&rest[..end]).replace('\r', "\n"));
    Head::Whole(PASTE.len() + end + PASTE_END.len(), Some(Input::Paste(text)))
}

/// Returns the input of a control sequence: its parameters, and its last byte.
fn sequence(parameters: &[u8], last: u8) -> Option<Input> {
    if let Some(mouse) = parameters.strip_prefix(b"<") {
        return click(mouse, last);
    }
    let key = match (parameters, last) {
        (_, b'A') => KeyPress::Up,
        (_, b'B') => KeyPress::Down,
        (_, b'C') => KeyPress::Right,
        (_, b'D') => KeyPress::Left,
        (_, b'H') | (b"1" | b"7", b'~') => KeyPress::Home,
        (_, b'F') | (b"4" | b"8", b'~') => KeyPress::End,
        (b"3", b'~') => KeyPress::Delete,
        (b"5", b'~') => KeyPress::PageUp,
        (b"6", b'~') => KeyPress::PageDown,
        (_, b'Z') => KeyPress::ShiftTab,
        _ => return None,
    };
    Some(Input::Key(key))
}

/// Returns the input of a mouse: its button, its column and its row, from one.
fn click(parameters: &[u8], last: u8) -> Option<Input> {
    let text = std::str::from_utf8(parameters).ok()?;
    let mut numbers = text.split(';').map(str::parse::<u16>);
    let mut next = || numbers.next()?.ok();
    let (button, column, row) = (next()?, next()?, next()?);
    match (button, last) {
        (0, b'M') => {
            Some(Input::Click { row: row.saturating_sub(1), column: column.saturating_sub(1) })
        }
        (64, b'M') => Some(Input::WheelUp),
        (65, b'M') => Some(Input::WheelDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KeyPress as K;

    fn read(bytes: &[u8]) -> Vec<Input> {
        let mut input = InputBytes::default();
        input.take(bytes);
        input.inputs()
    }

    #[test]
    fn keys_are_read_however_their_bytes_arrive() {
        let bytes = b"k\x1b[A\x1bOB\x1b[5~\x1b[1;5C\r\t\x1b[Z\x7f\x03\x1b[<0;5;3M\x1b[<64;1;1M\xc3\xa4 \x1b[200~a\rb\x1b[201~q";
        let expected = [
            Input::Key(K::Letter('k')),
            Input::Key(K::Up),
            Input::Key(K::Down),
            Input::Key(K::PageUp),
            Input::Key(K::Right),
            Input::Key(K::Enter),
            Input::Key(K::Tab),
            Input::Key(K::ShiftTab),
            Input::Key(K::Backspace),
            Input::Key(K::Control('c')),
            Input::Click { row: 2, column: 4 },
            Input::WheelUp,
            Input::Key(K::Letter('ä')),
            Input::Key(K::Letter(' ')),
            Input::Paste("a\nb".to_owned()),
            Input::Key(K::Letter('q')),
        ];
        assert_eq!(read(bytes), expected);
        let mut one_by_one = InputBytes::default();
        for byte in bytes {
            one_by_one.take(&[*byte]);
        }
        assert_eq!(one_by_one.inputs(), expected);
    }

    #[test]
    fn an_escape_alone_is_the_key_once_no_more_bytes_come() {
        let mut input = InputBytes::default();
        input.take(b"\x1b");
        assert!(input.is_unfinished());
        assert_eq!(input.inputs(), []);
        input.give_up();
        assert_eq!(input.inputs(), [Input::Key(K::Escape)]);
        assert!(!input.is_unfinished());
    }

    #[test]
    fn a_key_with_alt_is_none_and_odd_bytes_are_passed_over() {
        assert_eq!(read(b"\x1bK\xff\xfe\x00\x1b[999;1q\x1b[<0;;1Mj"), [Input::Key(K::Letter('j'))]);
        assert_eq!(read("\u{202e}\u{9b}j".as_bytes()), [Input::Key(K::Letter('j'))]);
    }

    #[test]
    fn nothing_that_is_sent_without_end_is_kept_without_end() {
        let mut input = InputBytes::default();
        input.take(b"\x1b[200~");
        for _ in 0..100 {
            input.take(&[b'x'; 1000]);
        }
        assert!(input.bytes.len() < 2 * limits::TYPED_BYTES);
        input.take(PASTE_END);
        assert!(
            matches!(&input.inputs()[..], [Input::Paste(text)] if text.len() <= limits::TYPED_BYTES + 8)
        );
        input.take(b"\x1b[");
        input.take(&[b'1'; 1000]);
        assert!(input.bytes.len() <= LONGEST);
        input.take(b"q");
        assert_eq!(input.inputs(), [Input::Key(K::Letter('q'))]);
    }
}
