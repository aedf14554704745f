//! How files differ from what is committed, as git has it: of few files, with bounds of time and length, and without running anything that
//! the repository names.
//!
//! Git compares the files that it tracks. A file that is new to it, and not ignored, is read here as an addition.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use tokio::time::{Instant, timeout_at};

use super::git_query::{GitTrouble, Repository};
use super::git_snapshot::{GitSnapshot, State};
use crate::domain::text::counted::counted;
use crate::domain::{limits, wait_times};
use crate::sys::fs::bounded_file;

/// How `git diff` compares: without colours and programs of the repository, and in one form whatever the user has set.
const DIFF: [&str; 12] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--no-relative",
    "--ignore-submodules=all",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "-O/dev/null",
];

/// Where a file with a zero byte has one: git looks no further either.
const BINARY_BYTES: usize = 8_000;

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct DiffsWanted {
    /// The directory in which the agent works.
    pub cwd: PathBuf,
    /// The project, to which the paths are relative.
    pub project: PathBuf,
    pub paths: Vec<String>,
    /// The environment of this process, of which git gets little.
    pub environment: Vec<(OsString, OsString)>,
}

/// How a file differs from what is committed, as git has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The path in the project.
    pub path: String,
    /// The unified diff, or why there is none.
    pub diff: Result<String, String>,
    /// Whether the diff is longer, and was cut.
    pub is_cut: bool,
}

/// Compares files of an agent's repository with what is committed. Each path has its answer, in the order given: for what git cannot say,
/// or not in time, it is why. Outside a repository there is none at all.
pub async fn file_diffs(wanted: DiffsWanted) -> Vec<FileDiff> {
    let until = Instant::now() + wait_times::WEB_DIFFS;
    let DiffsWanted { cwd, project, paths, environment } = wanted;
    let placing = tokio::task::spawn_blocking(move || place(&cwd, &project, &environment));
    let Ok(Ok(Some((repository, project)))) = timeout_at(until, placing).await else {
        return Vec::new();
    };
    let inner = |path: &String| {
        let whole = project.join(path);
        let inner = whole.strip_prefix(repository.root()).ok()?;
        let is_plain = inner.components().all(|part| matches!(part, Component::Normal(_)));
        inner.to_str().filter(|_| is_plain).map(str::to_owned)
    };
    let files: Vec<_> = paths.into_iter().map(|path| (inner(&path), path)).collect();
    let asked: Vec<_> =
        files.iter().filter_map(|(inner, _)| inner.clone()).take(limits::DIFF_FILES).collect();
    let look = timeout_at(until, Comparison::begin(repository, &asked)).await;
    let comparison = look.unwrap_or(Err(GitTrouble::Slow));
    let mut left = limits::DIFFS_BYTES;
    let mut diffs = Vec::new();
    for (inner, path) in files {
        let compared = match (&inner, &comparison) {
            (None, _) => Err("it lies outside the agent's repository".to_owned()),
            (Some(inner), _) if !asked.contains(inner) => {
                let most = counted(limits::DIFF_FILES, "file");
                Err(format!("not compared: a page compares {most}"))
            }
            (_, Err(trouble)) => Err(trouble.to_string()),
            _ if left == 0 => Err("not compared: the files before it differ by much".to_owned()),
            (Some(inner), Ok(comparison)) => {
                let diff = timeout_at(until, comparison.diff(inner, left)).await;
                diff.unwrap_or_else(|_| Err("git has not compared it in time".to_owned()))
            }
        };
        let (diff, is_cut) = match compared {
            Ok((text, is_cut)) => {
                left = left.saturating_sub(text.len());
                (Ok(text), is_cut)
            }
            Err(why) => (Err(why), false),
        };
        diffs.push(FileDiff { path, diff, is_cut });
    }
    diffs
}

