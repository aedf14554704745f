//! The text of a message: from the command line, or all of stdin.

use std::io::{self, IsTerminal as _, Read};

use crate::cli::{Failure, output, with_hint};
use crate::domain::limits;

/// The argument that stands for stdin.
const STDIN: &str = "-";

/// Returns the text that an argument stands for.
pub(super) fn given(text: &str) -> Result<String, Failure> {
    if text != STDIN {
        return Ok(text.to_owned());
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        output::tell("Type the message, then Ctrl-D at the beginning of a line.");
    }
    read(stdin.lock())
}

/// Reads a text to its end, but never more than a message may have.
fn read(input: impl Read) -> Result<String, Failure> {
    let most = limits::MAX_CONTENT_BYTES;
    let mut bytes = Vec::new();
    input.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let what = format!("the message is longer than {most} bytes (1 MiB), which is the limit");
        return Err(with_hint(what, "put it into a file of the project, and name the file"));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| "what stands on stdin is no text in UTF-8")?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_or_binary_input_is_refused_and_the_last_line_end_left_out() {
        assert_eq!(read(&b"one\ntwo\r\n"[..]).unwrap(), "one\ntwo");
        let endless = read(io::repeat(b'x')).unwrap_err().to_string();
        assert!(endless.contains("1048576 bytes"), "{endless}");
        let longest = vec![b'x'; limits::MAX_CONTENT_BYTES];
        assert_eq!(read(&longest[..]).unwrap().len(), longest.len());
        let binary = read(&[0xff, 0xfe, 0][..]).unwrap_err().to_string();
        assert!(binary.contains("UTF-8"), "{binary}");
    }
}
