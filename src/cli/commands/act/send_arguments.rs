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
        value_parser = seconds_to_wait)]
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

/// The longest wait for an answer, in seconds: a day.
const LONGEST_WAIT: u64 = 86_400;

fn seconds_to_wait(text: &str) -> Result<u64, String> {
    let found = text.trim().parse::<u64>().ok();
    found.filter(|seconds| (1..=LONGEST_WAIT).contains(seconds)).ok_or_else(|| {
        format!("write a whole number of seconds from 1 to {LONGEST_WAIT}, such as 60")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_whole_number_of_seconds_of_at_most_a_day() {
        assert_eq!(seconds_to_wait("60"), Ok(60));
        assert_eq!(seconds_to_wait("86400"), Ok(86_400));
        for wrong in ["x", "", "0", "-1", "1.5", "86401"] {
            let said = seconds_to_wait(wrong).unwrap_err();
            assert_eq!(said, "write a whole number of seconds from 1 to 86400, such as 60");
        }
    }
}
