//! The errors of workflows in the words of the command line, whose reader is the user. Elsewhere they are written for a model with
//! tools.

use std::path::Path;

use super::read_plan::PROJECT_FILE;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::cli::{Failure, find_project, with_hint};
use crate::domain::ids::WorkflowId;
use crate::domain::limits;
use crate::domain::text::counted::counted;
use crate::domain::text::shell_word::shell_word;
use crate::team::{Consent, TeamError};
use crate::workflow::WorkflowError;

/// Returns the error of a workflow for the user.
pub(super) fn of_workflow(error: WorkflowError) -> Failure {
    match error {
        WorkflowError::Bus(BusError::Refused(Refusal::WorkflowOver { id, status })) => with_hint(
            format!("the workflow `{id}` {}, so it cannot be resumed", status.phrase()),
            "`cli-team-bridge workflows` shows how each of its steps ended, and \
             `cli-team-bridge run PLAN` runs its plan again from the beginning",
        ),
        WorkflowError::Bus(BusError::Refused(refusal))
        | WorkflowError::Team(TeamError::Bus(BusError::Refused(refusal))) => of_refusal(refusal),
        WorkflowError::Team(error) => of_team(error),
        WorkflowError::PlanChanged { place } => with_hint(
            format!(
                "the workflow was not resumed: its gates come from the plan {place:?}, which has \
                 changed since or is gone, and your approval of the original does not count here"
            ),
            "run the plan as it is now; `cancel_workflow` in an orchestrator ends the interrupted workflow",
        ),
        WorkflowError::Trial { id } => with_hint(
            format!(
                "`{id}` was a trial, in which a script played the agents, so real agents do not \
                 continue it"
            ),
            "run its plan again",
        ),
        error => error.into(),
    }
}

/// Returns the error of a team for the user.
pub(super) fn of_team(error: TeamError) -> Failure {
    match error {
        TeamError::Unagreed(consent) => {
            let how = format!("review and approve it with `{}`", trust_command(&consent));
            with_hint(consent.message_for_user(), how)
        }
        TeamError::UnreadableApproval { what, why } => with_hint(
            format!("{what}, and {}", why.message_for_user()),
            "`cli-team-bridge doctor` says what to do about that directory",
        ),
        error => error.into(),
    }
}

fn of_refusal(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::UnknownWorkflow { id } => unknown_workflow(&id),
        Refusal::TooManyWorkflows => with_hint(
            format!(
                "{} are unfinished in this project, which is the limit",
                counted(limits::MAX_WORKFLOWS, "workflow")
            ),
            "resume one (`cli-team-bridge run --resume` lists them), or end one with \
             `cancel_workflow` in an orchestrator",
        ),
        Refusal::UnknownPermission { id } => {
            format!("the question `{id}` is not open any more").into()
        }
        other => BusError::from(other).into(),
    }
}

/// Returns the error for an id that no workflow has.
pub(super) fn unknown_workflow(id: &WorkflowId) -> Failure {
    with_hint(
        format!("there is no workflow `{id}` in this project, or it is too old to be found"),
        "`cli-team-bridge run --resume` lists the workflows that can be resumed",
    )
}

/// Returns why an answer of the user did not count.
pub(super) fn of_answer(refusal: Refusal) -> String {
    of_refusal(refusal).to_string()
}

/// Returns the command that asks for an approval, as it works in the current directory.
fn trust_command(consent: &Consent) -> String {
    const COMMAND: &str = "cli-team-bridge trust";
    let file = &consent.file.path;
    let with = |path: &Path| format!("{COMMAND} {}", shell_word(&path.to_string_lossy()));
    if !file.ends_with(PROJECT_FILE) {
        let here = find_project::current_directory().ok();
        let below = here.as_deref().and_then(|here| file.strip_prefix(here).ok());
        return with(below.unwrap_or(file));
    }
    let project = file.ancestors().nth(Path::new(PROJECT_FILE).components().count());
    match project {
        Some(project) if find_project::find(None).is_ok_and(|found| found.root == project) => {
            COMMAND.to_owned()
        }
        Some(project) => with(project),
        None => COMMAND.to_owned(),
    }
}
