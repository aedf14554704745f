//! The arguments of `setup`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::setup::clients::CLIENTS;

/// The arguments of `setup`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge setup                        show the changes, and ask
  cli-team-bridge setup --dry-run              only show them
  cli-team-bridge setup --client zed --yes     set up one client without asking
  cli-team-bridge setup --remove               undo setup's changes")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(in crate::cli) struct SetupArguments {
    /// Set up only this client, found or not (repeatable) [default: all that are found].
    #[arg(long = "client", value_name = "NAME", value_parser = client_names())]
    pub(super) clients: Vec<String>,
    /// Write to the files of a project instead of your own [default: the current project].
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag, and the directory behind it")]
    pub(super) project: Option<Option<PathBuf>>,
    /// Write without asking.
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) yes: bool,
    /// Show the changes without making them.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Undo setup's changes; with --client or --project, only those.
    #[arg(long)]
    pub(super) remove: bool,
    /// With --yes: also install missing adapters of agents that you have, with your npm.
    #[arg(long, requires = "yes", conflicts_with = "remove")]
    pub(super) install_agents: bool,
}

impl SetupArguments {
    /// Says whether the doctor checks the result: only if setup was to change something.
    pub(in crate::cli) fn end_with_doctor(&self) -> bool {
        !self.dry_run && !self.remove
    }
}

fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
}
