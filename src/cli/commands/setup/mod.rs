//! `setup`: connects the clients of this machine to the bridge, lists the agents that could work, and undoes its own changes.

mod client_changes;
mod found_report;
mod install_adapters;
mod questions;
mod remove_changes;
mod remove_unrecorded;
mod run_setup;
mod setup_arguments;
mod shown_edits;

pub(in crate::cli) use self::run_setup::{SetupEnd, run};
pub(in crate::cli) use self::setup_arguments::SetupArguments;
