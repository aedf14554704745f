//! Clients' files as their owners write them, with our entries and without.

mod every_client;
mod json_texts;
mod later_setups;
mod toml_texts;
mod unrecorded_files;
