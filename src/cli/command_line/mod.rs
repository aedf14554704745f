//! The command line of the program: the list of commands, and running one.

mod list_of_commands;
mod run_command;

pub use self::run_command::run;
