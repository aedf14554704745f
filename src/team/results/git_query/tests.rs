//! Looks with git at repositories that name programs to run. Each program would leave a trace.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use super::*;
use crate::domain::task::result::GitLook;
use crate::domain::wait_times;

/// A directory with every program that git might run. Each would leave a trace.
pub(in crate::team::results) struct Hostile {
    root: tempfile::TempDir,
}

impl Hostile {
    pub(in crate::team::results) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    pub(in crate::team::results) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(in crate::team::results) fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        vec![("PATH".into(), path), ("HOME".into(), self.path("").into())]
    }

    /// Runs git as its user would, and returns its output.
    pub(in crate::team::results) fn git(&self, directory: &str, arguments: &[&str]) -> String {
        let output = self.try_git(directory, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn try_git(&self, directory: &str, arguments: &[&str]) -> Output {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(self.path(directory))
            .env_clear()
            .envs(self.environment())
            .output()
            .unwrap()
    }

    /// Makes a repository with one commit of the file `file`.
    pub(in crate::team::results) fn repository(&self, directory: &str) {
        fs::create_dir_all(self.path(directory)).unwrap();
        self.git(directory, &["init", "-q"]);
        fs::write(self.path(directory).join("file"), "one").unwrap();
        self.git(directory, &["add", "."]);
        self.git(directory, &["commit", "-qm", "first"]);
    }

    /// Returns a shell command that leaves a trace.
    pub(in crate::team::results) fn trap(&self, name: &str) -> String {
        format!("echo {name} >> '{}'; cat", self.path("ran").display())
    }

    /// Returns the names of the traps that have run.
    pub(in crate::team::results) fn ran(&self) -> String {
        fs::read_to_string(self.path("ran")).unwrap_or_default()
    }

    /// Sets a trap in every program that git would run for a look at changed files.
    pub(in crate::team::results) fn arm(&self, directory: &str) {
        for (key, what) in [
            ("filter.evil.clean", "clean"),
            ("filter.o.d.d.clean", "odd"),
            ("filter.slow.process", "process"),
            ("core.fsmonitor", "fsmonitor"),
            ("core.pager", "pager"),
            ("diff.external", "external"),
            ("diff.evil.textconv", "textconv"),
            ("core.sshCommand", "ssh"),
        ] {
            self.git(directory, &["config", key, &self.trap(what)]);
        }
        for settings in [
            ["filter.evil.required", "true"],
            ["filter.slow.required", "true"],
            ["status.submoduleSummary", "true"],
            ["pager.status", "true"],
        ] {
            self.git(directory, &["config", settings[0], settings[1]]);
        }
        let git_dir =
            self.git(directory, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let git_dir = Path::new(git_dir.trim());
        let hook = git_dir.join("hooks/post-index-change");
        fs::create_dir_all(git_dir.join("hooks")).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{}\n", self.trap("hook"))).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&hook, executable).unwrap();
        fs::create_dir_all(git_dir.join("info")).unwrap();
        let attributes = "* filter=evil diff=evil\n*.odd filter=o.d.d\n*.slow filter=slow\n";
        fs::write(git_dir.join("info/attributes"), attributes).unwrap();
    }

    /// Looks at a project before and after a change, and returns the paths that differ.
    async fn look(&self, project: &str, change: impl FnOnce()) -> (Vec<String>, GitLook) {
        let repository = Repository::of(&self.path(project), &self.environment()).unwrap();
        let before = repository.look_before(|_| {});
        before.hold().wait_for(wait_times::GIT).await;
        change();
        let (changes, look) = before.compare().await;
        (changes.into_keys().collect(), look)
    }
}

#[tokio::test]
async fn a_look_runs_nothing_that_a_repository_names() {
    let hostile = Hostile::new();
    hostile.repository("sub");
    hostile.repository("project");
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", "../sub", "part"];
    hostile.git("project", &add);
    for name in ["a.odd", "b.slow"] {
        fs::write(hostile.path("project").join(name), "one").unwrap();
    }
    hostile.git("project", &["add", "."]);
    hostile.git("project", &["commit", "-qm", "second"]);
    hostile.arm("project");
    hostile.arm("project/part");
    fs::write(hostile.path("project/part/file"), "two").unwrap();
    let change = || {
        for name in ["file", "a.odd", "b.slow"] {
            fs::write(hostile.path("project").join(name), "two").unwrap();
        }
    };
    let (changed, look) = hostile.look("project", change).await;
    assert_eq!(hostile.ran(), "");
    assert_eq!(look, GitLook::Compared);
    assert_eq!(changed, ["a.odd", "b.slow", "file"]);
    // The traps work: git as its user runs it springs them.
    hostile.try_git("project", &["status", "--porcelain"]);
    for trap in ["fsmonitor", "process"] {
        assert!(hostile.ran().contains(trap), "{}", hostile.ran());
    }
}

#[tokio::test]
async fn a_bare_repository_among_the_files_is_not_taken_for_the_one_around_it() {
    let hostile = Hostile::new();
    hostile.repository("project");
    hostile.repository("project/pkg");
    hostile.git("project/pkg", &["config", "core.worktree", "."]);
    hostile.arm("project/pkg");
    let inner = hostile.path("project/pkg/.git");
    for entry in fs::read_dir(&inner).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), hostile.path("project/pkg").join(entry.file_name())).unwrap();
    }
    fs::remove_dir(&inner).unwrap();
    let file = hostile.path("project/pkg/file");
    let (changed, look) = hostile.look("project/pkg", || fs::write(&file, "two").unwrap()).await;
    assert_eq!(hostile.ran(), "");
    assert_eq!(look, GitLook::Compared);
    assert_eq!(changed, ["file"]);
}

