//! How much the state keeps of the texts of agents and clients. New lines are bounded when they are written; lines of older
//! versions may have any length.

use crate::domain::limits;
use crate::domain::task::TaskError;
use crate::domain::text::redact::Secrets;

/// Keeps the beginning of a sentence.
pub(super) fn words(text: &str) -> String {
    clipped(text, limits::ERROR_CHARS)
}

/// Keeps the beginning of what should be a word.
pub(super) fn word(text: &str) -> String {
    clipped(text, limits::WORD_BYTES)
}

/// Keeps the beginning of a name for people.
pub(super) fn beginning(text: &str, most_bytes: usize) -> String {
    clipped(text, most_bytes)
}

/// Keeps a name whole or not at all: a part of it names something else.
pub(super) fn name(text: Option<&String>, most_bytes: usize) -> Option<String> {
    text.filter(|text| text.len() <= most_bytes).cloned()
}

/// Keeps the beginning of an error's message.
pub(super) fn error(error: &TaskError) -> TaskError {
    error.clone().written(&Secrets::default())
}

/// Secrets were hidden before the line was written.
fn clipped(text: &str, most: usize) -> String {
    Secrets::default().hidden(text).clipped(most)
}
