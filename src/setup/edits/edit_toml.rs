//! Adds entries to the text of a TOML file, and removes them again. The rest of the text stays as it is.

use std::borrow::Cow;

use serde_json::Value;
use toml_edit::{Array, Decor, DocumentMut, Item, Table, TableLike, value};

use super::config_edit::{
    EditError, Edited, Entry, FileEdits, in_written_order, runs_bridge, started_by,
};
use super::line_ends;
use crate::domain::limits::MAX_CLIENT_TOML_PARTS;

/// Says whether a text already contains all entries exactly.
pub(in crate::setup) fn has(text: &str, entries: &[Entry]) -> Result<bool, EditError> {
    let document = parse(text)?;
    for entry in entries {
        if found(&document, &entry.path)?.map(json) != Some(entry.value.clone()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the value under these keys in a text.
pub(in crate::setup) fn value_at(text: &str, path: &[String]) -> Result<Option<Value>, EditError> {
    Ok(found(&parse(text)?, path)?.map(json))
}

/// Adds to a text the entries that are missing from it.
pub(in crate::setup) fn add(text: &str, entries: &[Entry]) -> Result<Edited, EditError> {
    let mut document = parse(text)?;
    let (mut added, mut made) = (Vec::new(), Vec::new());
    for entry in entries {
        if let Some(item) = found(&document, &entry.path)? {
            let present = json(item);
            if present == entry.value {
                continue;
            }
            return Err(EditError::Taken { path: entry.path.clone(), runs: started_by(&present) });
        }
        let (key, around) = entry.path.split_last().expect("an entry has a key");
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for (depth, part) in around.iter().enumerate() {
            let here = &entry.path[..=depth];
            if !table.contains_key(part) {
                made.push(here.to_vec());
                let mut new = Table::new();
                // Only the tables inside it get a heading.
                new.set_implicit(true);
                table.insert(part, Item::Table(new));
            }
            let item = table.get_mut(part).expect("the key exists");
            table = item.as_table_like_mut().ok_or_else(|| other_shape(here))?;
        }
        table.insert(key, table_of(&entry.value));
        added.push(entry.clone());
    }
    let written = written(text, &document);
    let is_kept = added.is_empty() || has(&written, &added)?;
    if !is_kept {
        return Err(EditError::NotKept);
    }
    Ok(Edited { text: written, added: FileEdits::Toml(added), made })
}

/// Removes added entries from a text as far as they are still in it, and the tables created for them if those are now empty.
pub(in crate::setup) fn take_out(
    text: &str,
    added: &[Entry],
    made: &[Vec<String>],
) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let mut is_changed = false;
    for entry in added.iter().rev() {
        let present = found(&document, &entry.path)?.map(json);
        if present.is_some_and(|value| value == entry.value || runs_bridge(&value)) {
            remove_entry(&mut document, &entry.path)?;
            is_changed = true;
        }
    }
    for path in made.iter().rev() {
        let is_empty = |item: &Item| item.as_table_like().is_some_and(TableLike::is_empty);
        if found(&document, path)?.is_some_and(is_empty) {
            remove(&mut document, path);
            is_changed = true;
        }
    }
    // A written document may end with a line break that the text does not have.
    Ok(if is_changed { written(text, &document) } else { text.to_owned() })
}

/// Replaces the value under these keys with another one. The rest stays.
pub(in crate::setup) fn replace_value(
    text: &str,
    path: &[String],
    new: &Value,
) -> Result<String, EditError> {
    let mut document = parse(text)?;
    let mut item = document.as_item_mut();
    for key in path {
        let table = item.as_table_like_mut().ok_or(EditError::NotKept)?;
        item = table.get_mut(key).ok_or(EditError::NotKept)?;
    }
    let present = item.as_value_mut().ok_or(EditError::NotKept)?;
    // The spaces and the comment around it.
    let decor = present.decor().clone();
    *present = inline(new).into_value().map_err(|_| EditError::NotKept)?;
    *present.decor_mut() = decor;
    Ok(written(text, &document))
}

/// Removes the value under these keys, with its key. The rest stays.
pub(in crate::setup) fn remove_value(text: &str, path: &[String]) -> Result<String, EditError> {
    let mut document = parse(text)?;
    remove(&mut document, path);
    Ok(written(text, &document))
}

/// Refuses a text of which a document would take much memory and time. Each part of a document has one of these characters, or is one of
/// the few beside it. Texts and comments may have them too, but not as many.
fn check_size(text: &str) -> Result<(), EditError> {
    if parts(text, MAX_CLIENT_TOML_PARTS) > MAX_CLIENT_TOML_PARTS {
        return Err(EditError::TooLarge { most: MAX_CLIENT_TOML_PARTS });
    }
    Ok(())
}

/// Counts such characters, until there are more than `most`.
pub(super) fn parts(text: &str, most: usize) -> usize {
    text.bytes().filter(|byte| b"\n.,=[{#".contains(byte)).take(most.saturating_add(1)).count()
}

/// Writes an edited document of a text. The document itself has `\n` at the end of each line, and no byte order mark.
fn written(text: &str, document: &DocumentMut) -> String {
    line_ends::like(text, &document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    check_size(text)?;
    let text = &*line_ends::plain(text);
    // A written document always ends with a line break.
    let ended = if text.is_empty() || text.ends_with('\n') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}\n"))
    };
    let document: DocumentMut = ended.parse().map_err(|error: toml_edit::TomlError| {
        let line =
            error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count());
        EditError::Unparsable(format!("{} (near line {})", error.message(), line.max(1)))
    })?;
    if document.to_string() != ended {
        return Err(EditError::NotKept);
    }
    Ok(document)
}

