//! Writes a text so that a person sees all that is in it, before they agree to it: on one line, with every line end, hidden or blank-looking
//! letter written out. Pure.

use std::fmt::Write as _;

use super::counted::{counted, counted_as};
use super::visible_letters::is_invisible;
use crate::domain::limits::{LONG_TEXT_CHARS, SHOWN_BLANKS};

/// Returns a text between double quotes. A long run of blank letters is left out, with its length in its place outside of the quotes; words
/// are never left out. A long text is followed by its length.
pub fn exactly(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    let mut rest = text;
    shown.push('"');
    while let Some(letter) = rest.chars().next() {
        let end = rest.find(|letter| !is_blank(letter)).unwrap_or(rest.len());
        let run = &rest[..end];
        if let Some(what) = left_out(run) {
            write!(shown, "\" … {what} … \"").expect("writing to a string succeeds");
            rest = &rest[end..];
        } else if run.is_empty() {
            push(&mut shown, letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            run.chars().for_each(|letter| push(&mut shown, letter));
            rest = &rest[end..];
        }
    }
    shown.push('"');
    let length = text.chars().count();
    if length > LONG_TEXT_CHARS {
        write!(shown, " ({length} characters)").expect("writing to a string succeeds");
    }
    shown
}

/// Returns the words of a command line, each as [`exactly`] writes it, as a list.
pub fn exact_words(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| exactly(word)).collect();
    format!("[{}]", words.join(", "))
}

/// Says whether a letter looks like nothing. Some join or style the letters beside them, which makes no difference to a command.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace()
        || is_invisible(letter)
        || matches!(letter, '\u{200c}' | '\u{200d}' | '\u{2800}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Says what is left out of a run of blank letters, if it is long.
fn left_out(run: &str) -> Option<String> {
    let letters = run.chars().count();
    if letters <= SHOWN_BLANKS {
        return None;
    }
    if run.chars().all(|letter| letter == ' ') {
        return Some(counted(letters, "space"));
    }
    let blanks = counted(letters, "blank letter");
    Some(match run.chars().filter(|letter| *letter == '\n').count() {
        0 => blanks,
        ends => format!("{blanks}, {} among them", counted_as(ends, "line end", "line ends")),
    })
}

fn push(shown: &mut String, letter: char) {
    match letter {
        ' '..='~' if !matches!(letter, '"' | '\\') => shown.push(letter),
        '"' | '\\' | '\n' | '\r' | '\t' | '\0' => shown.extend(letter.escape_debug()),
        _ if is_blank(letter) => shown.extend(letter.escape_unicode()),
        // After another letter, a mark that combines with it stays as it is.
        _ => shown.extend(format!("x{letter}").escape_debug().skip(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(exactly(text), expected, "{text:?}");
    }

    #[test]
    fn all_letters_of_a_text_are_seen() {
        check("", r#""""#);
        check("cargo test # runs\ntouch X", r#""cargo test # runs\ntouch X""#);
        check("a`b` 'c' \"d\" \\e\r\t\0", r#""a`b` 'c' \"d\" \\e\r\t\0""#);
        check("a\u{ad}b\u{202e}c\u{200b}d", r#""a\u{ad}b\u{202e}c\u{200b}d""#);
        check("\u{2800}\u{3164}\u{a0}\u{3000}", r#""\u{2800}\u{3164}\u{a0}\u{3000}""#);
        check("\u{200d}\u{fe0f}\u{fe01}\u{e0041}", r#""\u{200d}\u{fe0f}\u{fe01}\u{e0041}""#);
        check("\u{1b}[2J\u{9b}", r#""\u{1b}[2J\u{9b}""#);
        check("é e\u{301} あ 👍", "\"é e\u{301} あ 👍\"");
    }

    #[test]
    fn long_blanks_are_left_out_visibly_and_no_word_is() {
        let blanks = |blank: &str| format!("ls{};rm -rf ~", blank.repeat(60_000));
        check(&blanks(" "), r#""ls" … 60000 spaces … ";rm -rf ~" (60011 characters)"#);
        check(
            &blanks("\u{2800}"),
            r#""ls" … 60000 blank letters … ";rm -rf ~" (60011 characters)"#,
        );
        let ends = r#""ls" … 60000 blank letters, 30000 line ends among them … ";rm -rf ~" (60011 characters)"#;
        check(&format!("ls{};rm -rf ~", " \n".repeat(30_000)), ends);
        let indented = format!("a{}b", " ".repeat(SHOWN_BLANKS));
        check(&indented, &format!("{indented:?}"));
        let words = "a ".repeat(60_000);
        assert!(exactly(&words).contains(&words), "no word is left out");
        assert!(exactly(&words).ends_with("\" (120000 characters)"));
    }

    #[test]
    fn words_of_a_command_are_told_apart() {
        let words = ["sh", "-c", "a\", \"b"].map(str::to_owned);
        assert_eq!(exact_words(&words), r#"["sh", "-c", "a\", \"b"]"#);
    }
}
