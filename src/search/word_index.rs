//! The index itself: which words stand where. It holds no texts.
//!
//! A text has a number that grows with its time: seconds since 2020 times 256, even for texts of the log and odd for those of
//! transcripts. So the newest texts come first in the order of the index, and nothing has to be sorted. Texts of the log keep its order,
//! whatever their clocks say.

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, Transaction, params};
use uuid::Uuid;

use super::index_file::IndexFile;
use super::query_words::Query;
use super::search_error::SearchError;
use super::word_sections::{self, Section};
use crate::bus::storage::LogPosition;

/// The version of the tables. An index of another one is made anew.
const TABLES: i64 = 5;

/// Memory for pages, in KiB.
const CACHE_KIB: i64 = 16 * 1024;

/// 2020-01-01, in seconds since 1970: no bus is older.
const EPOCH_SECONDS: i64 = 1_577_836_800;

/// Numbers for each second. More texts in one second take the numbers of the next ones.
const PER_SECOND: i64 = 256;

/// Where a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextPlace {
    /// In an event of the log.
    Event {
        place: LogPosition,
        /// The event's index in the line.
        index: u16,
        seq: u64,
        /// Which text of the event, and which of its bytes.
        piece: usize,
        from: usize,
        bytes: usize,
    },
    /// In lines of a transcript.
    Transcript { task: String, from: u64, bytes: u64 },
}

/// A text that the index knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedText {
    pub(super) number: i64,
    pub(super) at_ms: i64,
    pub(super) kind: i64,
    pub(super) place: TextPlace,
}

/// A text to be added.
pub(super) struct NewText<'a> {
    pub(super) at_ms: i64,
    pub(super) kind: i64,
    pub(super) place: TextPlace,
    /// Whether the result of its task makes it needless.
    pub(super) is_output: bool,
    pub(super) text: &'a str,
    /// Tokens of the names of the members that it is from and for.
    pub(super) who: &'a str,
}

/// How far the log is indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogMark {
    /// Where it continues.
    pub(super) next: LogPosition,
    /// The seq that comes next.
    pub(super) next_seq: u64,
    /// The last line that was read, and its seq: if another one stands there, the log is another one.
    pub(super) last: LogPosition,
    pub(super) last_seq: u64,
    /// The command of that line.
    pub(super) last_id: Uuid,
    /// The number of its last text.
    pub(super) last_number: i64,
    /// The oldest part whose texts are in the index.
    pub(super) oldest: u64,
}

/// The open index.
pub(super) struct WordIndex {
    connection: Connection,
}

impl WordIndex {
    /// Opens the index in a file. One that is damaged, or has other tables, is made anew.
    pub(super) fn open(file: &IndexFile) -> Result<Self, SearchError> {
        match Self::open_once(file) {
            Ok(index) => Ok(index),
            Err(error) => {
                tracing::debug!(%error, "making a new index");
                file.clear()?;
                Ok(Self::open_once(file)?)
            }
        }
    }

