//! `bus`: verifies a project's whole bus, exports its history, and prunes what is no longer needed.

mod bus_arguments;
mod export_command;
mod prune_age;
mod prune_command;
mod verify_command;

pub(crate) use self::bus_arguments::{BusArguments, run};
