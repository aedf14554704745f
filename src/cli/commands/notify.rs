//! `notify`: sends a trial notification to each target of `[notify]`, and says what came of it.

use std::path::PathBuf;

use clap::Args;

use crate::alerts::{Notification, Targets};
use crate::cli::{Failure, below_agent, find_project, load_config, output, serve_mcp, with_hint};

/// Which configuration to try.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge notify   try the command, the desktop and the webhook of [notify] in your config.toml")]
pub(crate) struct NotifyArguments {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// An extra configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(arguments: &NotifyArguments) -> Result<(), Failure> {
    below_agent::refuse_to("notify its user")?;
    let project = find_project::find(arguments.project.as_deref())?;
    let config = load_config::load(&project.root, arguments.config.as_deref())?;
    let settings = config.notify().clone();
    if !settings.has_target() {
        let hint = "set `command`, `desktop` or `webhook` under `[notify]` in your own config.toml";
        return Err(with_hint("you have named nothing that notifies you", hint));
    }
    let name = project.root.file_name().unwrap_or(project.root.as_os_str());
    let notification = Notification::of_trial(&name.to_string_lossy());
    serve_mcp::run(async || {
        let mut failed = Vec::new();
        for (key, sent) in Targets::of(&settings).try_all(&notification).await {
            match sent {
                Ok(()) => output::say(&format!("{key}: sent")),
                Err(why) => failed.push(format!("{key}: {why}")),
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
    })
}
