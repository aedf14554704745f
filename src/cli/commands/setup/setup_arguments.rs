//! The arguments of `setup`.

use std::path::PathBuf;

use clap::Args;

/// What to set up.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(in crate::cli) struct SetupArguments {
    /// Set up this client alone, found or not: claude-code, codex, gemini, qwen, droid, vscode, cursor, zed or claude-desktop
    /// (repeatable) [default: all that are found].
    #[arg(long = "client", value_name = "NAME", value_parser = parse_client)]
    pub(super) clients: Vec<String>,
    /// Write into the files of a project instead of your own [default: the current project].
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag, and the directory behind it")]
    pub(super) project: Option<Option<PathBuf>>,
    /// Write without asking.
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) yes: bool,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Undo what setup wrote; with --client or --project only that.
    #[arg(long)]
    pub(super) remove: bool,
    /// With --yes: also install missing adapters of agents that you have, with your npm.
    #[arg(long, requires = "yes", conflicts_with = "remove")]
    pub(super) install_agents: bool,
}

impl SetupArguments {
    /// Returns whether the doctor looks at the result: not if nothing was to be set up.
    pub(in crate::cli) fn end_with_doctor(&self) -> bool {
        !self.dry_run && !self.remove
    }
}

fn parse_client(name: &str) -> Result<String, String> {
    use crate::setup::clients;
    if clients::named(name).is_some() {
        return Ok(name.to_owned());
    }
    let known: Vec<_> = clients::CLIENTS.iter().map(|client| client.name).collect();
    Err(format!("no client of that name is known; known are {}", known.join(", ")))
}
