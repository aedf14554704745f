//! The command line of the program: the list of commands, their help, and running one.

mod client_arguments;
mod help_groups;
mod list_of_commands;
mod run_command;

pub use self::run_command::run;
