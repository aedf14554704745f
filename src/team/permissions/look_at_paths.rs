//! Examines the paths of a question on disk: where they really lead, and what is guarded there.
//!
//! On a disk that does not answer, such a look may never return. So it runs on another thread, within a time limit, and an agent
//! has only a few at a time: a hanging disk stops the questions of one agent, and nothing else.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::guarded_places;
use crate::domain::limits;
use crate::domain::permission::Ground;
use crate::domain::wait_times;
use crate::sys::fs::disk;
use crate::sys::fs::real_path::{destination, resolve};

/// How many looks of one agent run at a time.
const LOOKS: usize = 4;

/// What to examine.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    /// The root of the project, or of the worktree in which the agent works.
    pub(crate) root: PathBuf,
    pub(crate) bus: PathBuf,
    /// The base of relative paths.
    pub(crate) cwd: PathBuf,
    /// Further names that the profile guards.
    pub(crate) also: Vec<String>,
    pub(crate) paths: Vec<PathBuf>,
}

/// The result of a look.
#[derive(Clone, Debug)]
pub(crate) struct PathsFound {
    pub(crate) ground: Ground,
    /// Where the paths lead; `None` if that cannot be determined.
    pub(crate) places: Vec<Option<PathBuf>>,
    /// The same as the user or orchestrator sees it: for a dangling link, where it would lead.
    pub(crate) leads: Vec<Option<PathBuf>>,
}

/// Runs the looks of one agent.
#[derive(Clone)]
pub(crate) struct PathExaminer {
    slots: Arc<Semaphore>,
}

impl Default for PathExaminer {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(LOOKS)) }
    }
}

impl PathExaminer {
    /// Examines the paths; `None` if that takes too long, or there are too many.
    pub(crate) async fn take(self, survey: Survey) -> Option<PathsFound> {
        if survey.paths.len() > limits::LOOKED_PATHS {
            return None;
        }
        self.within(wait_times::LOOK_AT_PATHS, move |until| survey.look(until)).await
    }

    /// Runs a look that may hang. A thread that hangs keeps its slot.
    pub(crate) async fn within<T: Send + 'static>(
        self,
        limit: Duration,
        look: impl FnOnce(Instant) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let looking = async {
            let slot = self.slots.acquire_owned().await.ok()?;
            let until = Instant::now() + limit;
            let looking = tokio::task::spawn_blocking(move || {
                let found = look(until);
                drop(slot);
                found
            });
            looking.await.ok()?
        };
        tokio::time::timeout(limit, looking).await.ok().flatten()
    }
}

impl Survey {
    /// Looks at the disk. Past the deadline it stops between two paths.
    fn look(self, until: Instant) -> Option<PathsFound> {
        let (mut places, mut leads) = (Vec::new(), Vec::new());
        for path in &self.paths {
            if Instant::now() > until {
                return None;
            }
            if !is_plain(path) {
                places.push(None);
                leads.push(None);
                continue;
            }
            let place = resolve(&self.cwd, path);
            leads.push(place.clone().or_else(|| destination(&self.cwd, path)));
            places.push(place);
        }
        let (mut guarded, knows_all_guarded) = guarded_places::places(&self.root, &self.also);
        // An edit that names a directory may change anything in it.
        let directories = places.iter().flatten().filter(|place| place.is_dir());
        guarded.extend(directories.cloned());
        let mut seen = HashSet::new();
        for place in places.iter().flatten() {
            if disk::has_other_names(place) {
                // Under its other name it may be any file, inside or outside of this project.
                guarded.push(place.clone());
            }
            let inside = |directory: &&Path| directory.starts_with(&self.root);
            for directory in place.ancestors().take_while(inside) {
                if Instant::now() > until {
                    return None;
                }
                if seen.insert(directory.to_owned()) {
                    guarded.extend(guarded_places::git_places(directory));
                }
            }
        }
        let buses = [self.bus.clone(), self.root.join(".claude/bridge")];
        let buses = buses.map(|bus| destination(&self.root, &bus).unwrap_or(bus));
        Some(PathsFound {
            ground: Ground {
                project: self.root,
                buses: buses.into(),
                guarded,
                knows_all_guarded,
                also: self.also,
            },
            places,
            leads,
        })
    }
}

