//! Where the label of a bar has room, so that none stands in another bar or its label.

use crate::domain::text::visible_letters::one_line;

/// A label of fewer letters says nothing.
const LEAST_LABEL: usize = 9;

/// The least that is kept of a text that is cut between two of its words.
const LEAST_WORDS: usize = 4;

/// The distance of a label from the ends of its bar.
const MARGIN: i64 = 6;

/// The room around a bar.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) from: i64,
    pub(super) until: i64,
    /// Where the next bar of its row begins, or the drawing ends.
    pub(super) edge: i64,
    /// Whether a bar that began before it goes on after it.
    pub(super) is_in_another: bool,
}

impl Room {
    /// Returns where a label stands that begins with a mark, and the label: in the bar, or else beside it; none if there is no room.
    pub(super) fn marked(self, mark: &str, words: &str) -> Option<(i64, String)> {
        let inside = (self.from + MARGIN, self.until.min(self.edge) - MARGIN);
        let beside = (self.until + MARGIN, self.edge - MARGIN);
        let beside = if self.is_in_another { inside } else { beside };
        let fits = |(x, end): (i64, i64)| {
            let label = fitted(words, end - x - columns_of(mark) - columns(' '))?;
            Some((x, format!("{mark} {label}")))
        };
        let alone =
            |(x, end): (i64, i64)| (end - x >= columns_of(mark)).then(|| (x, mark.to_owned()));
        fits(inside).or_else(|| alone(inside)).or_else(|| fits(beside)).or_else(|| alone(beside))
    }

    /// Returns where a mark stands beside the bar; none if there is no room.
    pub(super) fn mark_beside(self, mark: &str) -> Option<i64> {
        let (x, end) = (self.until + MARGIN, self.edge - MARGIN);
        (!self.is_in_another && end - x >= columns_of(mark)).then_some(x)
    }

    /// Returns where a label within the bar stands, and the label; none if there is no room.
    pub(super) fn plain(self, words: &str) -> Option<(i64, String)> {
        let x = self.from + MARGIN;
        let label = fitted(words, self.until.min(self.edge) - MARGIN - x)?;
        (!self.is_in_another).then_some((x, label))
    }
}

/// Returns as much of a text as has room in so many columns, cut between words; none if that says nothing.
fn fitted(text: &str, width: i64) -> Option<String> {
    let line = one_line(text);
    if columns_of(&line) <= width {
        return Some(line);
    }
    let mut left = width - columns('…');
    let is_in = |letter: &char| {
        left -= columns(*letter);
        left >= 0
    };
    let letters = line.chars().take_while(is_in).count();
    cut_between_words(&line, letters).filter(|_| letters >= LEAST_LABEL)
}

/// Cuts a text of one line between two of its words: a part of a word is none that somebody can say to a program that listens. None if
/// that leaves too little. Texts in scripts that write no spaces are cut anywhere.
fn cut_between_words(text: &str, most: usize) -> Option<String> {
    let kept: String = text.chars().take(most).collect();
    let is_whole = text.chars().nth(most).is_none_or(char::is_whitespace);
    let is_script_without_spaces = kept.ends_with(|letter| letter >= '\u{2e80}');
    let words = match kept.rsplit_once(' ') {
        _ if is_whole || is_script_without_spaces => &kept,
        Some((words, _)) => words,
        None => "",
    };
    let words = words.trim_end();
    (words.chars().count() >= LEAST_WORDS).then(|| format!("{words}…"))
}

fn columns_of(text: &str) -> i64 {
    text.chars().map(columns).sum()
}

/// Returns the columns that a letter has at most: those of a wide font, bold, as the reader's is not known.
fn columns(letter: char) -> i64 {
    match letter {
        ' ' | '!' | '\'' | ',' | '.' | ':' | ';' | '|' | 'I' | 'i' | 'j' | 'l' => 5,
        '"' | '(' | ')' | '-' | '/' | '[' | '\\' | ']' | 'f' | 'r' | 't' | '{' | '}' => 7,
        '%' | '@' | 'M' | 'W' | 'm' | 'w' => 14,
        'A'..='Z' => 11,
        'a' | 'c' | 'e' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 8,
        '\0'..='~' => 9,
        '…' | '●' | '✓' | '✗' => 12,
        // Wide ones, pictures among them.
        '\u{1100}'.. => 17,
        _ => 14,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(from: i64, until: i64, edge: i64) -> Room {
        Room { from, until, edge, is_in_another: false }
    }

    #[test]
    fn a_label_is_cut_between_words_where_it_has_some() {
        let cut = |text: &str, most| cut_between_words(text, most);
        assert_eq!(cut("review the parser", 14).unwrap(), "review the…");
        assert_eq!(cut("review the parser", 11).unwrap(), "review the…");
        assert_eq!(cut("review the parser", 10).unwrap(), "review the…");
        assert_eq!(cut("見直しをしてください", 4).unwrap(), "見直しを…");
        assert_eq!(cut("a parserofparsers", 12), None);
        assert_eq!(cut("task-abcdefgh", 10), None);
    }

    #[test]
    fn a_label_ends_before_the_next_bar_and_stands_beside_one_that_is_small() {
        let words = "review the parser and the printer";
        let label = |room: Room| room.marked("-", words);
        assert_eq!(label(room(0, 900, 900)), Some((6, format!("- {words}"))));
        assert_eq!(label(room(0, 900, 140)), Some((6, "- review the…".to_owned())));
        assert_eq!(label(room(0, 3, 140)), Some((9, "- review the…".to_owned())));
        assert_eq!(label(room(0, 3, 30)), Some((9, "-".to_owned())));
        assert_eq!(label(room(0, 3, 12)), None);
        let inner = Room { is_in_another: true, ..room(0, 3, 140) };
        assert_eq!(label(inner), None, "beside it is another bar");
    }

    #[test]
    fn a_mark_stands_beside_a_bar_that_has_room_there() {
        assert_eq!(room(0, 100, 140).mark_beside("✗"), Some(106));
        assert_eq!(room(0, 100, 110).mark_beside("✗"), None, "there is the next bar");
        let inner = Room { is_in_another: true, ..room(0, 100, 140) };
        assert_eq!(inner.mark_beside("✗"), None);
    }

    #[test]
    fn wide_letters_need_more_room() {
        assert_eq!(room(0, 112, 112).plain("iiiiiiiiiiiiiiiiii"), Some((6, "i".repeat(18))));
        assert_eq!(room(0, 112, 112).plain("WWWWWWWWWWWWWWWWWW"), None);
    }
}
