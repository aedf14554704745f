//! The part of a text around the words that were found in it. Pure.

use crate::domain::text::visible_letters::{one_line, without_styles};

/// The characters of an excerpt: about two lines of a terminal.
const CHARS: usize = 160;

/// How many of them stand before the words.
const BEFORE: usize = 40;

/// Returns the part of a text around the first of these words, as one line without invisible characters, with `…` where it is cut.
/// Without any of them, which the index may find by their letters without accents, it is the beginning.
pub(super) fn around<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let line = one_line(&without_styles(text));
    let letters: Vec<char> = line.chars().collect();
    // One letter for each, so that places stay the same.
    let lower: Vec<char> = letters.iter().map(|letter| simple_lower(*letter)).collect();
    let places = words.into_iter().filter_map(|word| {
        let word: Vec<char> = one_line(word).chars().map(simple_lower).collect();
        place_of(&lower, &word)
    });
    let from = places.min().unwrap_or(0).saturating_sub(BEFORE);
    // A short text is shown whole.
    let from = if letters.len() <= CHARS { 0 } else { from.min(letters.len() - CHARS) };
    let to = (from + CHARS).min(letters.len());
    let mut shown = String::new();
    if from > 0 {
        shown.push('…');
    }
    shown.extend(&letters[from..to]);
    if to < letters.len() {
        shown.push('…');
    }
    shown
}

fn simple_lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

fn place_of(text: &[char], word: &[char]) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let begins = |at: &usize| *at == 0 || !text[at - 1].is_alphanumeric();
    let ends = |at: &usize| text.get(at + word.len()).is_none_or(|next| !next.is_alphanumeric());
    let places =
        || text.windows(word.len()).enumerate().filter(|(_, part)| *part == word).map(|(at, _)| at);
    let whole = places().find(|at| begins(at) && ends(at));
    whole.or_else(|| places().find(begins)).or_else(|| places().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_around_the_words_and_says_where_it_is_cut() {
        assert_eq!(around("short\n text", ["text"]), "short text");
        let long = format!("{} Needle {}", "before ".repeat(50), "after ".repeat(50));
        let shown = around(&long, ["needle"]);
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.contains(" Needle after"), "{shown}");
        assert_eq!(shown.chars().count(), CHARS + 2);
        assert!(around(&long, ["absent"]).starts_with("before before"));
        assert!(around(&long, ["after"]).contains("Needle"));
    }

    #[test]
    fn a_part_of_a_word_is_shown_only_if_the_word_is_not_there() {
        let text = format!("{} pathology {} path", "x ".repeat(100), "y ".repeat(100));
        assert!(around(&text, ["path"]).ends_with("y path"));
        assert!(around(&text, ["pathol"]).contains("pathology"));
    }

    #[test]
    fn nothing_of_it_acts_on_a_terminal() {
        let shown = around("a\u{1b}[2J\u{202e}b", ["a"]);
        assert_eq!(shown, "ab");
    }
}
