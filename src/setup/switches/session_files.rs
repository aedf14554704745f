//! From which directories of a project a session reads the project's files, by client, as the clients were seen to do it.

use std::path::{Path, PathBuf};

use crate::setup::known_client::{ClientFile, Server, json_file, timeout_ms};
use crate::sys::fs::git_worktrees::Worktree;

/// A directory in which a client may be started, and the outermost one whose files it may read there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) directory: PathBuf,
    pub(super) root: PathBuf,
}

/// Returns the sessions of a project: in its root, and in these directories.
pub(super) fn sessions(project: &Path, directories: &[PathBuf]) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for directory in directories.iter().map(AsRef::as_ref).chain([project]) {
        let root = if directory.starts_with(project) {
            project.to_owned()
        } else {
            // Another worktree of the project.
            Worktree::around(directory).map_or_else(|| directory.to_owned(), |found| found.root)
        };
        let session = Session { directory: directory.to_owned(), root };
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    sessions
}

/// Returns the directories whose files a session in one of them reads, the nearest first.
pub fn directories_read(client: &str, root: &Path, directory: &Path) -> Vec<PathBuf> {
    let up_to = |last: &Path| {
        let around = directory.ancestors().take_while(|one| one.starts_with(last));
        around.map(Path::to_owned).collect::<Vec<_>>()
    };
    let found = match client {
        // For Claude Code this is `.mcp.json`, not its settings.
        "claude-code" | "droid" => up_to(root),
        "codex" => {
            let git = directory.ancestors().find(|one| one.join(".git").exists());
            git.map(|git| up_to(if git.starts_with(root) { git } else { root })).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    if found.is_empty() { vec![directory.to_owned()] } else { found }
}

/// Returns the file of other clients in a project that a client reads, too: with setup's entry, although setup writes it elsewhere.
pub fn shared_file(client: &str, directory: &Path, server: &Server) -> Option<ClientFile> {
    let entry = || server.entry_with(&[timeout_ms()]);
    (client == "qwen").then(|| json_file(directory.join(".mcp.json"), "mcpServers", entry()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn some_clients_read_the_files_of_the_directories_above() {
        let base = tempfile::tempdir().unwrap();
        let (root, deep) = (base.path().join("p"), base.path().join("p/sub/deep"));
        fs::create_dir_all(&deep).unwrap();
        let all = [&deep, &root.join("sub"), &root].map(Clone::clone);
        let read = |client: &str| directories_read(client, &root, &deep);
        for (client, expected) in
            [("claude-code", &all[..]), ("droid", &all), ("gemini", &all[..1]), ("qwen", &all[..1])]
        {
            assert_eq!(read(client), expected, "{client}");
        }
        assert_eq!(read("codex"), all[..1], "without a repository");
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(read("codex"), all);
        fs::create_dir(root.join("sub/.git")).unwrap();
        assert_eq!(read("codex"), all[..2]);
        assert_eq!(directories_read("codex", &root, base.path()), [base.path()]);
    }
}
