//! The script: its format, its steps, its templates, and how it is read from TOML.

pub(crate) mod script_format;
pub(crate) mod script_template;
pub(crate) mod toml_fields;
pub(crate) mod verbs;
