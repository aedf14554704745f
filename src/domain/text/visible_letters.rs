//! Foreign texts made safe to display: visible letters only, and nothing that acts on a terminal or deceives a reader. Pure.

/// Says whether a character is invisible: it moves the cursor, changes the order of letters, or hides among them.
///
/// Characters that join letters (U+200C, U+200D) or choose the look of an emoji (U+FE0E, U+FE0F) do not count: whole scripts, and emoji
/// of people, need them.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                // Fillers of Hangul and Khmer, which look like nothing.
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                // Tags and variation selectors, which can carry whole texts invisibly.
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns a text of one or several lines with `\u{fffd}` for each invisible character except line ends and tabs.
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

/// Returns a text without the sequences that style a terminal's letters (ECMA-48, CSI), of which an escape alone would leave a rest.
pub fn without_styles(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            while letters.next_if(|next| matches!(next, ' '..='?')).is_some() {}
            letters.next_if(|last| matches!(last, '@'..='~'));
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// Returns a text as one line, without invisible characters, and with single spaces between its words.
pub fn one_line(text: &str) -> String {
    first_letters(text, usize::MAX).0
}

/// Returns the beginning of a text as one line of at most `most` characters, and `…` where it is cut.
pub fn beginning(text: &str, most: usize) -> String {
    let (mut shown, is_cut) = first_letters(text, most);
    if is_cut {
        shown.push('…');
    }
    shown
}

/// Returns the first `most` characters of a text as one line, and whether there are more. It reads no further: texts are long, and windows
/// show the beginnings of many.
fn first_letters(text: &str, most: usize) -> (String, bool) {
    let mut line = String::with_capacity(text.len().min(most));
    let mut room = most;
    let mut is_after_space = false;
    for letter in text.chars() {
        if letter.is_whitespace() {
            is_after_space = !line.is_empty();
        } else if letter.is_ascii_graphic() || !is_invisible(letter) {
            if room > 0 && std::mem::take(&mut is_after_space) {
                line.push(' ');
                room -= 1;
            }
            if room == 0 {
                return (line, true);
            }
            line.push(letter);
            room -= 1;
        }
    }
    (line, false)
}

/// Returns a text as one line of at most `most` characters. Of a longer one, the first three fifths and the last words stay, with ` … `
/// between them: what happened stands at the beginning of an error, and what to do at its end.
pub fn both_ends(text: &str, most: usize) -> String {
    const GAP: &str = " … ";
    let line = one_line(text);
    let count = line.chars().count();
    if count <= most {
        return line;
    }
    let room = most.saturating_sub(GAP.chars().count());
    let first = room * 3 / 5;
    let start: String = line.chars().take(first).collect();
    let end: String = line.chars().skip(count - (room - first)).collect();
    // Half a word says nothing, unless all is one.
    let words = end.split_once(' ').map_or(end.as_str(), |(_, words)| words);
    format!("{}{GAP}{words}", start.trim_end())
}

/// Quotes a name as a JSON string of one line, cut with `…` after `most` characters. An agent's words have to have their secrets hidden
/// already.
pub fn quoted(name: &str, most: usize) -> String {
    serde_json::Value::from(beginning(name, most)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_error_both_ends_stay() {
        let check = |text: &str, expected: &str| assert_eq!(both_ends(text, 23), expected);
        check("it failed; log in first", "it failed; log in first");
        check("0123456789-0123456789-0123456789", "0123456789-0 … 23456789");
        check("it failed with much to say; log in", "it failed wi … log in");
    }

    #[test]
    fn control_characters_are_replaced_and_line_ends_stay() {
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
    fn letters_that_look_like_nothing_are_replaced() {
        for letter in ['\u{34f}', '\u{3164}', '\u{fe01}', '\u{180b}', '\u{1d173}', '\u{ffa0}'] {
            assert_eq!(seen(&format!("te{letter}am")), "te\u{fffd}am", "{letter:?}");
        }
    }

    #[test]
    fn styles_of_a_terminal_leave_no_rest() {
        let styled = "\u{1b}[31mError\u{1b}[0m \u{1b}[1;38:5;9min\u{1b}[K x \u{1b}(B [0m";
        assert_eq!(without_styles(styled), "Error in x \u{1b}(B [0m");
        assert_eq!(without_styles("cut \u{1b}[3"), "cut ");
    }

    #[test]
    fn one_line_has_no_line_ends() {
        let odd = " a\n\n  b\tc\x1b[2J\u{202e}d\r\u{2028}e\u{e0041}";
        assert_eq!(one_line(odd), "a b c[2Jd e");
        assert_eq!(one_line("\n \u{202e}"), "");
    }

    #[test]
    fn a_beginning_is_cut_where_more_would_be_shown() {
        for (most, expected) in
            [(0, "…"), (1, "a…"), (2, "a …"), (3, "a b…"), (4, "a bc"), (5, "a bc")]
        {
            assert_eq!(beginning(" a \u{202e}\n bc \u{200b}\n", most), expected);
        }
        assert_eq!(beginning(" \u{200b}\n", 0), "");
    }
}
