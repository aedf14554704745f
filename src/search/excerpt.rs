//! The part of a text around the words that were found in it. Pure.

use crate::domain::text::visible_letters::{one_line, without_styles};

/// The characters of an excerpt: about two lines of a terminal.
const CHARS: usize = 160;

/// How many of them stand before the words, if there is one part.
const BEFORE: usize = 40;

/// The most parts of an excerpt, if the words stand far from each other.
const PARTS: usize = 3;

/// Where a word or a phrase stands in a line: its first letter, and the one after its last.
pub(super) type Place = (usize, usize);

/// Returns a text as one line without invisible characters.
pub(super) fn as_line(text: &str) -> String {
    one_line(&without_styles(text))
}

/// Returns the part of a line around what was found in it, or the parts, with `…` where it is cut. `found` has the places of each word and
/// phrase of the query. Without any of them it is the beginning.
pub(super) fn around(line: &str, found: &[Vec<Place>]) -> String {
    let letters: Vec<char> = line.chars().collect();
    // A short text is shown whole.
    if letters.len() <= CHARS {
        return line.to_owned();
    }
    let mut shown = String::new();
    let mut last = 0;
    for (from, to) in parts(&nearest(found), letters.len()) {
        if from > last || from > 0 && shown.is_empty() {
            shown.push('…');
        }
        shown.extend(&letters[from.max(last)..to]);
        last = to;
    }
    if last < letters.len() {
        shown.push('…');
    }
    shown
}

/// Returns one place of each word, near the first one that was found, in their order.
fn nearest(found: &[Vec<Place>]) -> Vec<Place> {
    let Some(first) = found.iter().find_map(|places| places.first()) else { return Vec::new() };
    let nearest =
        |places: &Vec<Place>| places.iter().copied().min_by_key(|place| place.0.abs_diff(first.0));
    let mut all: Vec<_> = found.iter().filter_map(nearest).collect();
    all.sort_unstable();
    all
}

/// Returns which letters of a line are shown: one part if all places fit into it, else one for each of the first places.
fn parts(places: &[Place], length: usize) -> Vec<(usize, usize)> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return vec![(0, CHARS)];
    };
    let part = |at: usize, before: usize, room: usize| {
        let from = at.saturating_sub(before).min(length.saturating_sub(room));
        (from, (from + room).min(length))
    };
    if last.1.saturating_sub(first.0) <= CHARS - BEFORE {
        return vec![part(first.0, BEFORE, CHARS)];
    }
    let room = CHARS / places.len().min(PARTS);
    places.iter().take(PARTS).map(|place| part(place.0, BEFORE / 2, room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the excerpt around these words.
    fn shown(text: &str, words: &[&str]) -> String {
        let line = as_line(text);
        let place = |(at, word): (usize, &str)| {
            let from = line[..at].chars().count();
            (from, from + word.chars().count())
        };
        let found: Vec<Vec<_>> =
            words.iter().map(|word| line.match_indices(word).map(place).collect()).collect();
        around(&line, &found)
    }

    #[test]
    fn an_excerpt_is_around_the_words_and_says_where_it_is_cut() {
        assert_eq!(shown("short\n text", &["text"]), "short text");
        let long = format!("{} Needle {}", "before ".repeat(50), "after ".repeat(50));
        let around = shown(&long, &["Needle"]);
        assert!(around.starts_with('…') && around.ends_with('…'), "{around}");
        assert!(around.contains(" Needle after"), "{around}");
        assert_eq!(around.chars().count(), CHARS + 2);
        assert!(shown(&long, &["absent"]).starts_with("before before"));
        assert!(shown(&long, &["after"]).contains("Needle"));
    }

    #[test]
    fn each_word_that_was_found_is_in_it_however_far_they_stand_from_each_other() {
        let far = "x ".repeat(300);
        let text = format!("one {far} two {far} three {far}");
        let all = shown(&text, &["three", "one", "two"]);
        for word in ["one", "two", "three"] {
            assert!(all.contains(word), "{word}: {all}");
        }
        assert!(all.starts_with("one") && all.ends_with('…'), "{all}");
        assert!(all.chars().count() <= CHARS + PARTS + 1, "{all}");
        let near = format!("one {far} two three {far}");
        let all = shown(&near, &["two", "three"]);
        assert_eq!(all.matches('…').count(), 2, "one part is enough: {all}");
        let twice = format!("one {far} two {far} one");
        let all = shown(&twice, &["two", "one"]);
        assert!(all.contains("two") && all.contains("one"), "{all}");
    }

    #[test]
    fn nothing_of_it_acts_on_a_terminal() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b", &["a"]), "ab");
    }
}
