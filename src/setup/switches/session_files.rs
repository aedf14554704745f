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
        let session = session_in(project, directory);
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    sessions
}

/// Returns the session in a directory, which is in the project or in another worktree of its repository.
fn session_in(project: &Path, directory: &Path) -> Session {
    let root = if directory.starts_with(project) {
        project.to_owned()
    } else {
        Worktree::around(directory).map_or_else(|| directory.to_owned(), |found| found.root)
    };
    Session { directory: directory.to_owned(), root }
}

/// A directory whose files a client reads in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRead {
    pub directory: PathBuf,
    /// The outermost directory whose files count as the project's: that of the project, or of another worktree of its repository.
    pub root: PathBuf,
}

/// Returns the places of a project's files that a client reads in a session in one directory, the nearest first.
pub fn places_read_in(client: &str, project: &Path, directory: &Path) -> Vec<PlaceRead> {
    let Session { directory, root } = session_in(project, directory);
    let read = directories_read(client, &root, &directory).into_iter();
    read.map(|directory| PlaceRead { directory, root: root.clone() }).collect()
}

/// Returns the places of a project's files that a client reads in sessions in its root and in these directories, the root first.
pub fn places_read(client: &str, project: &Path, directories: &[PathBuf]) -> Vec<PlaceRead> {
    let mut all: Vec<PlaceRead> = Vec::new();
    for directory in [project].into_iter().chain(directories.iter().map(AsRef::as_ref)) {
        let read = places_read_in(client, project, directory).into_iter();
        let new: Vec<_> = read.filter(|place| !all.contains(place)).collect();
        all.extend(new);
    }
    all
}

/// Returns the directories whose files a session in one of them reads, the nearest first.
pub(super) fn directories_read(client: &str, root: &Path, directory: &Path) -> Vec<PathBuf> {
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

    #[test]
    fn in_another_worktree_a_client_reads_the_files_of_that_worktree() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (main, topic, deep) = (base.join("main"), base.join("topic"), base.join("topic/sub"));
        let own = main.join(".git/worktrees/topic");
        for folder in [&own, &deep] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", topic.join(".git").display())).unwrap();
        fs::write(topic.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        for (client, above) in [("claude-code", true), ("codex", true), ("gemini", false)] {
            let expected: Vec<_> = [&deep, &topic][..=usize::from(above)]
                .iter()
                .map(|&directory| PlaceRead { directory: directory.clone(), root: topic.clone() })
                .collect();
            assert_eq!(places_read_in(client, &main, &deep), expected, "{client}");
            let all = places_read(client, &main, std::slice::from_ref(&deep));
            assert_eq!((&all[0].directory, &all[1..]), (&main, &expected[..]), "{client}");
        }
    }
}
