//! Asks git: a bounded child process that writes nothing into the repository and runs nothing that the repository names.
//!
//! A failure does no harm: the caller reports what is unknown, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::io::AsyncReadExt;

use super::git_snapshot::{GitSnapshot, Mark, committed};
use crate::domain::task::result::Change;
use crate::domain::wait_times;
use crate::supervisor::{self, ChildSpec, SpawnError};
use crate::sys::fs::{bounded_file, disk};

/// How much of git's output is read: enough for some ten thousand files.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// How much of a `.git` file is read: it holds one path.
const LINK_BYTES: u64 = 8 * 1024;

/// The variables that git gets of our environment: enough to be found and to know its user's settings, and no `GIT_*`.
const PASSED: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// Further variables for git. It takes no lock of the repository, where an agent may be committing; it speaks English; and it
/// fetches nothing, as the transport, too, is a program that the repository names.
const SET: [(&str, &str); 4] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
];

/// Turns off the programs that a repository may name, and a file that it may name and that need not end. Git also ignores a bare repository among the files of a project (from git
/// 2.38 on; for earlier versions [`Repository::place`] names the right one).
const FIXED: [&str; 11] = [
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "status.submoduleSummary=false",
    "-c",
    "diff.orderFile=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
];

/// How many filters a repository may name: Git LFS names one. Each takes three of git's arguments.
const MOST_FILTERS: usize = 64;

/// Returns whether git tracks anything in a directory, as far as git can be asked.
///
/// If it cannot (it is slow, or the repository is another user's, as in many containers), the answer is no, with a warning. A yes
/// would keep the bus from being opened at all, and a bus from a clone is not trusted anyway.
pub async fn is_tracked(directory: &Path, environment: Vec<(OsString, OsString)>) -> bool {
    // As git sees it: with all links resolved.
    let Ok(directory) = directory.canonicalize() else {
        return false;
    };
    let around = directory.parent().unwrap_or(&directory);
    let Some(repository) = Repository::of(around, &environment) else {
        return false;
    };
    // Git runs in the directory itself, as its path need not be text.
    let repository = Repository { project: directory, ..repository };
    match repository.git(&[], &["ls-files", "-z", "--", "."]).await {
        Ok(files) => !files.is_empty(),
        Err(GitTrouble::NoGit) => false,
        Err(GitTrouble::Long) => true,
        Err(trouble) => {
            tracing::warn!("cannot tell whether git tracks the bus: {trouble}");
            false
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// The directory that has `.git`.
    root: PathBuf,
    /// The project: the root or a directory in it.
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// Why git has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum GitTrouble {
    #[error("git is not installed")]
    NoGit,
    /// It could not be started, or its output not be read.
    #[error("failed to run git: {0}")]
    Unheard(String),
    #[error("git failed: {0}")]
    Refused(String),
    #[error("git took longer than {} s", wait_times::GIT.as_secs())]
    Slow,
    #[error("git's output is too long")]
    Long,
}

impl Repository {
    /// Finds the repository of a project by searching upwards for `.git`.
    pub(crate) fn of(project: &Path, environment: &[(OsString, OsString)]) -> Option<Self> {
        let root = project.ancestors().find(|directory| is_repository(&directory.join(".git")))?;
        let passed = |(name, _): &&(OsString, OsString)| PASSED.iter().any(|known| name == known);
        let mut environment: Vec<_> = environment.iter().filter(passed).cloned().collect();
        environment.extend(SET.map(|(name, value)| (name.into(), value.into())));
        Some(Self { root: root.to_owned(), project: project.to_owned(), environment })
    }

    /// Looks at the working tree, and at the files in `also`.
    pub(super) async fn look(
        &self,
        also: &BTreeMap<String, super::git_snapshot::State>,
    ) -> Result<GitSnapshot, GitTrouble> {
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--",
            ".",
        ];
        let filters_off = self.filters_off().await?;
        let output = self.git(&filters_off, &status).await?;
        let mut look = GitSnapshot::parse(&output)
            .ok_or_else(|| GitTrouble::Unheard("its output is not understood".to_owned()))?;
        let paths: Vec<String> = look.dirty.keys().chain(also.keys()).cloned().collect();
        let root = self.root.clone();
        let marking = tokio::task::spawn_blocking(move || marks(&root, paths));
        look.marks = marking.await.map_err(|error| GitTrouble::Unheard(error.to_string()))?;
        Ok(look)
    }

    /// Returns the changes between the commits of two snapshots.
    pub(super) async fn commits(
        &self,
        before: &GitSnapshot,
        after: &GitSnapshot,
    ) -> Result<BTreeMap<String, Change>, GitTrouble> {
        if before.head == after.head {
            return Ok(BTreeMap::new());
        }
        let (from, to) = (before.tree(), after.tree());
        let diff = [
            "diff-tree",
            "--no-ext-diff",
            "--no-textconv",
            "-r",
            "-z",
            "--no-renames",
            "--name-status",
            from,
            to,
            "--",
            ".",
        ];
        Ok(committed(&self.git(&[], &diff).await?))
    }

    /// Returns the settings that turn off every filter that any configuration names: git runs filters on files that seem changed.
    ///
    /// Taking the attributes from elsewhere (`--attr-source`) is not enough: those in `.git/info` still count.
    pub(super) async fn filters_off(&self) -> Result<Vec<String>, GitTrouble> {
        let keys = self.git(&[], &["config", "-z", "--list", "--name-only"]).await?;
        settings_against(&keys)
    }

    /// Returns the options that name the repository that [`Repository::of`] found, so that git uses no nearer one.
    fn place(&self) -> Vec<OsString> {
        if !self.is_ours() {
            // If named explicitly, git would skip its check of the owner (`safe.directory`).
            return Vec::new();
        }
        let named = |option: &str, path: &Path| {
            let mut word = OsString::from(option);
            word.push(path);
            word
        };
        vec![named("--git-dir=", &self.root.join(".git")), named("--work-tree=", &self.root)]
    }

    /// Returns whether all parts of the repository whose owner git checks belong to this user. In a linked worktree `.git` is a
    /// file that names the directory.
    fn is_ours(&self) -> bool {
        let named = self.root.join(".git");
        if !disk::belongs_to_us(&self.root) || !disk::belongs_to_us(&named) {
            return false;
        }
        // Whatever is there is read only up to the length of a path.
        let text = bounded_file::read(&named, LINK_BYTES).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let directory = text.and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()));
        directory.is_none_or(|directory| disk::belongs_to_us(&self.root.join(directory)))
    }

    /// Returns the same repository, asked from its root: paths are relative to it.
    pub(super) fn at_root(self) -> Self {
        Self { project: self.root.clone(), ..self }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs git within limits of time and output. A child above them is killed.
    pub(super) async fn git(
        &self,
        settings: &[String],
        arguments: &[&str],
    ) -> Result<Vec<u8>, GitTrouble> {
        let (output, is_cut) = self.beginning(settings, arguments, MOST_BYTES).await?;
        if is_cut { Err(GitTrouble::Long) } else { Ok(output) }
    }

    /// Runs git, and returns at most so many bytes of its output, and whether there were more. A child that has more is killed.
    pub(super) async fn beginning(
        &self,
        settings: &[String],
        arguments: &[&str],
        most: u64,
    ) -> Result<(Vec<u8>, bool), GitTrouble> {
        let fixed = FIXED.iter().map(OsString::from);
        let settings = settings.iter().map(OsString::from);
        let arguments = arguments.iter().map(OsString::from);
        let own = fixed.chain(self.place()).chain(settings);
        let spec = ChildSpec {
            program: "git".into(),
            args: own.chain(arguments).collect(),
            env: self.environment.clone(),
            cwd: self.project.clone(),
            shim: None,
        };
        let (child, pipes) = match supervisor::spawn(spec).await {
            Ok(spawned) => spawned,
            Err(SpawnError::NotOnPath { .. }) => return Err(GitTrouble::NoGit),
            Err(error) => return Err(GitTrouble::Unheard(error.to_string())),
        };
        drop(pipes.stdin);
        let mut output = Vec::new();
        let listening = async {
            let mut stdout = pipes.stdout.take(most + 1);
            stdout
                .read_to_end(&mut output)
                .await
                .map_err(|error| GitTrouble::Unheard(error.to_string()))?;
            if output.len() as u64 > most {
                return Ok(true);
            }
            let exit = child.exited().await;
            if exit.code == Some(0) {
                return Ok(false);
            }
            let words = child.stderr_tail();
            let said = words.lines().find(|line| !line.trim().is_empty());
            Err(GitTrouble::Refused(said.map_or_else(|| exit.to_string(), str::to_owned)))
        };
        let heard = tokio::time::timeout(wait_times::GIT, listening).await;
        // Dropping a child that still runs kills it.
        let is_cut = heard.unwrap_or(Err(GitTrouble::Slow))?;
        if is_cut {
            output.drain(usize::try_from(most).unwrap_or(usize::MAX).min(output.len())..);
        }
        Ok((output, is_cut))
    }

    /// Returns a path of the repository relative to the project, if it is in it.
    pub(super) fn in_project(&self, path: &str) -> Option<String> {
        let whole = self.root.join(path);
        let inner = whole.strip_prefix(&self.project).ok()?;
        Some(inner.to_string_lossy().into_owned())
    }
}

