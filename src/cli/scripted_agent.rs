//! `scripted-agent`: an ACP agent that plays a script, without a model.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, served};
use crate::scripted::{self, Options};

/// What is played.
#[derive(Clone, Debug, Args)]
pub(super) struct ScriptedArguments {
    /// The script; examples/team.toml shows all that one can say.
    #[arg(long, value_name = "FILE", env = "BRIDGE_SCRIPT")]
    script: PathBuf,
    /// The table of the script to play [default: that of the agent's own name, else `default`].
    #[arg(long = "as", value_name = "TABLE")]
    table: Option<String>,
}

pub(super) fn run(arguments: ScriptedArguments) -> Result<(), Failure> {
    served::run(async move || {
        let options = Options {
            script: arguments.script,
            table: arguments.table,
        };
        Ok(scripted::run(options).await?)
    })
}
