//! `bus`: verifies a project's whole bus, exports its history, prunes what is no longer needed, shares it with other machines, and
//! copies it.

mod bus_arguments;
mod copy_command;
mod export_command;
mod init_command;
mod prune_age;
mod prune_command;
mod status_command;
mod verify_command;

pub(crate) use self::bus_arguments::{BusArguments, run};