/// Returns whether git would take this `.git` for a repository, or for a file that names one.
fn is_repository(named: &Path) -> bool {
    named.is_file() || (named.join("HEAD").exists() && named.join("objects").is_dir())
}

/// Returns the settings that turn off the filters among these zero-terminated configuration keys.
fn settings_against(keys: &[u8]) -> Result<Vec<String>, GitTrouble> {
    let unusable = |why: &str| GitTrouble::Refused(format!("the repository's filters {why}"));
    let name = |key: &[u8]| {
        let name = key.strip_prefix(b"filter.")?;
        let end = name.iter().rposition(|byte| *byte == b'.')?;
        Some(std::str::from_utf8(&name[..end]).map(str::to_owned))
    };
    let names: Result<BTreeSet<String>, _> =
        keys.split(|byte| *byte == 0).filter_map(name).collect();
    let names = names.map_err(|_| unusable("have names that are not UTF-8"))?;
    if names.len() > MOST_FILTERS {
        return Err(unusable("are too many"));
    }
    // On a command line the value begins after the first `=`.
    if names.iter().any(|name| name.contains('=')) {
        return Err(unusable("cannot be turned off: one has `=` in its name"));
    }
    let off = names.into_iter().flat_map(|name| {
        ["clean=", "process=", "required=false"]
            .into_iter()
            .flat_map(|what| ["-c".to_owned(), format!("filter.{name}.{what}")])
            .collect::<Vec<_>>()
    });
    Ok(off.collect())
}

/// Returns the marks of the files that exist.
fn marks(root: &Path, paths: Vec<String>) -> BTreeMap<String, Mark> {
    let marked = paths.into_iter().filter_map(|path| {
        let mark = disk::size_and_touched_ns(&root.join(&path)).ok()?;
        Some((path, mark))
    });
    marked.collect()
}

#[cfg(test)]
pub(super) mod tests;
