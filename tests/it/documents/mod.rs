//! The command lines that documents and the heads of files print: each is known, and most are run. And the compose file of the examples.

mod compose_file;
mod find_commands;
mod known_commands;
mod pictures;
mod run_commands;
