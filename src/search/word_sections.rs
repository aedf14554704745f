//! The words of the index, in sections by time.
//!
//! For the beginning of a word, FTS5 merges the lists of all words that begin so before it knows the newest text. In one table that takes
//! as long as the history is, however few texts are wanted. So each section is a table of its own, of a bounded number of texts, and
//! a search looks into them from the newest to the oldest until it has enough.

use rusqlite::{Connection, params};

/// The texts of a section. The beginning of a word that stands in every text costs about 2 µs each; a section that has none of the words
/// costs a tenth of a millisecond. Tests have many sections.
const TEXTS: u64 = if cfg!(test) { 4 } else { 16_384 };

/// How a text is divided into words, and which letters count as the same.
pub(super) const TOKENIZER: &str = "unicode61 remove_diacritics 2";

/// A table of words: those of texts whose numbers lie between its own first one and the next section's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    id: i64,
    /// The least number of a text.
    pub(super) first: i64,
    /// The greatest one.
    pub(super) last: i64,
    texts: u64,
}

impl Section {
    /// Returns the name of its table.
    pub(super) fn table(&self) -> String {
        format!("word_{}", self.id)
    }
}

/// Creates the list of sections, which is empty at first.
pub(super) const CREATE_LIST: &str =
    "CREATE TABLE section (id INTEGER PRIMARY KEY, first INTEGER NOT NULL,
    last INTEGER NOT NULL, texts INTEGER NOT NULL);";

/// Returns the sections, the oldest first.
pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<Section>> {
    let mut query =
        connection.prepare_cached("SELECT id, first, last, texts FROM section ORDER BY id")?;
    let rows = query.query_map([], |row| {
        let texts: i64 = row.get(3)?;
        let texts = u64::try_from(texts).unwrap_or_default();
        Ok(Section { id: row.get(0)?, first: row.get(1)?, last: row.get(2)?, texts })
    })?;
    rows.collect()
}

/// Adds the words of a text. A section that is full ends before the first text that is newer than all of its own; an older text, from a
/// transcript, still has its place in it.
pub(super) fn add(
    connection: &Connection,
    sections: &mut Vec<Section>,
    number: i64,
    (text, who): (&str, &str),
) -> rusqlite::Result<()> {
    let is_full = sections.last().is_none_or(|last| last.texts >= TEXTS && number > last.last);
    if is_full {
        let id = sections.last().map_or(1, |last| last.id + 1);
        let new = Section { id, first: number, last: number, texts: 0 };
        create(connection, &new)?;
        sections.push(new);
    }
    let at = sections.partition_point(|section| section.first <= number).saturating_sub(1);
    let Some(section) = sections.get_mut(at) else { return Ok(()) };
    let statement =
        format!("INSERT INTO {} (rowid, text, who) VALUES (?1, ?2, ?3)", section.table());
    connection.prepare_cached(&statement)?.execute(params![number, text, who])?;
    section.first = section.first.min(number);
    section.last = section.last.max(number);
    section.texts += 1;
    Ok(())
}

fn create(connection: &Connection, section: &Section) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE {} USING fts5 (text, who, content = '', contentless_delete = 1,
           tokenize = '{TOKENIZER}');",
        section.table()
    ))
}

/// Forgets the words of texts, whose numbers come in their order, and the sections that have no other ones.
pub(super) fn forget(
    connection: &Connection,
    sections: &mut Vec<Section>,
    numbers: &[i64],
) -> rusqlite::Result<()> {
    for section in sections.iter_mut() {
        let from = numbers.partition_point(|number| *number < section.first);
        let to = numbers.partition_point(|number| *number <= section.last);
        let own = numbers.get(from..to).unwrap_or_default();
        section.texts = section.texts.saturating_sub(own.len() as u64);
        if own.is_empty() || section.texts == 0 {
            continue;
        }
        let statement = format!("DELETE FROM {} WHERE rowid = ?1", section.table());
        let mut delete = connection.prepare_cached(&statement)?;
        for number in own {
            delete.execute([number])?;
        }
    }
    for empty in sections.extract_if(.., |section| section.texts == 0) {
        drop_table(connection, &empty)?;
    }
    Ok(())
}

/// Forgets all words.
pub(super) fn clear(connection: &Connection) -> rusqlite::Result<()> {
    for section in list(connection)? {
        drop_table(connection, &section)?;
    }
    Ok(())
}

fn drop_table(connection: &Connection, section: &Section) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("DROP TABLE {};", section.table()))?;
    connection.execute("DELETE FROM section WHERE id = ?1", [section.id])?;
    Ok(())
}

