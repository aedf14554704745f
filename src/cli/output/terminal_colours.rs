//! Allows colours in printed lines, and nothing else that acts on a terminal.

use crate::domain::text::visible_letters::seen;

/// Returns one of our lines with its colours, without anything else that acts on a terminal. Foreign words in it must already be
/// one line.
pub(super) fn coloured(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut shown = seen(parts.next().unwrap_or_default());
    for part in parts {
        let codes = part.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        match codes.map(|end| part.split_at(end)) {
            Some((codes, rest)) if rest.starts_with('m') => {
                shown.push_str("\x1b[");
                shown.push_str(codes);
                shown.push_str(&seen(rest));
            }
            _ => {
                shown.push_str("\u{fffd}[");
                shown.push_str(&seen(part));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_remain_of_all_terminal_codes() {
        let line = "\x1b[1;32mdone\x1b[0m \x1b]0;T\x07\x1b[2J\x1b[\u{9b}1m\u{202e}x\x08";
        assert_eq!(
            coloured(line),
            "\x1b[1;32mdone\x1b[0m \u{fffd}]0;T\u{fffd}\u{fffd}[2J\u{fffd}[\u{fffd}1m\u{fffd}x\u{fffd}"
        );
        assert_eq!(coloured("plain"), "plain");
    }
}
