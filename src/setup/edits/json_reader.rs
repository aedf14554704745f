//! Judges the text of a client's JSON file without a tree of it: whether it is small enough, and whether the client itself reads it.

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};
use serde::de::IgnoredAny;

use super::config_edit::EditError;
use crate::domain::limits::MAX_CLIENT_JSON_PARTS;

/// The mark with which some editors begin a file. It is not part of the JSON.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What a client's own reader accepts besides plain JSON. None of these readers accepts a comma after the last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonReader {
    /// The client's name for people.
    pub title: &'static str,
    pub comments: bool,
    pub byte_order_mark: bool,
}

impl JsonReader {
    /// Refuses a text that the client does not read, although setup could edit it. A text without a value is setup's to fill.
    pub fn check(&self, text: &str) -> Result<(), EditError> {
        let refused = |why: String| Err(EditError::NotRead { reader: self.title, why });
        let (mark, json) = without_mark(text);
        if !mark.is_empty() && !self.byte_order_mark {
            return refused("it begins with a byte order mark (U+FEFF)".to_owned());
        }
        check_size(json)?;
        let mut plain = json.as_bytes().to_vec();
        let mut scanner = scanner(json);
        let mut comma = None;
        // What cannot be scanned is refused below, or by the parser.
        while let Ok(Some(token)) = scanner.scan() {
            let (start, end) = (scanner.token_start(), scanner.token_end());
            match token {
                Token::CommentLine(_) | Token::CommentBlock(_) if self.comments => {
                    let comment = plain[start..end].iter_mut();
                    comment.filter(|byte| !b"\r\n".contains(byte)).for_each(|byte| *byte = b' ');
                }
                Token::CommentLine(_) | Token::CommentBlock(_) => {
                    return refused(format!("it has a comment at {}", place(json, start)));
                }
                Token::CloseBrace | Token::CloseBracket if comma.is_some() => {
                    let at = place(json, comma.unwrap_or(start));
                    return refused(format!("it has a comma after the last value at {at}"));
                }
                _ => comma = matches!(token, Token::Comma).then_some(start),
            }
        }
        if plain.trim_ascii().is_empty() {
            return Ok(());
        }
        match serde_json::from_slice::<IgnoredAny>(&plain) {
            Ok(_) => Ok(()),
            Err(error) => refused(error.to_string()),
        }
    }
}

/// Splits a text into its mark, if it has one, and its JSON.
pub(in crate::setup) fn without_mark(text: &str) -> (&'static str, &str) {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(json) => (BYTE_ORDER_MARK, json),
        None => ("", text),
    }
}

/// Refuses a text of which a tree would take much memory and time.
pub(in crate::setup) fn check_size(json: &str) -> Result<(), EditError> {
    if parts(json, MAX_CLIENT_JSON_PARTS) > MAX_CLIENT_JSON_PARTS {
        return Err(EditError::TooLarge { most: MAX_CLIENT_JSON_PARTS });
    }
    Ok(())
}

/// Counts the parts of a text, until there are more than `most`.
pub(super) fn parts(json: &str, most: usize) -> usize {
    let mut parts = json.matches('\n').count();
    let mut scanner = scanner(json);
    // The parser stops where the scanner does, and says why.
    while parts <= most && matches!(scanner.scan(), Ok(Some(_))) {
        parts += 1;
    }
    parts
}

fn scanner(json: &str) -> Scanner<'_> {
    let options = ScannerOptions {
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    Scanner::new(json, &options)
}

/// Names a place in a text by its line and column.
fn place(text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    format!("line {line} column {column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: JsonReader = JsonReader { title: "It", comments: false, byte_order_mark: true };
    const WITH_COMMENTS: JsonReader =
        JsonReader { title: "It", comments: true, byte_order_mark: false };

    #[test]
    fn a_text_that_the_client_does_not_read_is_refused_with_the_place() {
        let refusal = |reader: JsonReader, text: &str| match reader.check(text) {
            Err(EditError::NotRead { why, .. }) => why,
            other => panic!("{text}: {other:?}"),
        };
        let text = "{\n  // mine\n  \"é\": [1, 2], /* b */\n}";
        assert_eq!(refusal(STRICT, text), "it has a comment at line 2 column 3");
        let comma = "it has a comma after the last value at line 3 column 14";
        assert_eq!(refusal(WITH_COMMENTS, text), comma);
        let list = "[\"a,]\", [1,\n]]";
        assert!(refusal(STRICT, list).ends_with("line 1 column 11"), "{}", refusal(STRICT, list));
        let mark = "it begins with a byte order mark (U+FEFF)";
        assert_eq!(refusal(WITH_COMMENTS, "\u{feff}{}"), mark);
        for (text, why) in [
            ("{\"a\": \"b\tc\"}", "control character"),
            ("{\"a\": 01}", "invalid number"),
            ("{\u{a0}}", "key must be a string"),
            ("{\"a\": 1", "EOF"),
        ] {
            assert!(refusal(WITH_COMMENTS, text).contains(why), "{}", refusal(WITH_COMMENTS, text));
        }
    }

    #[test]
    fn a_text_that_the_client_reads_is_accepted() {
        let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
        for text in [
            "",
            " \n",
            "{}",
            "\u{feff}{\"a\": \"// no, /* no */ ,]\"}",
            "{\"a\": 1, \"a\": 2}",
            &deep,
        ] {
            assert_eq!(STRICT.check(text), Ok(()), "{text}");
        }
        for text in ["// mine\n", "{ // mine,\n \"a\": [1 /* ,] */] }\r\n", "/* é */ {}"] {
            assert_eq!(WITH_COMMENTS.check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_text_of_too_many_parts_is_refused_and_a_long_one_is_not() {
        let many = |item: &str| format!("[{}1]", item.repeat(MAX_CLIENT_JSON_PARTS / 2));
        for item in ["{},", "1,", "\n\n", "/**//**/"] {
            let refused = Err(EditError::TooLarge { most: MAX_CLIENT_JSON_PARTS });
            assert_eq!(check_size(&many(item)), refused, "{item:?}");
        }
        let long = format!("[\"{}\"]", "x".repeat(4 * MAX_CLIENT_JSON_PARTS));
        assert_eq!(check_size(&long), Ok(()));
    }
}
