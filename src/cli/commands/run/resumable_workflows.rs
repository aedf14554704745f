//! `run --resume` without an id: the workflows of the project that can be resumed. Nothing is written.

use crate::bus::Bus;
use crate::bus::state::Workflow;
use crate::cli::find_project::Project;
use crate::cli::{Failure, open_bus, output};
use crate::domain::ids::SessionId;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::time::iso8601;
use crate::domain::workflow::WorkflowStatus;
use crate::view::{WorkflowTree, trials_in_words};

/// Prints a line for each workflow that can be resumed, newest first.
pub(super) fn list(project: &Project) -> Result<(), Failure> {
    let bus = open_bus::open_present_bus(&project.bus_directory())?;
    let lines = bus.as_ref().map(lines).unwrap_or_default();
    if lines.is_empty() {
        let trials = bus.map_or(0, |bus| {
            bus.look(|state| {
                let all = state.workflows().into_iter();
                all.filter(|workflow| workflow.is_interrupted_trial()).count()
            })
        });
        let root = project.root.shown();
        output::tell(&match trials {
            0 => format!("no workflow of {root} is interrupted; `run FILE` starts one"),
            some => format!(
                "no workflow of {root} can be resumed: it has {}; `run FILE` starts one",
                trials_in_words(some)
            ),
        });
        return Ok(());
    }
    output::tell("interrupted workflows; resume one with `cli-team-bridge run --resume ID`:");
    for line in lines {
        output::say_fitted(&line);
    }
    Ok(())
}

fn lines(bus: &Bus) -> Vec<String> {
    let mut all: Vec<Workflow> = bus.look(|state| state.workflows().into_iter().cloned().collect());
    all.retain(|workflow| can_be_resumed(workflow, |owner| bus.is_held(owner)));
    let trees = bus.look(|state| {
        let trees = all.iter().map(|workflow| WorkflowTree::of(workflow, state));
        trees.collect::<Vec<_>>()
    });
    trees.iter().map(line).collect()
}

/// Returns whether no live process leads an unfinished workflow. One that a killed process led counts as running until that is noticed.
pub(in crate::cli::commands) fn can_be_resumed(
    workflow: &Workflow,
    is_live: impl Fn(SessionId) -> bool,
) -> bool {
    match workflow.status {
        _ if workflow.is_trial => false,
        WorkflowStatus::Interrupted => true,
        status => !status.is_final() && !workflow.owner.is_some_and(is_live),
    }
}

fn line(tree: &WorkflowTree) -> String {
    let created = iso8601(tree.created_at.0);
    format!("{}  {created}  {}  {}", tree.workflow_id, tree.progress(), tree.name)
}
