//! Texts of others as they may be shown: letters that are seen, and nothing that acts on whoever is shown them. Pure.

/// Says whether a character is not seen itself: it moves the cursor, turns the order of letters round, or hides among them.
///
/// What joins letters (U+200C, U+200D) and chooses how they look (U+FE0F) is not counted: whole scripts, and pictures of people, are
/// written with it.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                // Tags, and the selectors behind them, which carry whole texts unseen.
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns a text of one or several lines with `\u{fffd}` for all that is not seen but the ends of lines and tabs.
pub fn seen(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(letter),
            _ if is_invisible(letter) => shown.push('\u{fffd}'),
            _ => shown.push(letter),
        }
    }
    shown
}

/// Returns a text as one line, without what is not seen, and with one space for each space between words.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_whitespace() {
            if !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !is_invisible(letter) {
            line.push(letter);
        }
    }
    line.trim().to_owned()
}

/// Quotes a name as a JSON string of one line, with `…` behind so many characters of it. Of an agent's words it takes only those in which
/// what is secret is hidden already.
pub fn quoted(name: &str, most: usize) -> String {
    let line = one_line(name);
    let mut shown: String = line.chars().take(most).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    serde_json::Value::from(shown).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_made_visible_and_line_ends_stay() {
        let odd = "a\u{1b}[2J\u{9b}1m\u{7}\u{8}\u{202e}\u{e0041}\u{200b}b\r\n\tc\rd";
        assert_eq!(
            seen(odd),
            "a\u{fffd}[2J\u{fffd}1m\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}b\n\tc\u{fffd}d"
        );
        let joined = "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم";
        assert_eq!(seen(joined), joined);
        assert_eq!(one_line(joined), joined);
    }

    #[test]
    fn a_line_is_one() {
        let odd = " a\n\n  b\tc\x1b[2J\u{202e}d\r\u{2028}e\u{e0041}";
        assert_eq!(one_line(odd), "a b c[2Jd e");
        assert_eq!(one_line("\n \u{202e}"), "");
    }
}
