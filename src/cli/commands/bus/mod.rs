//! `bus`: verifies a project's whole bus, exports its history, prunes what is no longer needed, and shares it with other machines.

mod bus_arguments;
mod export_command;
mod init_command;
mod prune_age;
mod prune_command;
mod status_command;
mod verify_command;

pub(crate) use self::bus_arguments::{BusArguments, run};
