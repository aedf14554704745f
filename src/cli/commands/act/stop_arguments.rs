//! `stop` and `kill`: end an agent of the team.

use clap::Args;

use super::team_place::{TeamPlace, Waiting};
use crate::cli::Failure;

/// Which agent to stop.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge stop codex                          let it finish its turn, for up to 20 s
  cli-team-bridge stop codex --reason \"wrong branch\"   tell it why
  cli-team-bridge kill codex                          end it at once")]
pub(crate) struct StopArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    waiting: Waiting,
    /// The agent.
    #[arg(value_name = "NAME")]
    agent: String,
    /// Why, for the agent.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Which agent to kill.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge kill codex   end codex and all its processes")]
pub(crate) struct KillArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    waiting: Waiting,
    /// The agent.
    #[arg(value_name = "NAME")]
    agent: String,
}

pub(crate) fn run_stop(arguments: StopArguments) -> Result<(), Failure> {
    let StopArguments { place, waiting, agent, reason } = arguments;
    place.act(async |team| team.stop(&agent, reason, waiting.patience()).await)
}

pub(crate) fn run_kill(arguments: &KillArguments) -> Result<(), Failure> {
    let KillArguments { place, waiting, agent } = arguments;
    place.act(async |team| team.kill(agent, waiting.patience()).await)
}
