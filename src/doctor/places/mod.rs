//! The places that a team needs: the user's directories, the project's own file, the bus, and clients' files.

pub(super) mod examine_agents_files;
pub(super) mod examine_bus_directory;
pub(super) mod examine_clients;
pub(super) mod examine_environment;
pub(super) mod examine_project_file;
pub(super) mod examine_rights;
mod judge_bus;
mod judge_bus_place;
mod judge_client;
mod judge_server;
mod judge_sessions;
mod judge_switches;
mod judge_webhooks;
