//! `send`: writes to a member of the team as the person at the terminal.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::given_text::given;
use super::team_place::{TeamPlace, Waiting};
use crate::cli::Failure;
use crate::cli::steer::{Letter, letter_there};
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Priority, Signal};

/// What to send, and to whom.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge send codex \"use the new parser\"   send a line
  cli-team-bridge send @reviewer \"look at main\"     send a line to all reviewers
  cli-team-bridge send web:alice \"it is out\"        send a line to a member of your project web
  cli-team-bridge send codex \"done?\" --wait 60      wait for the answer, and print it
  git diff | cli-team-bridge send codex -           send what stands on stdin
  cli-team-bridge messages --member codex           show what it wrote since")]
pub(crate) struct SendArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    waiting: Waiting,
    /// The member that gets it, or a group: @role, @lane, @capability, #topic, or all; after TAG: in that project of [projects].
    #[arg(value_name = "NAME")]
    to: String,
    /// The message; `-` reads it from stdin.
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    text: String,
    /// The message that it answers. In a thread in which members disagree, your words decide.
    #[arg(long, value_name = "ID", value_parser = MessageId::parse)]
    reply_to: Option<MessageId>,
    /// What it is for, such as question, `request_review` or alert; a word that is none gets the list.
    #[arg(long, value_name = "SIGNAL", value_parser = Signal::parse_of_person)]
    signal: Option<Signal>,
    /// How much it matters: high and urgent interrupt the member's turn, where nothing else reaches it.
    #[arg(long, value_name = "PRIORITY", value_parser = Priority::ALL.map(Priority::as_str))]
    priority: Option<String>,
    /// The same as --priority urgent.
    #[arg(long, conflicts_with = "priority")]
    urgent: bool,
    /// Wait so long for an answer, and print it.
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: Option<u64>,
}

pub(crate) fn run(arguments: &SendArguments) -> Result<(), Failure> {
    let (here, reply_to) = (arguments.place.project(), arguments.reply_to.clone());
    let there = letter_there(here, &arguments.to, reply_to.clone())?;
    let (place, to, reply_to, project) = match there {
        Some(there) => {
            let named = Some((there.tag, there.to.clone()));
            (arguments.place.at(there.directory), there.to, there.reply_to, named)
        }
        None => (arguments.place.clone(), arguments.to.clone(), reply_to, None),
    };
    let text = given(&arguments.text)?;
    let said = arguments.priority.as_deref().and_then(Priority::named);
    let letter = Letter {
        priority: said.or(arguments.urgent.then_some(Priority::Urgent)),
        reply_to,
        signal: arguments.signal.clone(),
        wait: arguments.wait.map(Duration::from_secs),
        ..Letter::new(to, text)
    };
    let patience = arguments.waiting.patience();
    let outside = place.project().map(Path::to_owned);
    place.act(async move |team| {
        let sent = team.send(letter, patience).await?;
        let sent = match &outside {
            Some(project) => sent.naming_project(project),
            None => sent,
        };
        Ok(match &project {
            Some((tag, written)) => sent.in_project(tag, written),
            None => sent,
        })
    })
}