    fn open_once(file: &IndexFile) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        Self::of(Connection::open_with_flags(file.path(), flags)?)
    }

    /// Makes an index that ends with this process.
    pub(super) fn in_memory() -> Result<Self, SearchError> {
        Ok(Self::of(Connection::open_in_memory()?)?)
    }

    fn of(connection: Connection) -> rusqlite::Result<Self> {
        // One process uses it, which has the lock. A power cut may cost the last batch, which is then indexed again.
        connection.execute_batch(&format!(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             PRAGMA cache_size = -{CACHE_KIB}; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
        ))?;
        let tables: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if tables == 0 {
            connection.execute_batch(&format!(
                "BEGIN;
                 CREATE TABLE mark (one INTEGER PRIMARY KEY CHECK (one = 1), next_segment, next_offset, next_seq,
                   last_segment, last_offset, last_seq, last_id, last_number, oldest);
                 CREATE TABLE text (number INTEGER PRIMARY KEY, at_ms, kind, segment, byte, event, seq, piece, start,
                   bytes, transcript, is_output);
                 CREATE INDEX text_of_transcript ON text (transcript) WHERE transcript IS NOT NULL;
                 CREATE TABLE transcript (id INTEGER PRIMARY KEY, task TEXT UNIQUE NOT NULL, read);
                 CREATE TABLE task (task TEXT PRIMARY KEY, agent, by, has_result, segment) WITHOUT ROWID;
                 {}
                 PRAGMA user_version = {TABLES};
                 COMMIT;",
                word_sections::CREATE_LIST
            ))?;
        } else if tables != TABLES {
            return Err(rusqlite::Error::InvalidQuery);
        }
        Ok(Self { connection })
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    #[cfg(test)]
    pub(super) fn sections(&self) -> Result<Vec<Section>, SearchError> {
        Ok(word_sections::list(&self.connection)?)
    }

    /// Begins a batch. What is not committed is as if it had not been.
    pub(super) fn batch(&mut self) -> Result<Batch<'_>, SearchError> {
        let transaction = self.connection.transaction()?;
        let sections = word_sections::list(&transaction)?;
        Ok(Batch { transaction, sections })
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) -> Result<(), SearchError> {
        let transaction = self.connection.transaction()?;
        word_sections::clear(&transaction)?;
        transaction.execute_batch(
            "DELETE FROM text; DELETE FROM transcript; DELETE FROM task; DELETE FROM mark;",
        )?;
        Ok(transaction.commit()?)
    }

    /// Returns how far the log is indexed; none at all for a new index.
    pub(super) fn mark(&self) -> Result<Option<LogMark>, SearchError> {
        let read = |row: &Row<'_>| {
            Ok(LogMark {
                next: LogPosition { segment: unsigned(row, 0)?, offset: unsigned(row, 1)? },
                next_seq: unsigned(row, 2)?,
                last: LogPosition { segment: unsigned(row, 3)?, offset: unsigned(row, 4)? },
                last_seq: unsigned(row, 5)?,
                last_id: Uuid::parse_str(&row.get::<_, String>(6)?).unwrap_or_default(),
                last_number: row.get(7)?,
                oldest: unsigned(row, 8)?,
            })
        };
        let query =
            "SELECT next_segment, next_offset, next_seq, last_segment, last_offset, last_seq, last_id,
                     last_number, oldest FROM mark";
        Ok(self.connection.query_row(query, [], read).optional()?)
    }

    /// Returns the transcripts that the index has, each with the bytes that were read.
    pub(super) fn transcripts(&self) -> Result<Vec<(String, u64)>, SearchError> {
        let mut query = self.connection.prepare_cached("SELECT task, read FROM transcript")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, unsigned(row, 1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the agent of a task, and who assigned it, if the index knows.
    pub(super) fn task(&self, task: &str) -> Result<Option<(String, String)>, SearchError> {
        let query = "SELECT agent, by FROM task WHERE task = ?1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(self.connection.query_row(query, [task], read).optional()?)
    }

    /// Returns the newest texts before a number that fit a query, newest first.
    pub(super) fn find(
        &self,
        query: &Query,
        since_ms: Option<i64>,
        before: i64,
        most: usize,
    ) -> Result<Vec<IndexedText>, SearchError> {
        let since_ms = since_ms.unwrap_or(0);
        let least = first_number(since_ms);
        let mut found = Vec::new();
        for section in word_sections::list(&self.connection)?.iter().rev() {
            if found.len() >= most || section.last < least {
                break;
            }
            if section.first >= before || !self.may_have(section, query)? {
                continue;
            }
            let words = section.table();
            let statement = format!(
                "SELECT text.number, at_ms, kind, segment, byte, event, seq, piece, start, bytes,
                   (SELECT task FROM transcript WHERE id = text.transcript)
                 FROM {words} CROSS JOIN text ON text.number = {words}.rowid
                 WHERE {words} MATCH ?1 AND {words}.rowid >= ?2 AND {words}.rowid < ?3 AND at_ms >= ?4
                 ORDER BY {words}.rowid DESC LIMIT ?5"
            );
            let mut statement = self.connection.prepare(&statement)?;
            let wanted = i64::try_from(most - found.len()).unwrap_or(i64::MAX);
            let values = params![query.expression(), least, before, since_ms, wanted];
            for text in statement.query_map(values, read_text)? {
                found.push(text?);
            }
        }
        Ok(found)
    }

    /// Says whether a section has a text with all of a query but the beginnings of words, which would cost much more to look up.
    fn may_have(&self, section: &Section, query: &Query) -> Result<bool, SearchError> {
        let Some(whole_words) = query.whole_words() else { return Ok(true) };
        let words = section.table();
        let statement = format!("SELECT 1 FROM {words} WHERE {words} MATCH ?1 LIMIT 1");
        Ok(self.connection.prepare(&statement)?.exists([whole_words])?)
    }
}

fn read_text(row: &Row<'_>) -> rusqlite::Result<IndexedText> {
    let task: Option<String> = row.get(10)?;
    let place = match task {
        Some(task) => {
            TextPlace::Transcript { task, from: unsigned(row, 8)?, bytes: unsigned(row, 9)? }
        }
        None => TextPlace::Event {
            place: LogPosition { segment: unsigned(row, 3)?, offset: unsigned(row, 4)? },
            index: row.get(5)?,
            seq: unsigned(row, 6)?,
            piece: size(row, 7)?,
            from: size(row, 8)?,
            bytes: size(row, 9)?,
        },
    };
    Ok(IndexedText { number: row.get(0)?, at_ms: row.get(1)?, kind: row.get(2)?, place })
}

/// Reads a number that is never negative. `SQLite` has only signed ones; the seqs of a log are at most half of the others.
fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn size(row: &Row<'_>, column: usize) -> rusqlite::Result<usize> {
    let number: i64 = row.get(column)?;
    usize::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the first number of a moment's second.
pub(super) fn first_number(at_ms: i64) -> i64 {
    (at_ms / 1000).saturating_sub(EPOCH_SECONDS).max(0).saturating_mul(PER_SECOND)
}

/// Returns the number of the next text of the log, which is even.
pub(super) fn next_of_log(last: i64, at_ms: i64) -> i64 {
    last.saturating_add(2).max(first_number(at_ms))
}

/// Changes that come together or not at all.
pub(super) struct Batch<'a> {
    transaction: Transaction<'a>,
    sections: Vec<Section>,
}

impl Batch<'_> {
    pub(super) fn commit(self) -> Result<(), SearchError> {
        word_sections::save(&self.transaction, &self.sections)?;
        Ok(self.transaction.commit()?)
    }

    /// Adds a text under a number.
    pub(super) fn add(&mut self, number: i64, new: &NewText<'_>) -> Result<(), SearchError> {
        let words = (new.text, new.who);
        word_sections::add(&self.transaction, &mut self.sections, number, words)?;
        let mut text = self.transaction.prepare_cached(
            "INSERT INTO text VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
               (SELECT id FROM transcript WHERE task = ?11), ?12)",
        )?;
        match &new.place {
            TextPlace::Event { place, index, seq, piece, from, bytes } => text.execute(params![
                number,
                new.at_ms,
                new.kind,
                signed(place.segment),
                signed(place.offset),
                index,
                signed(*seq),
                signed(*piece as u64),
                signed(*from as u64),
                signed(*bytes as u64),
                None::<String>,
                new.is_output
            ])?,
            TextPlace::Transcript { task, from, bytes } => text.execute(params![
                number,
                new.at_ms,
                new.kind,
                None::<i64>,
                None::<i64>,
                None::<i64>,
                None::<i64>,
                None::<i64>,
                signed(*from),
                signed(*bytes),
                task,
                new.is_output
            ])?,
        };
        Ok(())
    }

    /// Returns the number of the next text of a transcript, which is odd and free.
    pub(super) fn next_of_transcripts(&self, last: i64, at_ms: i64) -> Result<i64, SearchError> {
        let mut number = last.saturating_add(2).max(first_number(at_ms) + 1);
        let mut taken = self.transaction.prepare_cached("SELECT 1 FROM text WHERE number = ?1")?;
        while taken.exists([number])? {
            number += 2;
        }
        Ok(number)
    }

    /// Records how far the log is indexed.
    pub(super) fn set_mark(&self, mark: &LogMark) -> Result<(), SearchError> {
        self.transaction.execute(
            "INSERT OR REPLACE INTO mark VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                signed(mark.next.segment),
                signed(mark.next.offset),
                signed(mark.next_seq),
                signed(mark.last.segment),
                signed(mark.last.offset),
                signed(mark.last_seq),
                mark.last_id.to_string(),
                mark.last_number,
                signed(mark.oldest),
            ],
        )?;
        Ok(())
    }

    /// Records how far a transcript is indexed.
    pub(super) fn set_read(&self, task: &str, read: u64) -> Result<(), SearchError> {
        self.transaction.execute(
            "INSERT INTO transcript (task, read) VALUES (?1, ?2)
             ON CONFLICT (task) DO UPDATE SET read = excluded.read",
            params![task, signed(read)],
        )?;
        Ok(())
    }

    /// Records a task, and the part of the log that has it.
    pub(super) fn add_task(
        &self,
        task: &str,
        (agent, by): (&str, &str),
        segment: u64,
    ) -> Result<(), SearchError> {
        self.transaction.execute(
            "INSERT OR REPLACE INTO task VALUES (?1, ?2, ?3, 0, ?4)",
            params![task, agent, by, signed(segment)],
        )?;
        Ok(())
    }

    /// Returns the agent of a task and who assigned it, and whether the log has its result.
    pub(super) fn task(&self, task: &str) -> Result<Option<(String, String, bool)>, SearchError> {
        let mut query = self
            .transaction
            .prepare_cached("SELECT agent, by, has_result FROM task WHERE task = ?1")?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        Ok(query.query_row([task], read).optional()?)
    }

    /// Notes that the log has the result of a task, and forgets the words in its transcript that the result repeats.
    pub(super) fn has_result(&mut self, task: &str) -> Result<(), SearchError> {
        self.transaction.execute("UPDATE task SET has_result = 1 WHERE task = ?1", [task])?;
        self.forget("transcript = (SELECT id FROM transcript WHERE task = ?1) AND is_output", task)
    }

    /// Forgets a transcript.
    pub(super) fn forget_transcript(&mut self, task: &str) -> Result<(), SearchError> {
        self.forget("transcript = (SELECT id FROM transcript WHERE task = ?1)", task)?;
        self.transaction.execute("DELETE FROM transcript WHERE task = ?1", [task])?;
        Ok(())
    }

    /// Forgets the parts of the log before one.
    pub(super) fn forget_before(&mut self, segment: u64) -> Result<(), SearchError> {
        self.forget("transcript IS NULL AND segment < ?1", signed(segment))?;
        self.transaction.execute("DELETE FROM task WHERE segment < ?1", [signed(segment)])?;
        Ok(())
    }

    fn forget(&mut self, which: &str, value: impl rusqlite::ToSql) -> Result<(), SearchError> {
        let numbers = format!("SELECT number FROM text WHERE {which} ORDER BY number");
        let numbers: Vec<i64> = self
            .transaction
            .prepare_cached(&numbers)?
            .query_map([&value], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if numbers.is_empty() {
            return Ok(());
        }
        word_sections::forget(&self.transaction, &mut self.sections, &numbers)?;
        self.transaction.execute(&format!("DELETE FROM text WHERE {which}"), [&value])?;
        Ok(())
    }
}
