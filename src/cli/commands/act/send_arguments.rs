//! `send`: writes to a member of the team as the person at the terminal.

use clap::Args;

use super::given_text::given;
use super::team_place::{TeamPlace, Waiting};
use crate::cli::Failure;
use crate::domain::ids::MessageId;
use crate::domain::messaging::Priority;

/// What to send, and to whom.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge send codex \"use the new parser\"   send a line
  cli-team-bridge send @reviewer \"look at main\"     send a line to all reviewers
  git diff | cli-team-bridge send codex -            send what stands on stdin
  cli-team-bridge messages --member codex            show what it wrote since")]
pub(crate) struct SendArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    waiting: Waiting,
    /// The member that gets it, or a group: @role, @lane, @capability, #topic, or all.
    #[arg(value_name = "NAME")]
    to: String,
    /// The message; `-` reads it from stdin.
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    text: String,
    /// The message that it answers. In a thread in which members disagree, your words decide.
    #[arg(long, value_name = "ID", value_parser = MessageId::parse)]
    reply_to: Option<MessageId>,
    /// Interrupt the member's turn for it, where nothing else reaches the turn.
    #[arg(long)]
    urgent: bool,
}

pub(crate) fn run(arguments: &SendArguments) -> Result<(), Failure> {
    let text = given(&arguments.text)?;
    let priority = if arguments.urgent { Priority::Urgent } else { Priority::Normal };
    let patience = arguments.waiting.patience();
    arguments.place.act(async |team| {
        team.send(&arguments.to, (text, arguments.reply_to.clone()), priority, patience).await
    })
}
