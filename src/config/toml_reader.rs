//! The typed reading of TOML values, with a place for every problem.
//!
//! An invalid value is reported and read as absent, so that all problems of a file are reported at once.

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Problem, hint, shown};
use crate::domain::limits;
use crate::domain::member::{Label, is_word_for_members};
use crate::domain::messaging::Arbiter;
use crate::domain::name::Name;
use crate::domain::text::counted::counted;
use crate::domain::text::suggest::nearest;
use crate::domain::text::visible_letters::is_invisible;

/// An entry of a table, with its place in the file.
pub(crate) struct TomlEntry<'t, 'i> {
    /// The key as it is written.
    pub(crate) key: &'t str,
    /// The place of the key, in bytes.
    pub(crate) key_span: Range<usize>,
    /// The value of the key.
    pub(crate) value: &'t Spanned<DeValue<'i>>,
}

/// Reads values of one file and collects its problems.
pub(crate) struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    /// The first problems that were found.
    problems: Vec<(usize, String)>,
    /// How many more there are, and the place of the first of them.
    unlisted: Option<(usize, usize)>,
}

impl<'a> Reader<'a> {
    /// Makes a reader of `text`, the content of `file`.
    pub(crate) fn new(file: &'a Path, text: &'a str) -> Self {
        Self { file, text, problems: Vec::new(), unlisted: None }
    }

    /// Records a problem at a place of the text.
    pub(crate) fn report(&mut self, place: &Range<usize>, message: impl Into<String>) {
        if self.problems.len() < limits::LISTED_PROBLEMS {
            self.problems.push((place.start, message.into()));
        } else {
            self.count(place);
        }
    }

    /// Counts a problem that is not listed.
    fn count(&mut self, place: &Range<usize>) {
        let (number, first) = self.unlisted.unwrap_or((0, place.start));
        self.unlisted = Some((number + 1, first));
    }

    /// Records that a key is not among `known`.
    pub(crate) fn report_unknown(
        &mut self,
        entry: &TomlEntry<'_, '_>,
        table: &str,
        known: &[&str],
    ) {
        // Without a search for the nearest key, which takes its time for thousands of them.
        if self.problems.len() >= limits::LISTED_PROBLEMS {
            return self.count(&entry.key_span);
        }
        let (key, near) = (shown(entry.key), nearest(entry.key, known));
        let hint = hint(&near, known, "the keys here are");
        self.report(&entry.key_span, format!("unknown key `{key}` in {table}: {hint}"));
    }

