//! What the counters of clients' files promise, for the fuzzer: a tree of a file has no more parts than were counted, so a file that is
//! small enough for them is small enough for a tree.

use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};

use super::{edit_toml, json_reader};

/// Counts the parts of a text as JSON and as TOML, and compares each with the tree, if there is one.
pub(crate) fn check(text: &str) {
    let (_, json) = json_reader::without_mark(text);
    let counted = json_reader::parts(json, usize::MAX - 1);
    if let Ok(value) = serde_json::from_str::<Value>(json) {
        let nodes = nodes_of_json(&value);
        assert!(nodes <= counted, "{nodes} nodes of JSON, and {counted} were counted");
    }
    for most in [0, 1, counted / 2] {
        let stopped = json_reader::parts(json, most);
        assert_eq!(stopped > most, counted > most, "a limit of {most}, and {counted} parts");
    }
    let counted = edit_toml::parts(text, usize::MAX - 1);
    if let Ok(document) = text.parse::<DocumentMut>() {
        let nodes = nodes_of_table(document.as_table());
        assert!(nodes <= counted, "{nodes} nodes of TOML, and {counted} were counted");
    }
}

/// Counts keys and values. The parser bounds their depth.
fn nodes_of_json(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes_of_json).sum(),
        Value::Object(fields) => fields.values().map(|field| 1 + nodes_of_json(field)).sum(),
        _ => 0,
    }
}

/// Counts keys, and the items of lists.
fn nodes_of_table(table: &dyn TableLike) -> usize {
    table.iter().map(|(_, item)| 1 + nodes_of_item(item)).sum()
}

fn nodes_of_item(item: &Item) -> usize {
    match item {
        Item::None => 0,
        Item::Table(table) => nodes_of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| 1 + nodes_of_table(table)).sum(),
        Item::Value(value) => nodes_of_value(value),
    }
}

fn nodes_of_value(value: &toml_edit::Value) -> usize {
    match value {
        toml_edit::Value::Array(items) => items.iter().map(|item| 1 + nodes_of_value(item)).sum(),
        toml_edit::Value::InlineTable(table) => nodes_of_table(table),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tree_has_more_parts_than_were_counted() {
        for text in [
            "",
            "1",
            "[]",
            "{}",
            "[1,2,[3,{}]]",
            "{\"a\":{\"b\":[1]}}",
            "{\"a\":1,\"a\":2}",
            "{",
            "a=1",
            "a.b.c = 1",
            "[a.b]\nc=[1,[2,3]]",
            "[[a]]\n[[a]]\nb={c=1,d.e=2}",
            "a=[]\n",
            "[a]",
        ] {
            check(text);
        }
    }
}
