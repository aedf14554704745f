//! The thin binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli_team_bridge::cli::run()
}
