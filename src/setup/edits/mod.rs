//! Edits of clients' files: what an edit is, and how JSON with comments and TOML are edited without touching the rest of the text.

pub mod config_edit;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod counted_parts;
pub(in crate::setup) mod edit_json;
pub(in crate::setup) mod edit_toml;
pub mod entry_arguments;
pub mod entry_variables;
pub mod json_reader;
mod line_ends;
pub(in crate::setup) mod mend_command;
