//! Names the files of a project that make an agent's own program run something, such as hooks and MCP servers. A program asks about them in
//! a terminal, if at all; started over ACP it asks nobody.

use std::path::Path;

use crate::doctor::finding::{Finding, Subject};

/// The files in a project, each with the agents whose programs read it.
const FILES: [(&str, &str); 9] = [
    (".mcp.json", "claude-code"),
    (".claude/settings.json", "claude-code"),
    (".claude/settings.local.json", "claude-code"),
    (".gemini/settings.json", "gemini"),
    (".qwen/settings.json", "qwen"),
    (".factory/mcp.json", "droid"),
    (".factory/settings.json", "droid"),
    (".factory/settings.local.json", "droid"),
    (".factory/hooks.json", "droid"),
];

/// Names those that are there, whatever they are: a link may lead to a file that the program reads.
pub(crate) fn examine(project: &Path) -> Option<Finding> {
    let there = FILES.iter().filter(|(file, _)| project.join(file).symlink_metadata().is_ok());
    let named: Vec<_> = there.map(|(file, agent)| format!("`{file}` ({agent})")).collect();
    if named.is_empty() {
        return None;
    }
    let says = format!(
        "the agents' own programs read {}, and run hooks and MCP servers in them without asking you",
        named.join(", ")
    );
    let remedy = "if this repository is not yours, look at them before you start an agent here";
    Some(Finding::note(&Subject::Project, "agents' files", says).with_remedy(remedy))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_files_that_are_there_are_named() {
        let project = tempfile::tempdir().unwrap();
        assert!(examine(project.path()).is_none());
        fs::create_dir(project.path().join(".qwen")).unwrap();
        assert!(examine(project.path()).is_none(), "a directory alone runs nothing");
        fs::write(project.path().join(".qwen/settings.json"), "{}").unwrap();
        std::os::unix::fs::symlink("nowhere", project.path().join(".mcp.json")).unwrap();
        let says = examine(project.path()).unwrap().says;
        assert!(
            says.contains("`.mcp.json` (claude-code), `.qwen/settings.json` (qwen), and"),
            "{says}"
        );
    }
}
