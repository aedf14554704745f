//! The yes that the gates of a project's plan file need: when their workflow is made, when it is resumed, and before each of them runs.

use super::error::WorkflowError;
use super::plan::Plan;
use super::plan::toml_plan::{self, FileError};
use crate::bus::state::Workflow;
use crate::config::Brought;
use crate::domain::workflow::PlanFile;
use crate::team::{Team, TeamError};

/// Refuses the gates of a plan that was read from a file of the project, unless the user has said yes to that file: whoever calls for
/// it has named the file, and not the programs. Returns what the workflow has to remember, which is nothing without a gate.
pub(super) fn agreed(
    team: &Team,
    plan: &Plan,
    file: &Brought,
) -> Result<Option<PlanFile>, WorkflowError> {
    let gates = plan.steps.iter().filter_map(|step| {
        let gate = step.gate.as_ref()?;
        Some(format!("the gate of {} would run {:?}", step.name, gate.command))
    });
    let gates: Vec<_> = gates.collect();
    if gates.is_empty() {
        return Ok(None);
    }
    team.agreed_to(file, gates)?;
    let place = file.path.strip_prefix(team.ground()).unwrap_or(&file.path);
    let Some(place) = place.to_str() else {
        return Err(WorkflowError::File(FileError::Refused {
            file: file.quoted(),
            problem: "has gates, and a name that is not UTF-8",
        }));
    };
    Ok(Some(PlanFile { place: place.to_owned(), sha256: file.sha256.clone() }))
}

/// Refuses to go on with the gates that are left of a workflow, unless the yes that they need counts here and now.
pub(super) fn agreed_again(team: &Team, workflow: &Workflow) -> Result<(), WorkflowError> {
    let mut left = workflow.steps.iter();
    let is_left = left.any(|step| step.plan.gate.is_some() && !step.status.is_final());
    let Some(file) = workflow.plan_file.as_ref().filter(|_| is_left) else {
        return Ok(());
    };
    match team.has_yes_to(&brought(team, file)) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(why) => {
            let what = format!(
                "the workflow was not resumed: its gates come from the plan {:?}",
                file.place
            );
            return Err(TeamError::UnreadableYes { what, why }.into());
        }
    }
    // What the user is shown is read from the file itself, and only if a yes to it is one to these gates.
    match toml_plan::read_in(team.ground(), &file.place) {
        Ok((written, now)) if now == brought(team, file) => {
            Ok(team.agreed_to(&now, written.gates())?)
        }
        // It may be there unchanged.
        Err(error) if error.is_fault() => Err(error.into()),
        _ => Err(WorkflowError::PlanChanged { place: file.place.clone() }),
    }
}

/// Why no gate of a workflow is run.
#[derive(Debug)]
pub(super) enum Barred {
    /// What it needs cannot be read, which may go away by itself.
    Now(String),
    /// The yes that the workflow was made or resumed with has been taken back.
    Ever(String),
}

/// Says why no gate of a workflow is run, if none is: the yes to its plan file does not count any more, or a yes cannot be read.
pub(super) fn barred(team: &Team, workflow: &Workflow) -> Result<(), Barred> {
    if let Some(file) = &workflow.plan_file {
        let place = &file.place;
        match team.has_yes_to(&brought(team, file)) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Barred::Ever(format!(
                    "the gate was not run: it comes from the plan {place:?}, and the user revoked \
                     the approval of that file. After a new approval (`cli-team-bridge trust \
                     {place:?}`), create the workflow again with `create_workflow`"
                )));
            }
            Err(why) => {
                return Err(Barred::Now(format!(
                    "the gate was not run: it comes from the plan {place:?}, and {why}. When it \
                     can be read, create the workflow again with `create_workflow`"
                )));
            }
        }
    }
    // Without what that file lets through, the gate would fail for another reason than its own.
    let letting = team.config().lets_into_gates();
    match letting.map(|file| team.has_yes_to(file)) {
        Some(Err(why)) => Err(Barred::Now(format!(
            "the gate was not run: the project's own bridge.toml sets its environment in \
             `gate_env`, and {why}. When it can be read, create the workflow again with \
             `create_workflow`"
        ))),
        _ => Ok(()),
    }
}

/// Names the file as it was when the workflow was made, in the project as this bridge sees it.
fn brought(team: &Team, file: &PlanFile) -> Brought {
    Brought { path: team.ground().join(&file.place), sha256: file.sha256.clone() }
}