/// Records the sections.
pub(super) fn save(connection: &Connection, sections: &[Section]) -> rusqlite::Result<()> {
    let mut put =
        connection.prepare_cached("INSERT OR REPLACE INTO section VALUES (?1, ?2, ?3, ?4)")?;
    for section in sections {
        let texts = i64::try_from(section.texts).unwrap_or(i64::MAX);
        put.execute(params![section.id, section.first, section.last, texts])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::query_words::Query;
    use super::super::word_index::{NewText, TextPlace, WordIndex};
    use super::*;

    const WORDS: [&str; 7] = ["path", "paths", "parser", "pass", "bean", "beans", "x"];

    fn text(number: i64) -> (i64, String) {
        // Each number has its own words, frequent and rare ones.
        let mixed = number.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let word =
            |shift: u64| WORDS[usize::try_from((mixed >> shift) % 13).unwrap() % WORDS.len()];
        (number, format!("{} {} {}", word(0), word(9), word(18)))
    }

    /// Makes an index, and one table with the same words.
    fn both(numbers: &[i64]) -> (WordIndex, Connection) {
        let (mut index, plain) =
            (WordIndex::in_memory().unwrap(), Connection::open_in_memory().unwrap());
        create(&plain, &Section { id: 0, first: 0, last: 0, texts: 0 }).unwrap();
        for some in numbers.chunks(3) {
            let mut batch = index.batch().unwrap();
            for (number, text) in some.iter().copied().map(text) {
                let task = format!("task-{}", number % 5);
                batch.set_read(&task, 1).unwrap();
                let place = TextPlace::Transcript { task, from: 0, bytes: 1 };
                let (text, who) = (&text, "");
                let new = NewText { at_ms: i64::MAX, kind: 4, place, is_output: false, text, who };
                batch.add(number, &new).unwrap();
                let insert = "INSERT INTO word_0 (rowid, text, who) VALUES (?1, ?2, '')";
                plain.execute(insert, params![number, text]).unwrap();
            }
            batch.commit().unwrap();
        }
        (index, plain)
    }

    fn in_sections(index: &WordIndex, query: &Query, before: i64, most: usize) -> Vec<i64> {
        let found = index.find(query, None, before, most).unwrap();
        found.into_iter().map(|text| text.number).collect()
    }

    fn in_one_table(plain: &Connection, query: &Query, before: i64, most: usize) -> Vec<i64> {
        let statement = "SELECT rowid FROM word_0 WHERE word_0 MATCH ?1 AND rowid < ?2
                         ORDER BY rowid DESC LIMIT ?3";
        let values = params![query.expression(), before, i64::try_from(most).unwrap()];
        let mut statement = plain.prepare(statement).unwrap();
        statement.query_map(values, |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn check_all(index: &WordIndex, plain: &Connection) {
        for words in [
            &["path"][..],
            &["pa*"],
            &["p*", "bean"],
            &["path", "be*"],
            &["path pa*"],
            &["absent"],
            &["absent", "p*"],
        ] {
            let query = Query::parse(words.iter().copied()).unwrap();
            for before in [0, 31, 100, i64::MAX] {
                for most in [1, 5, 1_000] {
                    let wanted = in_one_table(plain, &query, before, most);
                    assert_eq!(
                        in_sections(index, &query, before, most),
                        wanted,
                        "{words:?} {before}"
                    );
                }
            }
        }
    }

    #[test]
    fn sections_find_what_one_table_finds() {
        // Texts of the log in their order; then those of transcripts, some older and some newer.
        let log = (20..80).map(|number| number * 2);
        let transcripts = (0..60).map(|number| (number * 37 % 120) * 2 + 1);
        let numbers: Vec<i64> = log.chain(transcripts).collect();
        let (mut index, plain) = both(&numbers);
        check_all(&index, &plain);
        for task in ["task-0", "task-3"] {
            let mut batch = index.batch().unwrap();
            batch.forget_transcript(task).unwrap();
            batch.commit().unwrap();
        }
        plain.execute("DELETE FROM word_0 WHERE rowid % 5 IN (0, 3)", []).unwrap();
        check_all(&index, &plain);
        index.clear().unwrap();
        plain.execute("DELETE FROM word_0", []).unwrap();
        check_all(&index, &plain);
    }

    #[test]
    fn the_beginning_of_a_word_is_looked_up_in_the_newest_texts_first() {
        let (index, _) = both(&(1..=40).collect::<Vec<_>>());
        let sections = index.sections().unwrap();
        assert!(sections.len() >= 8, "{sections:?}");
        // No older section is there to be read.
        for section in &sections[..sections.len() - 4] {
            index.connection().execute_batch(&format!("DROP TABLE {}", section.table())).unwrap();
        }
        let query = Query::parse(["p*"]).unwrap();
        assert_eq!(in_sections(&index, &query, i64::MAX, 3).len(), 3);
        assert!(index.find(&query, None, i64::MAX, 1_000).is_err());
    }

    #[test]
    fn a_section_without_a_text_goes() {
        let (mut index, _) = both(&(1..=40).collect::<Vec<_>>());
        let had = index.sections().unwrap();
        for task in 0..5 {
            let mut batch = index.batch().unwrap();
            batch.forget_transcript(&format!("task-{task}")).unwrap();
            batch.commit().unwrap();
        }
        assert_eq!(index.sections().unwrap(), []);
        let tables = "SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'word%'";
        let left: i64 = index.connection().query_row(tables, [], |row| row.get(0)).unwrap();
        assert_eq!((left, had.is_empty()), (0, false));
    }
}