/// Returns the repository in which an agent works, and the project, both as git sees them: with all links resolved.
fn place(
    cwd: &Path,
    project: &Path,
    environment: &[(OsString, OsString)],
) -> Option<(Repository, PathBuf)> {
    let (cwd, project) = (cwd.canonicalize().ok()?, project.canonicalize().ok()?);
    let repository = Repository::of(&cwd, environment)?;
    Some((repository.at_root(), project))
}

/// A repository of which git has said which files differ.
struct Comparison {
    repository: Repository,
    settings: Vec<String>,
    look: GitSnapshot,
}

impl Comparison {
    async fn begin(repository: Repository, paths: &[String]) -> Result<Self, GitTrouble> {
        let mut settings = repository.filters_off().await?;
        let largest = format!("core.bigFileThreshold={}", limits::DIFF_FILE_BYTES);
        settings
            .extend(["--literal-pathspecs", "-c", "core.quotePath=false", "-c"].map(str::to_owned));
        settings.push(largest);
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=all",
            "--",
        ];
        // Without a path git would look at all files.
        let paths = paths.iter().map(String::as_str);
        let arguments: Vec<_> = status.into_iter().chain(paths).collect();
        let output = if arguments.len() == status.len() {
            Vec::new()
        } else {
            repository.git(&settings, &arguments).await?
        };
        let look = GitSnapshot::parse(&output).unwrap_or_default();
        Ok(Self { repository, settings, look })
    }

    /// Returns how a file differs, in at most so many bytes, and whether there is more; or why nothing can be shown.
    async fn diff(&self, path: &str, most: usize) -> Result<(String, bool), String> {
        let Some(state) = self.look.dirty.get(path) else {
            return Err("it is as it is committed, or git ignores it".to_owned());
        };
        let most = most.min(limits::DIFF_BYTES);
        let arguments: Vec<_> = DIFF.into_iter().chain([self.look.tree(), "--", path]).collect();
        let bytes = u64::try_from(most).unwrap_or(u64::MAX);
        let compared = self.repository.beginning(&self.settings, &arguments, bytes).await;
        let (output, is_cut) = compared.map_err(|trouble| trouble.to_string())?;
        if !output.is_empty() {
            let text = String::from_utf8_lossy(&output);
            if text.lines().any(|line| line.starts_with("Binary files ")) {
                return Err(unreadable());
            }
            return Ok(cut(&text, is_cut));
        }
        if !matches!(state, State::New) {
            return Err("git shows no difference".to_owned());
        }
        let file = self.repository.root().join(path);
        let reading = tokio::task::spawn_blocking(move || added(&file, most));
        reading.await.map_err(|error| error.to_string())?
    }
}

fn unreadable() -> String {
    format!("it is no text, or longer than {} MiB", limits::DIFF_FILE_BYTES / (1024 * 1024))
}

/// Returns a file that git does not track as an addition. A link is not followed.
fn added(file: &Path, most: usize) -> Result<(String, bool), String> {
    let failed = |error: std::io::Error| format!("it is new, and cannot be read: {error}");
    let opened = bounded_file::open_no_link(file).map_err(failed)?;
    let mut bytes = Vec::new();
    opened.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0) {
        return Err(unreadable());
    }
    let is_cut = bytes.len() > most;
    bytes.drain(most.min(bytes.len())..);
    let text: String = String::from_utf8_lossy(&bytes)
        .split_inclusive('\n')
        .flat_map(|line| ["+", line])
        .collect();
    if text.is_empty() { Err("it is new, and empty".to_owned()) } else { Ok(cut(&text, is_cut)) }
}

/// Cuts a text at the last whole line of so many.
fn cut(text: &str, is_cut: bool) -> (String, bool) {
    let whole = if is_cut { text.rfind('\n').map_or(text, |end| &text[..=end]) } else { text };
    let end = whole.match_indices('\n').nth(limits::DIFF_LINES - 1).map(|(at, _)| at + 1);
    match end.filter(|end| *end < whole.len()) {
        Some(end) => (whole[..end].to_owned(), true),
        None => (whole.to_owned(), is_cut),
    }
}

#[cfg(test)]
mod tests;
