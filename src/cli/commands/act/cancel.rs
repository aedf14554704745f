//! `cancel`: ends a task or a workflow before it is done.

use clap::Args;

use super::team_place::{TeamPlace, Waiting};
use crate::cli::Failure;
use crate::domain::ids::{TaskId, WorkflowId};

/// What to cancel.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge tasks       list the tasks
  cli-team-bridge workflows   list the workflows
  cli-team-bridge cancel ID   cancel one; its agent stays")]
pub(crate) struct CancelArguments {
    #[command(flatten)]
    place: TeamPlace,
    #[command(flatten)]
    waiting: Waiting,
    /// The task or the workflow.
    #[arg(value_name = "TASK|WORKFLOW", value_parser = work)]
    id: Work,
}

/// Something that can be cancelled.
#[derive(Clone, Debug)]
enum Work {
    Task(TaskId),
    Workflow(WorkflowId),
}

fn work(text: &str) -> Result<Work, String> {
    if let Ok(workflow) = WorkflowId::parse(text) {
        return Ok(Work::Workflow(workflow));
    }
    let task = TaskId::parse(text).map_err(|error| {
        format!(
            "{error}, that of a workflow `wf-…`; `cli-team-bridge tasks` and `workflows` list them"
        )
    })?;
    Ok(Work::Task(task))
}

pub(crate) fn run(arguments: &CancelArguments) -> Result<(), Failure> {
    let patience = arguments.waiting.patience();
    arguments.place.act(async |team| match &arguments.id {
        Work::Task(id) => team.cancel_task(id, patience).await,
        Work::Workflow(id) => team.cancel_workflow(id, patience).await,
    })
}
