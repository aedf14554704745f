//! Adds edits to the text of a JSON file, with comments or without, and removes them again. The rest of the text stays as it is.

use jsonc_parser::cst::{
    CstArray, CstContainerNode, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode,
};
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::Value;

use super::config_edit::{
    EditError, Edited, Entry, FileEdits, Item, JsonEdit, SamePurpose, in_written_order, key_of,
    runs_bridge, started_by,
};
use super::json_reader::{check_size, without_mark};

/// The text that stands in for a file without content.
const EMPTY: &str = "{}\n";

/// The most parts of an object or list that is edited: its values, commas, line ends, indents and comments. The editor's time grows with
/// their square. A list of a thousand lines has four thousand, and takes half a second.
const MOST_CHILDREN: usize = 4_000;

/// The syntax that even the strictest of the clients with comments can read.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Says whether a text already contains all of these edits exactly.
pub(in crate::setup) fn has(text: &str, edits: &[JsonEdit]) -> Result<bool, EditError> {
    for edit in edits {
        let is_present = match edit {
            JsonEdit::Entry(entry) => value_at(text, &entry.path)?.as_ref() == Some(&entry.value),
            JsonEdit::Item(item) => match value_at(text, &item.path)? {
                None => false,
                Some(Value::Array(list)) => list.contains(&item.value),
                Some(_) => return Err(other_shape(&item.path, "a list")),
            },
        };
        if !is_present {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the value under these keys in a text.
pub(in crate::setup) fn value_at(text: &str, path: &[String]) -> Result<Option<Value>, EditError> {
    let (_, json) = without_mark(text);
    check_size(json)?;
    // Unlike the tree for edits, this one has no nodes for spaces and comments: it is made many times as fast.
    let parsed = parse_to_ast(json, &CollectOptions::default(), &OPTIONS);
    let root = parsed.map_err(|error| EditError::Unparsable(error.to_string()))?.value;
    let Some(mut value) = root else {
        return Ok(None);
    };
    for (depth, key) in path.iter().enumerate() {
        let ast::Value::Object(object) = value else {
            return Err(other_shape(&path[..depth], "an object"));
        };
        let is_named = |prop: &ast::ObjectProp<'_>| prop.name.as_str() == key;
        let mut found = object.properties.into_iter().filter(is_named);
        value = match (found.next(), found.next()) {
            (_, Some(_)) => return Err(EditError::Twice { path: path[..=depth].to_vec() }),
            (None, None) => return Ok(None),
            (Some(prop), None) => prop.value,
        };
    }
    Ok(Some(value.into()))
}

/// Says whether a text has neither an item nor another one of the same purpose.
pub(in crate::setup) fn lacks(text: &str, item: &Item) -> Result<bool, EditError> {
    match value_at(text, &item.path)? {
        None => Ok(true),
        Some(Value::Array(list)) => Ok(!list.iter().any(|value| has_purpose(item, value))),
        Some(_) => Err(other_shape(&item.path, "a list")),
    }
}

/// Returns the keys of the lists of hooks in which a text has what setup has added to other lists of hooks.
pub(in crate::setup) fn copied_hooks(
    text: &str,
    added: &[JsonEdit],
) -> Result<Vec<String>, EditError> {
    let is_hook = |edit: &&JsonEdit| edit.path().first().is_some_and(|key| key == "hooks");
    let items: Vec<&Item> = added
        .iter()
        .filter(is_hook)
        .filter_map(|edit| match edit {
            JsonEdit::Item(item) => Some(item),
            JsonEdit::Entry(_) => None,
        })
        .collect();
    let hooks = "hooks".to_owned();
    let Some(Value::Object(lists)) = value_at(text, std::slice::from_ref(&hooks))? else {
        return Ok(Vec::new());
    };
    let has_item = |list: &Value| {
        let mut groups = list.as_array().into_iter().flatten();
        groups.any(|group| items.iter().any(|item| item.is_in(group)))
    };
    let keys = lists.iter().filter(|(_, list)| has_item(list));
    let keys = keys.map(|(event, _)| vec![hooks.clone(), event.clone()]);
    Ok(keys
        .filter(|key| items.iter().all(|item| item.path != *key))
        .map(|key| key_of(&key))
        .collect())
}

/// Says whether a value has the purpose of an item.
fn has_purpose(item: &Item, value: &Value) -> bool {
    let has_purpose = |purpose: &SamePurpose| match purpose {
        SamePurpose::Containing(text) => value.to_string().contains(text),
        SamePurpose::Running { command } => {
            let mut hooks = value["hooks"].as_array().into_iter().flatten();
            hooks.any(|hook| hook["type"] == "command" && hook["command"] == command.as_str())
        }
    };
    *value == item.value || item.same_purpose.as_ref().is_some_and(has_purpose)
}

/// Adds to a text the edits that are missing from it.
pub(in crate::setup) fn add(text: &str, edits: &[JsonEdit]) -> Result<Edited, EditError> {
    let text = if text.trim().is_empty() { EMPTY } else { text };
    let (mark, root) = parse(text)?;
    let (mut added, mut made) = (Vec::new(), Vec::new());
    for edit in edits {
        let is_new = match edit {
            JsonEdit::Entry(entry) => add_entry(&root, entry, &mut made)?,
            JsonEdit::Item(item) => add_item(&root, item, &mut made)?,
        };
        if is_new {
            added.push(edit.clone());
        }
    }
    let text = format!("{mark}{root}");
    // The result is parsed again, so that a faulty edit never reaches a file.
    match has(&text, &added) {
        Ok(true) => {}
        // The next setup could not undo the edit.
        Err(error @ EditError::TooLarge { .. }) => return Err(error),
        Ok(false) | Err(_) => return Err(EditError::NotKept),
    }
    Ok(Edited { text, added: FileEdits::Json(added), made })
}

/// Removes added edits from a text as far as they are still in it, and the tables and lists created for them if those are now empty.
pub(in crate::setup) fn take_out(
    text: &str,
    added: &[JsonEdit],
    made: &[Vec<String>],
) -> Result<String, EditError> {
    let (mark, root) = parse(text)?;
    for edit in added.iter().rev() {
        match edit {
            JsonEdit::Entry(entry) => {
                if let Some(prop) = find(&root, &entry.path)?
                    && value_of(&prop)
                        .is_some_and(|value| value == entry.value || runs_bridge(&value))
                {
                    remove_field(prop, &entry.path)?;
                }
            }
            JsonEdit::Item(item) => {
                if let Some(list) = list_at(&root, &item.path)? {
                    take_out_item(&list, item)?;
                }
            }
        }
    }
    for path in made.iter().rev() {
        if let Some(prop) = find(&root, path)?
            && prop.value().is_some_and(|value| is_empty(&value))
        {
            remove_field(prop, path)?;
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Removes an item from its list. Of a group of hooks with others in it, only ours goes.
fn take_out_item(list: &CstArray, item: &Item) -> Result<(), EditError> {
    if let Some((node, _)) = elements(list).find(|(_, value)| *value == item.value) {
        in_bounds(&item.path, list.children().len())?;
        node.remove();
        return Ok(());
    }
    for (node, value) in elements(list).filter(|(_, value)| item.is_in(value)) {
        in_bounds(&item.path, list.children().len())?;
        if item.is_alone_in(&value) {
            node.remove();
            continue;
        }
        let group = node.as_object().and_then(|group| group.array_value("hooks"));
        let Some(hooks) = group else { continue };
        in_bounds(&item.path, hooks.children().len())?;
        for (hook, _) in elements(&hooks).filter(|(_, hook)| item.runs(hook)) {
            hook.remove();
        }
    }
    Ok(())
}

/// Replaces the value under these keys with another one. The rest stays.
pub(in crate::setup) fn replace_value(
    text: &str,
    path: &[String],
    new: &Value,
) -> Result<String, EditError> {
    let (mark, root) = parse(text)?;
    let prop = find(&root, path)?.ok_or(EditError::NotKept)?;
    prop.set_value(input(new));
    let text = format!("{mark}{root}");
    if value_at(&text, path)?.as_ref() == Some(new) { Ok(text) } else { Err(EditError::NotKept) }
}

/// Removes the value under these keys, with its key. The rest stays.
pub(in crate::setup) fn remove_value(text: &str, path: &[String]) -> Result<String, EditError> {
    let (mark, root) = parse(text)?;
    if let Some(prop) = find(&root, path)? {
        remove_field(prop, path)?;
    }
    Ok(format!("{mark}{root}"))
}

fn remove_field(prop: CstObjectProp, path: &[String]) -> Result<(), EditError> {
    let around = prop.parent().map_or(0, |object| object.children().len());
    in_bounds(&path[..path.len().saturating_sub(1)], around)?;
    prop.remove();
    Ok(())
}

fn parse(text: &str) -> Result<(&'static str, CstRootNode), EditError> {
    let (mark, json) = without_mark(text);
    check_size(json)?;
    let root = CstRootNode::parse(json, &OPTIONS)
        .map_err(|error| EditError::Unparsable(error.to_string()))?;
    if root.to_string() != json {
        return Err(EditError::NotKept);
    }
    Ok((mark, root))
}

fn add_entry(
    root: &CstRootNode,
    entry: &Entry,
    made: &mut Vec<Vec<String>>,
) -> Result<bool, EditError> {
    if let Some(prop) = find(root, &entry.path)? {
        let value = value_of(&prop).unwrap_or_default();
        if value == entry.value {
            return Ok(false);
        }
        return Err(EditError::Taken { path: entry.path.clone(), runs: started_by(&value) });
    }
    let (key, around) = entry.path.split_last().expect("an entry has a key");
    object_for(root, around, made)?.append(key, input(&entry.value));
    Ok(true)
}

fn add_item(
    root: &CstRootNode,
    item: &Item,
    made: &mut Vec<Vec<String>>,
) -> Result<bool, EditError> {
    let list = if let Some(list) = list_at(root, &item.path)? {
        list
    } else {
        let (key, around) = item.path.split_last().expect("a list has a key");
        let object = object_for(root, around, made)?;
        made.push(item.path.clone());
        object.array_value_or_create(key).ok_or_else(|| other_shape(&item.path, "a list"))?
    };
    if elements(&list).any(|(_, value)| has_purpose(item, &value)) {
        return Ok(false);
    }
    in_bounds(&item.path, list.children().len())?;
    list.append(input(&item.value));
    Ok(true)
}

/// Returns the object under these keys. Creates missing objects and adds them to `made`.
fn object_for(
    root: &CstRootNode,
    path: &[String],
    made: &mut Vec<Vec<String>>,
) -> Result<CstObject, EditError> {
    let mut object = root.object_value_or_create().ok_or_else(|| other_shape(&[], "an object"))?;
    in_bounds(&[], object.children().len())?;
    for (depth, key) in path.iter().enumerate() {
        let here = &path[..=depth];
        if only(&object, here, key)?.is_none() {
            made.push(here.to_vec());
        }
        object =
            object.object_value_or_create(key).ok_or_else(|| other_shape(here, "an object"))?;
        in_bounds(here, object.children().len())?;
    }
    Ok(object)
}

fn in_bounds(path: &[String], children: usize) -> Result<(), EditError> {
    if children > MOST_CHILDREN {
        return Err(EditError::TooMany { path: path.to_vec(), most: MOST_CHILDREN });
    }
    Ok(())
}

/// Finds the property under these keys.
fn find(root: &CstRootNode, path: &[String]) -> Result<Option<CstObjectProp>, EditError> {
    let Some(value) = root.value() else {
        return Ok(None);
    };
    let mut object = value.as_object().ok_or_else(|| other_shape(&[], "an object"))?;
    let (key, around) = path.split_last().expect("it has a key");
    for (depth, part) in around.iter().enumerate() {
        let here = &path[..=depth];
        let Some(prop) = only(&object, here, part)? else {
            return Ok(None);
        };
        object = prop.object_value().ok_or_else(|| other_shape(here, "an object"))?;
    }
    only(&object, path, key)
}

/// Finds the list under these keys.
fn list_at(root: &CstRootNode, path: &[String]) -> Result<Option<CstArray>, EditError> {
    let Some(prop) = find(root, path)? else {
        return Ok(None);
    };
    prop.array_value().map(Some).ok_or_else(|| other_shape(path, "a list"))
}

/// Finds the property with this name. Two are an error: readers take the last, but the user may mean the first.
fn only(
    object: &CstObject,
    path: &[String],
    key: &str,
) -> Result<Option<CstObjectProp>, EditError> {
    let is_named = |prop: &CstObjectProp| prop.decoded_name().is_some_and(|name| name == key);
    let mut found = object.properties().into_iter().filter(is_named);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(EditError::Twice { path: path.to_vec() }),
        (first, None) => Ok(first),
    }
}

fn elements(list: &CstArray) -> impl Iterator<Item = (CstNode, Value)> + use<> {
    let elements = list.elements().into_iter();
    elements.filter_map(|node| node.to_serde_value().map(|value| (node, value)))
}

fn value_of(prop: &CstObjectProp) -> Option<Value> {
    prop.value()?.to_serde_value()
}

/// Says whether a table or list is empty, without even a comment.
fn is_empty(value: &CstNode) -> bool {
    let container = match value {
        CstNode::Container(container) => container,
        CstNode::Leaf(_) => return false,
    };
    let is_kept = |node: &CstNode| !(node.is_whitespace() || node.is_newline() || node.is_token());
    match container {
        CstContainerNode::Object(object) => !object.children().iter().any(is_kept),
        CstContainerNode::Array(list) => !list.children().iter().any(is_kept),
        _ => false,
    }
}

fn other_shape(path: &[String], expected: &'static str) -> EditError {
    EditError::OtherShape { path: path.to_vec(), expected }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = in_written_order(fields).into_iter();
            let fields = fields.map(|(key, value)| (key.to_owned(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}
