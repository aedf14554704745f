//! The script: its format, its steps and its templates, and reading them from TOML.

pub(crate) mod script_format;
pub(crate) mod script_template;
pub(crate) mod toml_fields;
pub(crate) mod verbs;
