//! How much of an answer an entry of a list takes, so that a list ends where its answer is full.

use serde::Serialize;

/// Spaces before each line of an entry, which is the value of a list in the answer's object.
const INDENT: usize = 4;

/// Returns the bytes of an entry in an answer, as JSON with a line per field.
pub(crate) fn entry_bytes(entry: &impl Serialize) -> usize {
    let text = serde_json::to_string_pretty(entry).expect("an entry is plain data");
    // Each line has its end; the last one also a comma.
    text.len() + text.lines().count() * (INDENT + 1) + 1
}
