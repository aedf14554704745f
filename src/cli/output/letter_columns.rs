//! How many columns letters take in a terminal, never fewer than it or a library that paints may count, so that nothing of a text falls
//! behind the end of its row unsaid. Pure.

use console::measure_text_width;

/// The selector that makes the letter before it an emoji, which may widen that letter by a column.
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// Returns the most columns that a letter takes.
pub(crate) fn columns_of(letter: char) -> usize {
    match letter {
        EMOJI_SELECTOR => 1,
        letter => measure_text_width(letter.encode_utf8(&mut [0; 4])),
    }
}

/// Returns a text of at most so many columns, cut with `…` where it is longer.
pub(crate) fn cut_to(text: &str, columns: usize) -> String {
    if text.chars().map(columns_of).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let own = columns_of(*letter);
        let is_in = own <= left;
        left = left.saturating_sub(own);
        is_in
    };
    let mut shown: String = text.chars().take_while(fits).collect();
    shown.extend((columns > 0).then_some('…'));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_columns_end() {
        assert_eq!(cut_to("one two", 7), "one two");
        assert_eq!(cut_to("one two", 6), "one t…");
        assert_eq!(cut_to("字字字", 4), "字…");
        assert_eq!(cut_to("one", 1), "…");
        assert_eq!(cut_to("one", 0), "");
    }

    #[test]
    fn a_letter_that_is_made_an_emoji_takes_two_columns() {
        let hearts = "❤\u{fe0f}".repeat(4);
        assert_eq!(cut_to(&hearts, 8), hearts);
        assert_eq!(cut_to(&format!("{hearts}rm"), 8), format!("{}❤…", "❤\u{fe0f}".repeat(3)));
    }
}
