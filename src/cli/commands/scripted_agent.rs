//! `scripted-agent`: an ACP agent that plays a script, without a model.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{Failure, serve_mcp};
use crate::domain::env_vars;
use crate::scripted::{self, Options};

/// What is played.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScriptedArguments {
    /// The script; examples/team.toml shows every verb.
    #[arg(long, value_name = "FILE", env = env_vars::SCRIPT)]
    script: Option<PathBuf>,
    /// The script's table to follow [default: the one with the agent's name, else `default`].
    #[arg(long = "as", value_name = "TABLE")]
    table: Option<String>,
}

pub(crate) fn run(arguments: ScriptedArguments) -> Result<(), Failure> {
    // Not checked by clap: this is a child of the bridge, and the caller of `assign_task` reads its error.
    let script = arguments.script.ok_or_else(|| {
        format!(
            "a scripted agent needs a script: set {} to a file such as examples/team.toml where the \
                bridge is started, or pass --script FILE",
            env_vars::SCRIPT
        )
    })?;
    serve_mcp::run(async move || {
        let options = Options { script, table: arguments.table };
        Ok(scripted::run(options).await?)
    })
}
