//! The local web server, asked with plain HTTP as any program of this machine could.

mod acting;
mod api;
pub(crate) mod api_client;
mod api_contract;
mod api_hostile;
mod api_lost_bus;
mod api_names;
mod api_repeats;
mod api_roles;
mod api_writes;
mod file_diffs;
pub(crate) mod gate;
mod hostile_clients;
pub(crate) mod http_client;
mod streams;
