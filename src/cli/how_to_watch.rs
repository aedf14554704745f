//! The command line of `watch` that an orchestrator names to its model.

use std::path::{Path, PathBuf};

use super::find_project;
use crate::domain::text::shell_word::shell_word;
use crate::sys::process;

/// What the program is called.
const NAME: &str = "cli-team-bridge";

/// Returns the command with which a model in the current directory watches a project: the short one where that will do.
pub(super) fn watch_command(project: &Path) -> String {
    let search_path = std::env::var_os("PATH");
    let found = process::find_program(Path::new(NAME), search_path.as_deref());
    let real = |path: PathBuf| std::fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok().and_then(real);
    let program = match own {
        Some(own) if found.and_then(real).as_ref() != Some(&own) => {
            shell_word(&own.to_string_lossy())
        }
        _ => NAME.to_owned(),
    };
    let is_found = find_project::find(None).is_ok_and(|found| found.root == project);
    if is_found {
        format!("{program} watch")
    } else {
        format!("{program} watch --project {}", shell_word(&project.to_string_lossy()))
    }
}