#[tokio::test]
async fn changes_before_the_first_look_may_be_missing() {
    let hostile = Hostile::new();
    hostile.repository("project");
    let repository = Repository::of(&hostile.path("project"), &hostile.environment()).unwrap();
    let before = repository.look_before(|_| {});
    before.hold().wait_for(Duration::ZERO).await;
    let (_, look) = before.compare().await;
    assert!(matches!(&look, GitLook::Partly(why) if why.contains("may be missing")), "{look:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_tracked_directory_is_recognised_even_if_its_path_is_not_text() {
    use std::os::unix::ffi::OsStrExt as _;

    let hostile = Hostile::new();
    let name = std::ffi::OsStr::from_bytes(b"pro\xffject");
    let project = hostile.path("").join(name);
    fs::create_dir_all(project.join(".claude/bridge")).unwrap();
    fs::write(project.join(".claude/bridge/bus.json"), "{}").unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&project);
        assert!(command.status().unwrap().success());
    };
    git(&["init", "-q"]);
    let bus = project.join(".claude/bridge");
    assert!(!is_tracked(&bus, hostile.environment()).await);
    git(&["add", "."]);
    assert!(is_tracked(&bus, hostile.environment()).await);
}

#[test]
fn a_git_directory_without_a_repository_is_skipped() {
    let hostile = Hostile::new();
    hostile.repository("project");
    fs::create_dir_all(hostile.path("project/inner/.git/info")).unwrap();
    let inner = hostile.path("project/inner");
    let found = Repository::of(&inner, &hostile.environment()).unwrap();
    assert_eq!(found.root, hostile.path("project"));
}

#[tokio::test]
async fn linked_worktrees_are_examined_even_of_a_bare_repository() {
    let hostile = Hostile::new();
    hostile.repository("main");
    hostile.git("main", &["worktree", "add", "-q", "../linked"]);
    hostile.git("", &["clone", "-q", "--bare", "main", "bare.git"]);
    hostile.git("bare.git", &["worktree", "add", "-q", "../of-bare", "-b", "topic"]);
    hostile.arm("main");
    hostile.arm("bare.git");
    for worktree in ["linked", "of-bare"] {
        let file = hostile.path(worktree).join("file");
        let (changed, look) = hostile.look(worktree, || fs::write(&file, "two").unwrap()).await;
        assert_eq!(look, GitLook::Compared, "{worktree}");
        assert_eq!(changed, ["file"], "{worktree}");
    }
    assert_eq!(hostile.ran(), "");
}

#[test]
fn a_filter_that_cannot_be_turned_off_ends_the_look() {
    let off = settings_against(b"filter.lfs.clean\0filter.lfs.smudge\0filter.clean\0").unwrap();
    let expected =
        ["-c", "filter.lfs.clean=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false"];
    assert_eq!(off, expected);
    assert!(settings_against(b"filter.a=b.clean\0").is_err());
    assert!(settings_against(b"filter.\xff.clean\0").is_err());
    let many = (0..=MOST_FILTERS).map(|number| format!("filter.f{number}.clean\0"));
    let many = many.collect::<Vec<_>>().concat();
    assert!(settings_against(many.as_bytes()).is_err());
    assert!(settings_against(b"").unwrap().is_empty());
}
