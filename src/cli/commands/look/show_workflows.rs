//! `workflows`: the workflows of a team with their steps, the newest first.

use clap::Args;

use super::lines::rows_as_lines as cells;
use super::lines::table::aligned;
use super::open_to_look::{Place, print_json};
use crate::cli::{Failure, output};
use crate::view::{Moment, WorkflowTree};

/// Which workflows to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge workflows         all open workflows, and the last ended ones
  cli-team-bridge run --resume      resume an interrupted one")]
pub(crate) struct WorkflowsArguments {
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &WorkflowsArguments) -> Result<(), Failure> {
    let bus = arguments.place.open_once()?;
    let now = bus.as_ref().map_or(0, |bus| bus.now().wall_ms);
    let trees = bus.as_ref().map(|bus| {
        let all = bus.state().workflows().into_iter();
        let is_held = |session| bus.is_held(session);
        all.map(|workflow| WorkflowTree::of(workflow, bus.state()).led_by(workflow, &is_held))
            .collect::<Vec<_>>()
    });
    let trees = trees.unwrap_or_default();
    if arguments.place.json {
        print_json(&trees);
        return Ok(());
    }
    if trees.is_empty() && bus.is_some() {
        output::tell("There are no workflows.");
    }
    for (index, tree) in trees.iter().enumerate() {
        if index > 0 {
            output::say("");
        }
        for line in aligned(&[cells::workflow(tree, Moment(now))], 0) {
            output::say_fitted(&line);
        }
        let steps: Vec<_> = tree.steps.iter().map(|step| cells::step(step, Moment(now))).collect();
        for line in aligned(&steps, 2) {
            output::say_fitted(&line);
        }
    }
    Ok(())
}
