//! Reads a plan file for a command, and says so if it is something else.

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::{Failure, with_hint};
use crate::config::quoted;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::suggest::nearest;
use crate::scripted::Script;
use crate::workflow::plan::toml_plan::{self, LocatedDraft};

/// How the script of a plan is called beside it: `review.script.toml` for `review.toml`.
const SCRIPT: &str = ".script.toml";

/// The project's own configuration, which `trust` finds by the project.
pub(in crate::cli::commands) const PROJECT_FILE: &str = ".claude/bridge.toml";

/// Entries of a directory among which a similar name is sought: more than a person keeps in one, and read within moments.
const MOST_ENTRIES: usize = 10_000;

/// What to do about a plan that does not exist, for who does not know plans yet.
const NO_PLAN: &str = "name the plan by its path from here; a plan is a TOML file of `[[steps]]`, each with `name`, `agent` and `prompt`";

/// Reads a plan file.
pub(in crate::cli::commands) fn read_plan(path: &Path) -> Result<LocatedDraft, Failure> {
    if let Some(failure) = missing_file("plan", path, NO_PLAN) {
        return Err(failure);
    }
    let read = toml_plan::read(path, &path.shown().to_string());
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

/// Returns the error for a file that does not exist, with the files that the user may have meant. If none has a similar name,
/// `otherwise` is what to do.
pub(in crate::cli::commands) fn missing_file(
    what: &str,
    path: &Path,
    otherwise: &str,
) -> Option<Failure> {
    // A link to nothing exists, and reading it says why it cannot be read.
    if path.symlink_metadata().err()?.kind() != io::ErrorKind::NotFound {
        return None;
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let missing = format!("there is no {what} {}", quoted(path));
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) => {
            let folder = quoted(folder);
            let why = match error.kind() {
                io::ErrorKind::NotFound => format!("{missing}: there is no directory {folder}"),
                _ => format!("{missing}: the directory {folder} cannot be read"),
            };
            return Some(with_hint(why, otherwise));
        }
    };
    let files = entries.take(MOST_ENTRIES).flatten().filter(|entry| entry.path().is_file());
    let names: Vec<String> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = nearest(
        &name,
        names.iter().filter(|name| Path::new(name).extension().is_some_and(|end| end == "toml")),
    );
    let near: Vec<_> = near.iter().map(|name| quoted(&path.with_file_name(name))).collect();
    Some(if near.is_empty() {
        with_hint(missing, otherwise)
    } else {
        with_hint(missing, format!("did you mean {}?", near.join(" or ")))
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

/// Returns the path of the script beside a plan, if there is one.
pub(super) fn script_of(plan: &Path) -> Option<PathBuf> {
    let name = plan.file_name()?.to_str()?.strip_suffix(".toml")?;
    let script = plan.with_file_name(format!("{name}{SCRIPT}"));
    script.is_file().then_some(script)
}

/// Returns the path of the plan that a script is beside, by its name.
fn plan_of(script: &Path) -> Option<PathBuf> {
    let name = script.file_name()?.to_str()?.strip_suffix(SCRIPT)?;
    Some(script.with_file_name(format!("{name}.toml")))
}
