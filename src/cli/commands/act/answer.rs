//! `allow` and `deny`: answer an agent that asks for permission, or a step that waits for approval.

use clap::Args;

use super::team_place::{TeamPlace, Waiting};
use crate::bus::rules::Approval;
use crate::cli::steer::{Answer, Patience, StepChoice};
use crate::cli::{Failure, with_hint};
use crate::domain::ids::{PermissionId, WorkflowId};
use crate::domain::name::Name;

/// What to allow.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge status              show what waits for you, with the ids
  cli-team-bridge allow ID            allow what an agent asks, this once
  cli-team-bridge allow ID --always   allow it, and the like from now on
  cli-team-bridge allow ID/STEP       approve a step of a workflow")]
pub(crate) struct AllowArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    asked: Asked,
    /// Let the agent do the like without asking again, if it offers that.
    #[arg(long)]
    always: bool,
}

/// What to deny.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge status                       show what waits for you, with the ids
  cli-team-bridge deny ID                      refuse what an agent asks
  cli-team-bridge deny ID --always             refuse it whenever the agent asks the same again
  cli-team-bridge deny ID --reason \"not yet\"   refuse a step of a workflow, and say why")]
pub(crate) struct DenyArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    asked: Asked,
    /// Refuse the same question of the agent from now on, without asking again.
    #[arg(long)]
    always: bool,
    /// Why a step is refused.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// What waits for an answer.
#[derive(Clone, Debug, Args)]
struct Asked {
    /// The question of an agent, a step, or the workflow with the only step that asks.
    #[arg(value_name = "QUESTION|WORKFLOW[/STEP]", value_parser = question)]
    id: Question,
}

#[derive(Clone, Debug)]
enum Question {
    Permission(PermissionId),
    Step(StepChoice),
}

fn question(text: &str) -> Result<Question, String> {
    let (id, step) = match text.split_once('/') {
        Some((id, step)) => (id, Some(step)),
        None => (text, None),
    };
    if let Ok(workflow) = WorkflowId::parse(id) {
        let step = step.map(Name::parse).transpose().map_err(|error| error.to_string())?;
        return Ok(Question::Step(StepChoice { workflow, step }));
    }
    let permission = PermissionId::parse(text);
    let permission = permission.map_err(|error| {
        format!("{error}, that of a step `wf-…/STEP`; `cli-team-bridge status` lists what waits")
    })?;
    Ok(Question::Permission(permission))
}

pub(crate) fn run_allow(arguments: &AllowArguments) -> Result<(), Failure> {
    let AllowArguments { place, waiting, asked, always } = arguments;
    let answer = if *always { Answer::AllowAlways } else { Answer::Allow };
    match &asked.id {
        Question::Permission(id) => place.act(async |team| team.answer(id, answer).await),
        Question::Step(_) if *always => Err(with_hint(
            "a step is approved each time it is about to begin",
            "leave out --always",
        )),
        Question::Step(step) => {
            let patience = waiting.patience();
            place.act(async |team| team.approve(step, Approval::Given, patience).await)
        }
    }
}

pub(crate) fn run_deny(arguments: DenyArguments) -> Result<(), Failure> {
    let DenyArguments { place, asked, always, reason } = arguments;
    let answer = if always { Answer::DenyAlways } else { Answer::Deny };
    match (asked.id, reason) {
        (Question::Permission(_), Some(_)) => {
            Err(with_hint("only steps are refused with a reason", "tell the agent with `send`"))
        }
        (Question::Permission(id), None) => place.act(async |team| team.answer(&id, answer).await),
        (Question::Step(_), _) if always => {
            Err(with_hint("a step is refused once, as it does not ask again", "leave out --always"))
        }
        (Question::Step(step), reason) => {
            let refused = Approval::Refused(reason);
            place.act(async |team| team.approve(&step, refused, Patience::None).await)
        }
    }
}