    /// Ends the reading, and returns the first problems in the order of their places, and the number of the others.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|(offset, _)| *offset);
        let mut problems = std::mem::take(&mut self.problems);
        if let Some((number, first)) = self.unlisted {
            let more = counted(number, "more problem");
            problems.push((first, format!("{more} in this file, not listed here")));
        }
        problems.into_iter().map(|(offset, message)| self.problem(offset, message)).collect()
    }

    /// Makes a problem of a message and its place in bytes.
    pub(crate) fn problem(&self, offset: usize, message: String) -> Problem {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Problem {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        }
    }

    /// Reads a table: its entries in the order of the file.
    pub(crate) fn table<'t, 'i>(
        &mut self,
        value: &'t Spanned<DeValue<'i>>,
        what: &str,
    ) -> Option<Vec<TomlEntry<'t, 'i>>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong_type(value, what, "a table");
        }
        table.map(entries)
    }

    /// Reads a string without NUL, which neither a program's arguments nor its environment can carry.
    pub(crate) fn string(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(value, what, "a string");
            return None;
        };
        if text.contains('\0') {
            self.report(&value.span(), format!("{what} must not contain a NUL character"));
            return None;
        }
        if text.len() > limits::PROFILE_TEXT_BYTES {
            let (has, most) = (text.len(), limits::PROFILE_TEXT_BYTES);
            let message = format!("{what} has {has} bytes; the limit is {most}");
            self.report(&value.span(), message);
            return None;
        }
        Some(text.to_owned())
    }

    /// Reads a string for a line that people and models see, of at most so many characters.
    pub(crate) fn line(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        most: usize,
    ) -> Option<String> {
        // Before it is checked as a string, so that the error reports this limit.
        let count = value.get_ref().as_str().map_or(0, |text| text.chars().count());
        if count > most {
            let message = format!("{what} has {count} characters; the limit is {most}");
            self.report(&value.span(), message);
            return None;
        }
        let text = self.filled_string(value, what)?;
        if text.contains(is_invisible) {
            let message = format!("{what} must be one line, without control characters");
            self.report(&value.span(), message);
            return None;
        }
        Some(text)
    }

    /// Reads a string that is not empty.
    pub(crate) fn filled_string(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Option<String> {
        let text = self.string(value, what)?;
        if text.trim().is_empty() {
            self.report(&value.span(), format!("{what} is empty: set it, or leave it out"));
            return None;
        }
        Some(text)
    }

    /// Reads a whole number within a range.
    pub(crate) fn number(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        range: &RangeInclusive<u64>,
    ) -> Option<u64> {
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(value, what, "an integer");
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let fitting = number.filter(|number| range.contains(number));
        if fitting.is_none() {
            let (first, last) = (range.start(), range.end());
            let message = format!("{what} is {integer}: it must be {first} to {last}");
            self.report(&value.span(), message);
        }
        fitting
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<bool> {
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.wrong_type(value, what, "a boolean");
        }
        boolean
    }

    /// Reads an array, each element with `element`, which is given the name of an element for errors.
    pub(crate) fn array<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        element: impl FnMut(&mut Self, &Spanned<DeValue<'_>>, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.array_of(value, what, limits::PROFILE_LIST, element)
    }

    /// Reads an array of at most so many elements.
    pub(crate) fn array_of<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        most: usize,
        mut element: impl FnMut(&mut Self, &Spanned<DeValue<'_>>, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(value, what, "an array of strings");
            return None;
        };
        if array.len() > most {
            let message = format!("{what} has {} elements; the limit is {most}", array.len());
            self.report(&value.span(), message);
            return None;
        }
        let each = format!("each element of {what}");
        Some(array.iter().filter_map(|value| element(self, value, &each)).collect())
    }

    /// Reads a word that stands for a lane, a capability or a topic.
    pub(super) fn label(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Label> {
        let text = self.string(value, what)?;
        let label = Label::parse(&text);
        if let Err(error) = &label {
            self.report(&value.span(), format!("{what}: {error}"));
        }
        label.ok()
    }

    /// Reads a list of such words.
    pub(super) fn labels(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Option<Vec<Label>> {
        self.array_of(value, what, limits::MEMBER_LABELS, Self::label)
    }

    /// Reads who decides disagreements.
    pub(super) fn arbiter(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Arbiter> {
        let arbiter = Arbiter::parse(&self.string(value, what)?);
        arbiter.map_err(|error| self.report(&value.span(), format!("{what}: {error}"))).ok()
    }

    /// Reads the words of a pool of names, each of which people can say aloud, and none of which a profile has.
    pub(super) fn pool(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        profiles: &[Name],
    ) -> Option<Vec<Name>> {
        let mut words: Vec<Name> = Vec::new();
        let word = |reader: &mut Self, value: &Spanned<DeValue<'_>>, each: &str| {
            let text = reader.string(value, each)?;
            let is_spoken = (1..=limits::POOL_WORD_LETTERS).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphabetic());
            let problem = match Name::parse(&text) {
                Ok(name) if is_spoken && is_word_for_members(&name) => {
                    "others look under it for a member of that kind, and it would be any peer: \
                        choose a name"
                        .to_owned()
                }
                Ok(name) if is_spoken && profiles.contains(&name) => {
                    "a profile has this name, and its agents are called after it: choose another"
                        .to_owned()
                }
                Ok(name) if is_spoken => match words.iter().find(|word| **word == name) {
                    None => {
                        words.push(name.clone());
                        return Some(name);
                    }
                    Some(first) => format!("it is there already as `{first}`"),
                },
                // A reserved word.
                Err(error) if is_spoken => error.to_string(),
                _ => {
                    format!("it must be 1 to {} of the letters A-Z a-z", limits::POOL_WORD_LETTERS)
                }
            };
            reader.report(&value.span(), format!("{what} has `{}`: {problem}", shown(&text)));
            None
        };
        self.array_of(value, what, limits::POOL_WORDS, word)
    }

    /// Reports a value of another type than the expected one.
    pub(super) fn wrong_type(&mut self, value: &Spanned<DeValue<'_>>, what: &str, expected: &str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.report(&value.span(), format!("{what} must be {expected}, not {found}"));
    }
}

/// Returns the entries of a table in the order of the file; the table itself orders them by name.
pub(crate) fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<TomlEntry<'t, 'i>> {
    let mut entries: Vec<TomlEntry<'t, 'i>> = table
        .iter()
        .map(|(key, value)| TomlEntry { key: key.get_ref().as_ref(), key_span: key.span(), value })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}
