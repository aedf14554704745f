//! The approval that the gates of a project's plan file need: when their workflow is created, when it is resumed, and before each
//! gate runs.

use std::path::Path;

use super::error::WorkflowError;
use super::plan::Plan;
use super::plan::toml_plan::{self, FileError};
use crate::bus::state::Workflow;
use crate::config::Brought;
use crate::domain::text::exactly::exact_words;
use crate::domain::workflow::PlanFile;
use crate::team::{Team, TeamError, trust_command};

/// Refuses the gates of a plan from a file of the project, unless the user has approved that file: a caller of the tool has named
/// the file, and not its programs. Returns what the workflow must remember; `None` without a gate.
pub(super) fn agreed(
    team: &Team,
    plan: &Plan,
    file: &Brought,
) -> Result<Option<PlanFile>, WorkflowError> {
    let gates = plan.steps.iter().filter_map(|step| {
        let gate = step.gate.as_ref()?;
        Some(format!("the gate of {} would run {}", step.name, exact_words(&gate.command)))
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

/// Refuses to resume a workflow with gates left, unless the approval that they need holds now.
pub(super) fn agreed_again(team: &Team, workflow: &Workflow) -> Result<(), WorkflowError> {
    let mut left = workflow.steps.iter();
    let is_left = left.any(|step| step.plan.gate.is_some() && !step.status.is_final());
    let Some(file) = workflow.plan_file.as_ref().filter(|_| is_left) else {
        return Ok(());
    };
    match team.is_approved(&brought(team, file)) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(why) => {
            let what = format!(
                "the workflow was not resumed: its gates come from the plan {:?}",
                file.place
            );
            return Err(TeamError::UnreadableApproval { what, why }.into());
        }
    }
    // The user is shown the gates as the file has them now, and only if its bytes are those of this workflow.
    match toml_plan::read_in(team.ground(), &file.place) {
        Ok((written, now)) if now == brought(team, file) => {
            Ok(team.agreed_to(&now, written.gates())?)
        }
        // The file may exist unchanged.
        Err(error) if error.is_fault() => Err(error.into()),
        _ => Err(WorkflowError::PlanChanged { place: file.place.clone() }),
    }
}

/// Why the gates of a workflow may not run.
#[derive(Debug)]
pub(super) enum Barred {
    /// The approval cannot be read now, which may change by itself.
    Now(String),
    /// The user revoked the approval with which the workflow was created or resumed.
    Ever(String),
}

/// Returns an error if the gates of a workflow may not run: the approval of its plan file no longer holds, or an approval cannot be
/// read.
pub(super) fn barred(team: &Team, workflow: &Workflow) -> Result<(), Barred> {
    if let Some(file) = &workflow.plan_file {
        let place = &file.place;
        match team.is_approved(&brought(team, file)) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Barred::Ever(format!(
                    "the gate was not run: it comes from the plan {place:?}, and the user revoked \
                     the approval of that file. After a new approval (`{}`), start the workflow \
                     again from its plan",
                    trust_command(Some(Path::new(place)))
                )));
            }
            Err(why) => {
                return Err(Barred::Now(format!(
                    "the gate was not run: it comes from the plan {place:?}, and {why}. When it \
                     can be read, start the workflow again from its plan"
                )));
            }
        }
    }
    // Without the variables that this file lets through, the gate would fail for a reason that is not its own.
    let letting = team.config().lets_into_gates();
    match letting.map(|file| (file, team.is_approved(&file.file))) {
        Some((file, Err(why))) => Err(Barred::Now(format!(
            "the gate was not run: {} sets its environment in `gate_env`, and {why}. When it can \
             be read, start the workflow again from its plan",
            file.title()
        ))),
        _ => Ok(()),
    }
}

/// Identifies the file as it was when the workflow was created, in the project as this bridge sees it.
fn brought(team: &Team, file: &PlanFile) -> Brought {
    Brought { path: team.ground().join(&file.place), sha256: file.sha256.clone() }
}