/// Returns whether a text is a path, and the same one for every program: no address, no `~` that some replace by a home directory,
/// no list of several lines, and no bytes that were not text.
fn is_plain(path: &Path) -> bool {
    path.to_str().is_some_and(|path| {
        let is_lost = |sign: char| sign.is_control() || sign == char::REPLACEMENT_CHARACTER;
        !path.is_empty() && !path.starts_with('~') && !is_address(path) && !path.contains(is_lost)
    })
}

/// Returns whether a text is an address: `scheme:/place`, with one slash or several, or `file:` and any path.
fn is_address(path: &str) -> bool {
    let Some((scheme, place)) = path.split_once(':') else {
        return false;
    };
    let may_be_in_one = |sign: char| sign.is_ascii_alphanumeric() || "+.-".contains(sign);
    let is_scheme = scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && scheme.chars().all(may_be_in_one);
    path.contains("://")
        || is_scheme && (place.starts_with('/') || scheme.eq_ignore_ascii_case("file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::permission::{Policy, Verdict, judge};
    use std::fs;
    use std::os::unix::fs::symlink;

    struct Project {
        _directory: tempfile::TempDir,
        root: PathBuf,
    }

    impl Project {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap().join("project");
            fs::create_dir_all(root.join("src")).unwrap();
            Self { _directory: directory, root }
        }

        fn directory(&self, path: &str) -> &Self {
            fs::create_dir_all(self.root.join(path)).unwrap();
            self
        }

        fn file(&self, path: &str, text: &str) -> &Self {
            fs::create_dir_all(self.root.join(path).parent().unwrap()).unwrap();
            fs::write(self.root.join(path), text).unwrap();
            self
        }

        fn link(&self, target: &str, path: &str) -> &Self {
            symlink(target, self.root.join(path)).unwrap();
            self
        }

        fn survey(&self, path: &str) -> Survey {
            Survey {
                root: self.root.clone(),
                bus: self.root.join(".claude/bridge"),
                cwd: self.root.clone(),
                also: Vec::new(),
                paths: vec![path.into()],
            }
        }

        #[track_caller]
        fn check(&self, kind: &str, path: &str, expected: Verdict) {
            let until = Instant::now() + Duration::from_mins(1);
            let found = self.survey(path).look(until).unwrap();
            let verdict = judge(Policy::Rules, kind, &found.places, &found.ground);
            assert_eq!(verdict, expected, "{kind} {path}");
        }

        /// Checks that edits of these files are asked about, and that reading them is allowed.
        #[track_caller]
        fn asks_before_edits_of(&self, paths: &[&str]) {
            for path in paths {
                self.check("edit", path, Verdict::Ask);
                self.check("read", path, Verdict::Allow);
            }
        }

        #[track_caller]
        fn allows_edits_of(&self, paths: &[&str]) {
            for path in paths {
                self.check("edit", path, Verdict::Allow);
            }
        }
    }

    #[test]
    fn a_claude_directory_that_is_a_link_is_guarded_where_it_leads() {
        let project = Project::new();
        project.directory("dot/bridge/log").link("dot", ".claude");
        for path in [
            ".claude/settings.json",
            ".claude/bridge.toml",
            "dot/settings.json",
            "dot/bridge/log/1.jsonl",
        ] {
            project.check("edit", path, Verdict::Ask);
        }
        project.check("read", "dot/bridge/log/1.jsonl", Verdict::Ask);
        project.check("read", ".claude/bridge/log/1.jsonl", Verdict::Ask);
        project.check("read", "dot/settings.json", Verdict::Allow);
        project.check("edit", "src/main.rs", Verdict::Allow);
    }

    #[test]
    fn a_bus_that_is_elsewhere_in_the_project_is_neither_read_nor_edited() {
        let project = Project::new();
        project.directory("elsewhere/bus");
        let survey = Survey {
            bus: project.root.join("elsewhere/bus"),
            ..project.survey("elsewhere/bus/bus.json")
        };
        let found = survey.look(Instant::now() + Duration::from_mins(1)).unwrap();
        for kind in ["read", "search", "edit"] {
            let verdict = judge(Policy::Rules, kind, &found.places, &found.ground);
            assert_eq!(verdict, Verdict::Ask, "{kind}");
        }
    }

    #[test]
    fn a_git_directory_is_guarded_whatever_it_is_called() {
        let project = Project::new();
        project
            .file(".git", "gitdir: gitdata\n")
            .directory("gitdata/hooks")
            .file("gitdata/commondir", "../common\n")
            .directory("common")
            .directory("vendor/lib/.git/hooks")
            .file("vendor/other/store/HEAD", "ref: refs/heads/main\n")
            .directory("vendor/other/store/objects")
            .directory("vendor/other/store/refs");
        project.asks_before_edits_of(&[
            "gitdata/hooks/pre-commit",
            "gitdata/config",
            "common/config",
            ".git",
            "vendor/lib/.git/hooks/post-checkout",
            "vendor/lib/.git/config",
            "vendor/other/store/config",
        ]);
        project.allows_edits_of(&["vendor/lib/src/lib.rs", "vendor/other/stores"]);
    }

    #[test]
    fn a_guarded_file_that_is_a_link_is_guarded_where_it_leads() {
        let project = Project::new();
        project.file("conf/env", "").link("conf/env", ".envrc");
        project.check("edit", ".envrc", Verdict::Ask);
        project.check("edit", "conf/env", Verdict::Ask);
        project.check("edit", "conf/other", Verdict::Allow);
    }

    #[test]
    fn a_place_that_is_no_path_of_this_system_is_asked_about() {
        let project = Project::new();
        for path in [
            "",
            "~/.ssh/config",
            "~ann/notes",
            "file:///etc/passwd",
            "ssh://host/a",
            "half\u{fffd}",
            "file:/etc/passwd",
            "FILE:../../etc/passwd",
            "vscode-remote:/etc/x",
            "C:/x",
            "src/a.rs\n/etc/x",
            "src/a.rs\t.git/config",
            "src/a.rs\r",
        ] {
            project.check("read", path, Verdict::Ask);
            project.check("edit", path, Verdict::Ask);
        }
        project.allows_edits_of(&["src/~backup", "src/a:b"]);
    }

    #[test]
    fn an_edit_that_names_a_directory_may_change_anything_in_it() {
        let project = Project::new();
        project.directory(".github/workflows").link("src", "in");
        project.asks_before_edits_of(&[".", "src", "in", ".github"]);
        project.check("edit", "src/new", Verdict::Allow);
    }

    #[test]
    fn a_guarded_link_is_guarded_where_it_would_lead() {
        let project = Project::new();
        project
            .link("conf/mcp.json", ".mcp.json")
            .link("first", ".claude")
            .link("second/../third", "first")
            .link("gh", ".github")
            .link("loop", ".envrc")
            .link(".envrc", "loop");
        for path in ["conf/mcp.json", ".mcp.json", "third/settings.json", "gh/workflows/ci.yml"] {
            project.check("edit", path, Verdict::Ask);
        }
        project.check("read", "third/bridge/log/1.jsonl", Verdict::Ask);
        project.allows_edits_of(&["conf/other.json", "gh/other.yml"]);
    }

    #[test]
    fn links_in_guarded_directories_are_guarded_where_they_lead() {
        let project = Project::new();
        project
            .directory(".git/hooks")
            .directory(".husky/_")
            .directory(".claude/skills")
            .directory(".github/workflows")
            .directory(".claude/refs")
            .directory(".husky/logs")
            .directory(".husky/node_modules")
            .file("scripts/lint.sh", "")
            .link("../../notes/a.md", ".claude/refs/a.md")
            .link("../../notes/b.md", ".husky/logs/b.md")
            .link("../../notes/c.md", ".husky/node_modules/c")
            .link("../../scripts/lint.sh", ".git/hooks/pre-commit")
            .link("../conf/git", ".git/config")
            .link("../conf/settings.json", ".claude/settings.json")
            .link("../../skills/write", ".claude/skills/write")
            .link("../../scripts/new.sh", ".husky/_/pre-push")
            .link("../../ci.yml", ".github/workflows/ci.yml")
            // A link to everything guards nothing.
            .link("..", ".claude/project");
        project.asks_before_edits_of(&[
            "scripts/lint.sh",
            "conf/git",
            "conf/settings.json",
            "skills/write/SKILL.md",
            "scripts/new.sh",
            "ci.yml",
            "notes/a.md",
            "notes/b.md",
            "notes/c.md",
        ]);
        project.allows_edits_of(&["src/main.rs", "scripts/other.sh"]);
    }

    #[test]
    fn large_git_directories_are_not_searched_for_links() {
        let project = Project::new();
        project
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .directory(".git/refs")
            .directory(".git/objects");
        for number in 0..guarded_places::LINKS_ENTRIES {
            project.directory(&format!(".git/objects/{number}"));
        }
        project.check("edit", "src/main.rs", Verdict::Allow);
    }

    #[test]
    fn where_links_are_too_many_to_look_at_every_edit_is_asked_about() {
        let project = Project::new();
        project.directory(".claude/skills/many").directory("src");
        let file = |number: usize| project.file(&format!(".claude/skills/{number}"), "");
        // These files, `skills` itself and `many` reach the limit.
        for number in 2..guarded_places::LINKS_ENTRIES {
            file(number);
        }
        project.check("edit", "src/main.rs", Verdict::Allow);
        file(1);
        project.check("edit", "src/main.rs", Verdict::Ask);
        project.check("read", "src/main.rs", Verdict::Allow);
    }

    #[test]
    fn no_git_directory_is_made_step_by_step() {
        let project = Project::new();
        project
            .file("begun/HEAD", "ref: refs/heads/main\n")
            .file("begun/notes", "")
            .directory("app/head");
        project.asks_before_edits_of(&[
            "sub/HEAD",
            "sub/head",
            "begun/config",
            "begun/objects/info/alternates",
            "begun/refs/heads/main",
            "begun/hooks/pre-commit",
            "begun/commondir",
        ]);
        project.allows_edits_of(&[
            "sub/config",
            "src/objects/a.rs",
            "src/hooks/use.ts",
            "begun/notes",
            "app/head/index.ts",
            "app/config",
            "docs/HEAD.md",
        ]);
    }

    #[test]
    fn a_file_with_a_further_name_is_guarded_under_each() {
        let project = Project::new();
        project.file(".claude/settings.json", "{}").file("src/main.rs", "");
        fs::create_dir(project.root.join("notes")).unwrap();
        let hard = |target: &str, name: &str| {
            fs::hard_link(project.root.join(target), project.root.join(name)).unwrap();
        };
        hard(".claude/settings.json", "notes/a.txt");
        symlink("a.txt", project.root.join("notes/b.txt")).unwrap();
        project.asks_before_edits_of(&["notes/a.txt", "notes/b.txt"]);
        project.allows_edits_of(&["src/main.rs", "src/new.rs"]);
        project.check("edit", "notes", Verdict::Ask);
    }

    #[tokio::test]
    async fn more_paths_than_are_looked_at_are_asked_about() {
        let project = Project::new();
        let mut survey = project.survey("src/a");
        survey.paths = vec!["src/a".into(); limits::LOOKED_PATHS];
        assert!(PathExaminer::default().take(survey.clone()).await.is_some());
        survey.paths.push("src/a".into());
        assert!(PathExaminer::default().take(survey).await.is_none());
    }

    #[tokio::test]
    async fn a_look_that_hangs_keeps_its_slot_and_nothing_else() {
        let looks = PathExaminer::default();
        let limit = Duration::from_millis(1);
        let mut hanging = Vec::new();
        for _ in 0..LOOKS {
            let (let_go, hang) = std::sync::mpsc::channel::<()>();
            let look = move |_| hang.recv().ok();
            assert_eq!(looks.clone().within(limit, look).await, None);
            hanging.push(let_go);
        }
        // All slots are taken, so this look never begins.
        assert_eq!(looks.clone().within(limit, |_| Some(1)).await, None);
        drop(hanging);
        let long = Duration::from_mins(1);
        assert_eq!(looks.within(long, |_| Some(2)).await, Some(2));
    }
}