fn found<'a>(document: &'a DocumentMut, path: &[String]) -> Result<Option<&'a Item>, EditError> {
    let mut item = document.as_item();
    for (depth, key) in path.iter().enumerate() {
        let table = item.as_table_like().ok_or_else(|| other_shape(&path[..depth]))?;
        match table.get(key) {
            Some(inner) => item = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(item))
}

fn remove(document: &mut DocumentMut, path: &[String]) {
    let Some((key, around)) = path.split_last() else {
        return;
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in around {
        match table.get_mut(part).and_then(Item::as_table_like_mut) {
            Some(inner) => table = inner,
            None => return,
        }
    }
    table.remove(key);
}

/// Removes an entry. The comments above its heading are the owner's, and stay in their place.
fn remove_entry(document: &mut DocumentMut, path: &[String]) -> Result<(), EditError> {
    let whole = document.to_string();
    let Some(table) = table_with_heading(document, path) else {
        remove(document, path);
        return Ok(());
    };
    let comments = table.decor().prefix().and_then(|prefix| prefix.as_str());
    let comments = comments.unwrap_or_default().trim_end().to_owned();
    if comments.is_empty() {
        remove(document, path);
        return Ok(());
    }
    // A document has no place for comments between two tables, but its text has. A mark shows where the heading stands.
    let mut mark = "#".to_owned();
    while whole.contains(&mark) {
        mark.push('#');
    }
    table.clear();
    *table.decor_mut() = Decor::new(format!("{mark}\n"), "");
    let mut text = document.to_string();
    let begins = text.find(&mark).ok_or(EditError::NotKept)?;
    let after_line = |at: usize| text[at..].find('\n').map_or(text.len(), |found| at + found + 1);
    let ends = after_line(after_line(begins));
    text.replace_range(begins..ends, &format!("{comments}\n"));
    *document = parse(&text)?;
    Ok(())
}

/// Returns the table under these keys, if it has a heading of its own.
fn table_with_heading<'a>(document: &'a mut DocumentMut, path: &[String]) -> Option<&'a mut Table> {
    let mut item = document.as_item_mut();
    for key in path {
        item = item.as_table_like_mut()?.get_mut(key)?;
    }
    item.as_table_mut().filter(|table| !table.is_implicit() && !table.is_dotted())
}

fn other_shape(path: &[String]) -> EditError {
    EditError::OtherShape { path: path.to_vec(), expected: "a table" }
}

/// Writes an object as a table with a heading and one line per field.
fn table_of(object: &Value) -> Item {
    let Some(fields) = object.as_object() else {
        return inline(object);
    };
    let mut table = Table::new();
    for (key, field) in in_written_order(fields) {
        table.insert(key, inline(field));
    }
    Item::Table(table)
}

fn inline(field: &Value) -> Item {
    match field {
        Value::Bool(is) => value(*is),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => value(whole),
            None => value(number.as_f64().unwrap_or_default()),
        },
        Value::Array(items) => {
            let values = items.iter().filter_map(|item| inline(item).into_value().ok());
            value(values.collect::<Array>())
        }
        Value::String(text) => value(text),
        // TOML has no null, and no entry of ours has an object in it.
        Value::Null | Value::Object(_) => Item::None,
    }
}

/// Returns the value of an item, to compare it with an entry's.
fn json(item: &Item) -> Value {
    fn of(value: &toml_edit::Value) -> Value {
        match value {
            toml_edit::Value::String(text) => text.value().clone().into(),
            toml_edit::Value::Integer(number) => (*number.value()).into(),
            toml_edit::Value::Float(number) => (*number.value()).into(),
            toml_edit::Value::Boolean(is) => (*is.value()).into(),
            toml_edit::Value::Datetime(time) => time.value().to_string().into(),
            toml_edit::Value::Array(items) => items.iter().map(of).collect(),
            toml_edit::Value::InlineTable(table) => {
                table.iter().map(|(key, value)| (key.to_owned(), of(value))).collect()
            }
        }
    }
    match item {
        Item::Value(value) => of(value),
        Item::Table(table) => {
            table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()
        }
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter().map(|table| json(&Item::Table(table.clone())));
            tables.collect()
        }
        Item::None => Value::Null,
    }
}
