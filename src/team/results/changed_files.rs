//! The files that changed in a turn, according to the agent's own calls and to git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use crate::acp::ToolCall;
use crate::domain::task::result::{Change, ChangeSource, FileChange};
use crate::domain::wait_times;
use crate::sys::fs::real_path::resolve;
use crate::team::permissions::look_at_paths::PathExaminer;

/// The directories that shown paths are relative to.
#[derive(Clone)]
pub(crate) struct PathBase {
    pub(crate) project: PathBuf,
    pub(crate) cwd: PathBuf,
    /// The bus directory: no tool shows a path in it.
    pub(crate) bus: PathBuf,
}

impl PathBase {
    /// Shows all paths as people know them. If the disk does not answer in time, they are shown as their agent wrote them.
    pub(crate) async fn shown_all(
        self,
        changes: Vec<(String, Change)>,
        looks: PathExaminer,
    ) -> Vec<(String, Change)> {
        let paths: BTreeSet<String> = changes.iter().map(|(path, _)| path.clone()).collect();
        let place = self.clone();
        let looking = looks.within(wait_times::LOOK_AT_PATHS, move |until| {
            let shown = paths.into_iter().map(|path| {
                let is_late = Instant::now() > until;
                let real = if is_late { None } else { resolve(&place.cwd, path.as_ref()) };
                (place.shown(&path, real), path)
            });
            Some(shown.map(|(shown, path)| (path, shown)).collect())
        });
        let shown: BTreeMap<String, Option<String>> = looking.await.unwrap_or_default();
        let show = |(path, change): (String, Change)| {
            let shown = shown.get(&path).cloned();
            let shown = shown.unwrap_or_else(|| self.shown(&path, None));
            shown.map(|shown| (shown, change))
        };
        changes.into_iter().filter_map(show).collect()
    }

    fn shown(&self, path: &str, real: Option<PathBuf>) -> Option<String> {
        let place = real.unwrap_or_else(|| self.cwd.join(path));
        if place.starts_with(&self.bus) {
            return None;
        }
        let inner = place.strip_prefix(&self.project).unwrap_or(&place);
        Some(inner.to_string_lossy().into_owned())
    }
}

/// Merges the changes according to calls with those according to git. If both report a file, git knows better.
pub(crate) fn files(
    by_calls: Vec<(String, Change)>,
    by_git: BTreeMap<String, Change>,
) -> Vec<FileChange> {
    let mut files: BTreeMap<String, FileChange> = BTreeMap::new();
    for (path, change) in by_calls {
        let file = files.entry(path.clone()).or_insert_with(|| FileChange {
            path,
            change,
            sources: vec![ChangeSource::ToolCall],
        });
        // A file that was created and then edited is still new.
        file.change = match (file.change, change) {
            (Change::Created, Change::Edited) => Change::Created,
            (_, later) => later,
        };
    }
    for (path, change) in by_git {
        let file = files.entry(path.clone()).or_insert_with(|| FileChange {
            path,
            change,
            sources: Vec::new(),
        });
        file.change = change;
        file.sources.push(ChangeSource::Git);
    }
    files.into_values().collect()
}

/// Returns the changes of a call that did not fail: the files of its diffs, else its locations if its kind changes files.
pub(crate) fn changes(call: &ToolCall) -> Vec<(String, Change)> {
    if call.status() == "failed" {
        return Vec::new();
    }
    let known = call.known();
    if let Some(diffs) = &known.diffs {
        let change = |is_new| {
            if is_new { Change::Created } else { Change::Edited }
        };
        return diffs.iter().map(|diff| (diff.path.clone(), change(diff.is_new))).collect();
    }
    let change = match call.kind() {
        "edit" => Change::Edited,
        "delete" => Change::Deleted,
        "move" => Change::Moved,
        _ => return Vec::new(),
    };
    // A rejected call never completes.
    if call.status() != "completed" {
        return Vec::new();
    }
    let places = known.locations.iter().flatten();
    places.map(|path| (path.clone(), change)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::{Diff, ToolCallUpdate, ToolCalls};

    fn call(id: &str, kind: &str, status: &str, locations: &[&str]) -> ToolCallUpdate {
        ToolCallUpdate {
            id: id.into(),
            title: Some(format!("{kind} {id}")),
            kind: Some(kind.into()),
            status: Some(status.into()),
            locations: Some(locations.iter().map(|path| (*path).to_owned()).collect()),
            ..ToolCallUpdate::default()
        }
    }

    fn seen(updates: Vec<ToolCallUpdate>) -> ToolCalls {
        let mut calls = ToolCalls::default();
        for update in updates {
            calls.see(update);
        }
        calls
    }

    #[tokio::test]
    async fn files_come_from_calls_that_change_them_and_from_git() {
        let project = tempfile::tempdir().unwrap();
        let project = project.path().canonicalize().unwrap();
        let place = PathBase {
            project: project.clone(),
            cwd: project.join("src"),
            bus: project.join(".claude/bridge"),
        };
        std::fs::create_dir(project.join("src")).unwrap();
        let whole = project.join("src/whole.rs");
        let mut new = call("1", "edit", "completed", &["new.rs"]);
        new.diffs = Some(vec![Diff { path: "new.rs".into(), is_new: true }]);
        let calls = seen(vec![
            new,
            call("2", "edit", "completed", &["new.rs", whole.to_str().unwrap()]),
            call("3", "read", "completed", &["read.rs"]),
            call("4", "edit", "failed", &["failed.rs"]),
            call("5", "delete", "completed", &["../gone.rs"]),
            call("6", "edit", "pending", &["not-allowed.rs"]),
            call("7", "edit", "completed", &["../.claude/bridge/log/1.jsonl"]),
            call("8", "move", "completed", &["/elsewhere/to.rs"]),
        ]);
        let by_git = BTreeMap::from([
            ("src/whole.rs".to_owned(), Change::Created),
            ("shell.txt".to_owned(), Change::Edited),
        ]);
        let by_calls = calls.all().into_iter().flat_map(changes).collect();
        let by_calls = place.shown_all(by_calls, PathExaminer::default()).await;
        let files = files(by_calls, by_git);
        let files: Vec<_> = files
            .iter()
            .map(|file| (file.path.as_str(), file.change, file.sources.as_slice()))
            .collect();
        let (call, git) = (ChangeSource::ToolCall, ChangeSource::Git);
        let expected: [(&str, Change, &[ChangeSource]); 5] = [
            ("/elsewhere/to.rs", Change::Moved, &[call]),
            ("gone.rs", Change::Deleted, &[call]),
            ("shell.txt", Change::Edited, &[git]),
            ("src/new.rs", Change::Created, &[call]),
            ("src/whole.rs", Change::Created, &[call, git]),
        ];
        assert_eq!(files, expected);
    }
}
