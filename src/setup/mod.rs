//! Setup: finds installed clients and agents, and writes and undoes the entries that connect the clients to the bridge.
//!
//! It knows the files of other programs, and not the bus. Pure functions of a file's text (`setup_plan`) decide each change;
//! `config_file` and `setup_record` carry it out, so that it can be undone byte for byte.

pub mod brought_entry;
pub mod clients;
pub mod config_file;
pub mod connected_clients;
pub mod edits;
pub mod installed_agents;
pub mod installed_plugin;
pub mod known_client;
pub mod local_entry;
pub mod projects_program;
pub mod setup_plan;
pub mod setup_record;
pub mod stable_program;
pub mod switches;
pub mod unrecorded_edits;
pub mod written_entry;

#[cfg(test)]
mod tests;
