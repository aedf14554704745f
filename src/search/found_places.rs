//! Where the words of a query stand in a text, as the index divides and folds words: it asks an index of that text alone.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::word_sections::TOKENIZER;

/// Characters around what was found, which no line has.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

/// An index of one text.
pub(super) struct PlaceFinder(Connection);

impl PlaceFinder {
    pub(super) fn new() -> rusqlite::Result<Self> {
        let connection = Connection::open_in_memory()?;
        let create =
            format!("CREATE VIRTUAL TABLE line USING fts5 (text, tokenize = '{TOKENIZER}')");
        connection.execute_batch(&create)?;
        Ok(Self(connection))
    }

    /// Returns for each of these queries where it was found in a line: the first and the last but one of its letters.
    pub(super) fn places(
        &self,
        line: &str,
        queries: impl IntoIterator<Item = String>,
    ) -> rusqlite::Result<Vec<Vec<(usize, usize)>>> {
        self.0.execute("DELETE FROM line", [])?;
        self.0.execute("INSERT INTO line (text) VALUES (?1)", params![line])?;
        let [begin, end] = MARKS.map(String::from);
        let mut ask = self
            .0
            .prepare_cached("SELECT highlight(line, 0, ?1, ?2) FROM line WHERE line MATCH ?3")?;
        let mut marked = |query: String| -> rusqlite::Result<Option<String>> {
            ask.query_row(params![begin, end, query], |row| row.get(0)).optional()
        };
        let found =
            queries.into_iter().map(|query| Ok(places_of(&marked(query)?.unwrap_or_default())));
        found.collect()
    }
}

/// Returns where the marked letters of a text stand in the text without marks.
fn places_of(marked: &str) -> Vec<(usize, usize)> {
    let (mut places, mut at, mut from) = (Vec::new(), 0, 0);
    for letter in marked.chars() {
        match MARKS.iter().position(|mark| *mark == letter) {
            Some(0) => from = at,
            Some(_) => places.push((from, at)),
            None => at += 1,
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_their_case_accents_and_the_signs_between_them() {
        let finder = PlaceFinder::new().unwrap();
        let places = |line: &str, query: &str| {
            finder.places(line, [format!("text : {query}")]).unwrap().remove(0)
        };
        assert_eq!(places("Ein Café, ein CAFE", "\"cafe\""), [(4, 8), (14, 18)]);
        assert_eq!(places("see src/server.rs", "\"src server\""), [(4, 14)]);
        assert_eq!(places("pathology path", "\"path\""), [(10, 14)]);
        assert_eq!(places("pathology path", "\"pathol\" *"), [(0, 9)]);
        assert_eq!(places("nothing of it", "\"absent\""), []);
    }
}
