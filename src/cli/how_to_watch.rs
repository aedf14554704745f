//! The command line of `watch` that an orchestrator gives to its model.

use std::path::{Path, PathBuf};

use super::find_project;
use crate::sys::process;

/// The name of the program.
const NAME: &str = "cli-team-bridge";

/// Returns the command with which a model in the current directory watches a project: the short form if it suffices.
pub(super) fn watch_command(project: &Path) -> String {
    let search_path = std::env::var_os("PATH");
    let found = process::find_program(Path::new(NAME), search_path.as_deref());
    let real = |path: PathBuf| std::fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok().and_then(real);
    let program = match own {
        Some(own) if found.and_then(real).as_ref() != Some(&own) => quoted(&own),
        _ => NAME.to_owned(),
    };
    let is_found = find_project::find(None).is_ok_and(|found| found.root == project);
    if is_found {
        format!("{program} watch")
    } else {
        format!("{program} watch --project {}", quoted(project))
    }
}

/// Writes a path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("/a/b-c_1.d")), "/a/b-c_1.d");
        assert_eq!(quoted(Path::new("/a b/$(c)'s")), "'/a b/$(c)'\\''s'");
    }
}
