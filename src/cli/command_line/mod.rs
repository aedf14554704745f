//! The command line of the program: the commands that there are, and running one.

mod list_of_commands;
mod run_command;

pub use self::run_command::run;
