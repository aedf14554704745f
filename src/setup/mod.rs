//! Setup: which clients and agents are installed, and the entries that connect the clients to the bridge, written and undone.
//!
//! It knows the files of other programs and nothing of the bus. What is to be done to a file is decided by pure functions of its text
//! (`setup_plan`); `config_file` and `setup_record` carry it out, so that each change can be undone byte for byte.

pub mod clients;
pub mod config_edit;
pub mod config_file;
mod edit_json;
mod edit_toml;
pub mod installed_agents;
pub mod known_client;
pub mod setup_plan;
pub mod setup_record;
pub mod stable_program;
pub mod written_entry;

#[cfg(test)]
mod tests;
