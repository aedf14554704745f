//! Reads TOML tables field by field, and reports the place of a mistake: file, line, column, and the nearest known word.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of the script together with its place in the file.
pub(crate) type Value<'s> = Spanned<DeValue<'s>>;

/// A mistake in a script, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    path: PathBuf,
    line: usize,
    column: usize,
    message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, column, message } = self;
        write!(formatter, "{}:{line}:{column}: {message}", path.display())
    }
}

/// The text of a script, which converts byte offsets to lines and columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptText<'s> {
    pub(crate) path: &'s Path,
    pub(crate) text: &'s str,
}

impl ScriptText<'_> {
    /// Returns the mistake at a byte offset.
    pub(crate) fn mistake(&self, offset: usize, message: impl Into<String>) -> Mistake {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Mistake {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

/// One table of the script, read by key.
#[derive(Clone)]
pub(crate) struct Fields<'s> {
    source: ScriptText<'s>,
    table: &'s DeTable<'s>,
    offset: usize,
}

impl<'s> Fields<'s> {
    /// Reads the whole file as one table.
    pub(crate) fn document(source: ScriptText<'s>, table: &'s DeTable<'s>) -> Self {
        Self { source, table, offset: 0 }
    }

    /// Reads a value that has to be a table; `what` names it in messages.
    pub(crate) fn of(
        source: ScriptText<'s>,
        value: &'s Value<'s>,
        what: &str,
    ) -> Result<Self, Mistake> {
        let offset = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => Ok(Self { source, table, offset }),
            other => {
                Err(source.mistake(offset, format!("{what} must be a table, not {}", kind(other))))
            }
        }
    }

    /// Reads an exit code.
    pub(crate) fn exit_code(&self, key: &str) -> Result<Option<u8>, Mistake> {
        let code = self.integer(key, 0..=255)?;
        Ok(code.map(|code| u8::try_from(code).expect("the range was checked")))
    }

    /// Returns a mistake about this table as a whole.
    pub(crate) fn mistake(&self, message: impl Into<String>) -> Mistake {
        self.source.mistake(self.offset, message)
    }

    /// Returns a mistake about the value of a key, or about the table when the key is missing.
    pub(crate) fn mistake_at(&self, key: &str, message: impl Into<String>) -> Mistake {
        let offset = self.table.get(key).map_or(self.offset, |value| value.span().start);
        self.source.mistake(offset, message)
    }

    /// Returns the source, for values that are read by hand.
    pub(crate) fn source(&self) -> ScriptText<'s> {
        self.source
    }

    /// Returns the keys in the order of the file, with their offsets.
    pub(crate) fn keys(&self) -> Vec<(&'s str, usize)> {
        let mut keys: Vec<_> =
            self.table.iter().map(|(key, _)| (key.get_ref().as_ref(), key.span().start)).collect();
        keys.sort_by_key(|(_, offset)| *offset);
        keys
    }

    /// Returns the keys with their values.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'s str, &'s Value<'s>)> {
        let table = self.table.iter();
        table.map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// Refuses keys that are not among the known ones; `what` is the word for such a key.
    pub(crate) fn only(&self, what: &str, known: &[&str]) -> Result<(), Mistake> {
        match self.keys().into_iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, offset)) => Err(self.source.mistake(offset, unknown(what, key, known))),
        }
    }

    /// Returns the value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&'s Value<'s>> {
        self.table.get(key)
    }

    /// Returns a text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'s str>, Mistake> {
        self.typed(key, "a string", DeValue::as_str)
    }

    /// Returns a boolean.
    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>, Mistake> {
        self.typed(key, "true or false", DeValue::as_bool)
    }

    /// Returns a list.
    pub(crate) fn list(&self, key: &str) -> Result<Option<Vec<&'s Value<'s>>>, Mistake> {
        self.typed(key, "a list", |value| value.as_array().map(|list| list.iter().collect()))
    }

    /// Returns a whole number within a range.
    pub(crate) fn integer(
        &self,
        key: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Mistake> {
        let Some(number) =
            self.typed(key, "a whole number", |value| value.as_integer().and_then(whole))?
        else {
            return Ok(None);
        };
        if range.contains(&number) {
            return Ok(Some(number));
        }
        let (low, high) = range.into_inner();
        Err(self.mistake_at(key, format!("`{key}` is {number}; it must be {low} to {high}")))
    }

    fn typed<T>(
        &self,
        key: &str,
        what: &str,
        read: impl FnOnce(&'s DeValue<'s>) -> Option<T>,
    ) -> Result<Option<T>, Mistake> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match read(value.get_ref()) {
            Some(read) => Ok(Some(read)),
            None => Err(self
                .mistake_at(key, format!("`{key}` must be {what}, not {}", kind(value.get_ref())))),
        }
    }
}

/// Returns the type of a value, with its article.
fn kind(value: &DeValue<'_>) -> String {
    let kind = value.type_str();
    let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// Reads a TOML integer, in whichever base it is written.
pub(crate) fn whole(integer: &toml::de::DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Returns the message about an unknown word, with the nearest known one, or with all of them if none is near.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    /// Words less similar than this are no typo (Jaro-Winkler, 1 is the same word).
    const ALIKE: f64 = 0.75;
    let nearest = known
        .iter()
        .map(|known| (strsim::jaro_winkler(word, known), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match nearest {
        Some((_, nearest)) => format!("unknown {what} `{word}`; did you mean `{nearest}`?"),
        None => format!("unknown {what} `{word}`; use one of {}", quoted(known)),
    }
}

/// Lists words in backticks.
pub(crate) fn quoted<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}
