//! Reads a plan file for a command, and says so if it is something else.

use std::path::{Path, PathBuf};

use crate::cli::{Failure, with_hint};
use crate::config::quoted;
use crate::scripted::Script;
use crate::workflow::plan::toml_plan::{self, LocatedDraft};

/// How the script of a plan is called beside it: `review.script.toml` for `review.toml`.
const SCRIPT: &str = ".script.toml";

/// The project's own configuration, which `trust` finds by the project.
const PROJECT_FILE: &str = ".claude/bridge.toml";

/// Reads a plan file.
pub(in crate::cli::commands) fn read_plan(path: &Path) -> Result<LocatedDraft, Failure> {
    let read = toml_plan::read(path, &path.display().to_string());
    read.map_err(|error| {
        if path.ends_with(PROJECT_FILE) {
            let project = "name the project's directory, or run `cli-team-bridge trust` in it";
            return with_hint(
                format!("{} is the file of a project, not a plan", quoted(path)),
                project,
            );
        }
        // Only a text that was read and is no plan may be a script.
        let is_other = error.to_string().contains("unknown key `agents`");
        if is_other && Script::load(path).is_ok() { of_script(path) } else { error.into() }
    })
}

/// Returns the error for a script in place of its plan.
fn of_script(path: &Path) -> Failure {
    let plan = plan_of(path).filter(|plan| plan.is_file());
    let hint = match plan {
        Some(plan) => {
            let (plan, script) = (quoted(&plan), quoted(path));
            format!("the plan is {plan}: `cli-team-bridge run {plan} --scripted {script}`")
        }
        None => format!("name the plan: `cli-team-bridge run PLAN --scripted {}`", quoted(path)),
    };
    with_hint(format!("{} is a script for --scripted, not a plan", quoted(path)), hint)
}

/// Returns the path of the plan that a script is beside, by its name.
fn plan_of(script: &Path) -> Option<PathBuf> {
    let name = script.file_name()?.to_str()?.strip_suffix(SCRIPT)?;
    Some(script.with_file_name(format!("{name}.toml")))
}
