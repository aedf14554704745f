//! The decisions of a policy, from the kind of the tool and the resolved locations of its paths. Pure.
//!
//! The caller resolves the paths, as that needs a look at the disk. The user is asked about every place that is not certainly inside the
//! project.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::permission_policy::Policy;

/// The decision of a policy on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Reject,
    /// The user or the orchestrator has to be asked.
    Ask,
}

/// Parts of paths, at any depth of the project, that are not edited without asking: the user's programs run these files, or agents take
/// instructions from them. A profile adds to the list (`guarded`), and nothing removes from it.
pub const GUARDED: [&str; 28] = [
    // The settings of the bridge, its agents and other agents: servers to start, hooks, permissions.
    ".claude",
    ".mcp.json",
    ".codex",
    ".gemini",
    ".qwen",
    ".factory",
    ".agents",
    ".cursor",
    ".windsurf",
    // Instructions for agents.
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "QWEN.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    // Files that editors, shells, git and other services run by themselves.
    ".git",
    ".gitmodules",
    ".husky",
    ".github/workflows",
    ".vscode",
    ".idea",
    ".envrc",
    ".devcontainer",
    ".devcontainer.json",
];

/// The project, and its special places. All paths are absolute, with links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    pub project: PathBuf,
    /// The directories of buses, which contain the messages of all members: neither read nor edited by rule.
    pub buses: Vec<PathBuf>,
    /// Places whose edits need permission, wherever the paths of [`GUARDED`] and git's directories really lead.
    pub guarded: Vec<PathBuf>,
    /// Whether `guarded` is complete. Where there are too many places to resolve, every edit needs permission.
    pub knows_all_guarded: bool,
    /// Parts of paths below the project, as in [`GUARDED`], that the agent's profile adds.
    pub also: Vec<String>,
}

/// Decides a question by its policy.
///
/// `kind` is the tool's kind in ACP's words. `paths` are the places that the tool touches, with links resolved; `None` stands for an
/// unknown place.
///
/// The rules allow reading, searching and editing inside the project. They ask about everything else: an unknown place, a call that names
/// no place, the bus, and an edit of files that grant permissions or make programs run.
pub fn judge(policy: Policy, kind: &str, paths: &[Option<PathBuf>], ground: &Ground) -> Verdict {
    let by_rules = |is_guarded: fn(&Ground, &Path, &Path) -> bool| {
        let is_free = |path: &Option<PathBuf>| {
            let Some(path) = path else { return false };
            inside(path, &ground.project).is_some_and(|inner| !is_guarded(ground, path, inner))
        };
        if !paths.is_empty() && paths.iter().all(is_free) { Verdict::Allow } else { Verdict::Ask }
    };
    match (policy, kind) {
        (Policy::Allow, _) => Verdict::Allow,
        (Policy::Deny, _) => Verdict::Reject,
        (Policy::Rules, "read" | "search") => by_rules(Ground::shows_bus),
        (Policy::Rules, "edit") => by_rules(Ground::is_guarded),
        (Policy::Rules | Policy::Ask, _) => Verdict::Ask,
    }
}

/// Returns the kind of a tool if it is one of ACP's; any other one is the agent's own word.
pub fn known_kind(kind: &str) -> Option<&'static str> {
    const KINDS: [&str; 10] = [
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
        "other",
    ];
    KINDS.into_iter().find(|known| *known == kind)
}

/// Says whether a call of the first kind can do more harm than one of the second. A kind that is not one of ACP's counts as `other`.
pub fn is_worse(kind: &str, than: &str) -> bool {
    let harm = |kind| match known_kind(kind) {
        Some("read") => 0,
        Some("search") => 1,
        Some("edit") => 2,
        Some("move") => 4,
        Some("delete") => 5,
        Some("execute") => 6,
        _ => 3,
    };
    harm(kind) > harm(than)
}

/// Says whether the paths of a question have to be resolved: for the rules, or to show them in the question.
pub fn depends_on_places(policy: Policy) -> bool {
    matches!(policy, Policy::Rules | Policy::Ask)
}

impl Ground {
    /// Says whether a place belongs to a bus.
    fn is_bus(&self, path: &Path, inner: &Path) -> bool {
        has(inner, ".claude/bridge")
            || is_put_aside(inner)
            || self.buses.iter().any(|bus| is_below(path, bus))
    }

    /// Says whether reading or searching a place reads a bus: one at or below that place. The project itself is an exception, as agents
    /// search it all the time.
    fn shows_bus(&self, path: &Path, inner: &Path) -> bool {
        let usual = self.project.join(".claude/bridge");
        let holds_one = || {
            let mut buses = self.buses.iter().chain([&usual]);
            buses.any(|bus| is_below(bus, path))
        };
        self.is_bus(path, inner) || inner != Path::new("") && holds_one()
    }

    /// Says whether the user's programs run a place, or it grants permissions to agents.
    fn is_guarded(&self, path: &Path, inner: &Path) -> bool {
        let also = self.also.iter().map(String::as_str);
        // Git accepts no directory without a `HEAD` as its own. So no git directory can be made of files that were allowed one by one.
        let is_head = |name: &OsStr| folded(name) == "head";
        !self.knows_all_guarded
            || self.is_bus(path, inner)
            || inner.file_name().is_some_and(is_head)
            || GUARDED.into_iter().chain(also).any(|part| has(inner, part))
            || self.guarded.iter().any(|place| is_below(path, place))
    }
}

/// Says whether a place belongs to a bus that was set aside: it contains the messages of all members, too.
fn is_put_aside(inner: &Path) -> bool {
    inner.components().any(|part| {
        let name = part.as_os_str().to_string_lossy().to_lowercase();
        name.starts_with("bridge.foreign-")
    })
}

/// Returns the part of a path below the project, if it is certainly there. Case counts: on most disks a different case is a different
/// place, and on the others an extra question does no harm.
fn inside<'p>(path: &'p Path, project: &Path) -> Option<&'p Path> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !project.is_absolute() || !path.components().all(is_plain) {
        return None;
    }
    path.strip_prefix(project).ok()
}

/// Says whether a path is another one, or below it. Case does not count, because it does not on some disks.
fn is_below(path: &Path, other: &Path) -> bool {
    let mut parts = path.components();
    let same = |part: Component<'_>| {
        let own = parts.next();
        own.is_some_and(|own| folded(own.as_os_str()) == folded(part.as_os_str()))
    };
    other.components().all(same)
}

/// Says whether these parts follow each other anywhere in a path. Here, too, case does not count.
fn has(inner: &Path, parts: &str) -> bool {
    let inner: Vec<_> = inner.components().map(|part| folded(part.as_os_str())).collect();
    let parts: Vec<_> = parts.split('/').map(|part| folded(part.as_ref())).collect();
    inner.windows(parts.len()).any(|window| window == parts)
}

/// Returns a name as case-insensitive disks compare it: to them, the Kelvin sign is a `k`, too.
fn folded(name: &OsStr) -> String {
    let upper = name.to_string_lossy().to_uppercase();
    upper.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = "/home/ann/project";

    /// A project whose `.claude` and git directory are links, and whose profile guards more.
    fn ground() -> Ground {
        Ground {
            project: PROJECT.into(),
            buses: vec![format!("{PROJECT}/settings/bridge").into()],
            guarded: vec![
                format!("{PROJECT}/settings").into(),
                format!("{PROJECT}/gitdata").into(),
            ],
            knows_all_guarded: true,
            also: vec!["deploy".to_owned(), "ci/run.sh".to_owned()],
        }
    }

    #[track_caller]
    fn check(policy: Policy, kind: &str, paths: &[&str], expected: Verdict) {
        let paths: Vec<_> = paths.iter().map(|path| Some(PathBuf::from(path))).collect();
        let verdict = judge(policy, kind, &paths, &ground());
        assert_eq!(verdict, expected, "{policy:?} {kind} {paths:?}");
    }

    #[track_caller]
    fn check_rules(kind: &str, path: &str, expected: Verdict) {
        check(Policy::Rules, kind, &[path], expected);
    }

    #[test]
    fn three_policies_ignore_kind_and_place() {
        for kind in ["read", "edit", "execute", "other", "comet"] {
            for paths in [&[][..], &["/etc/passwd"], &["/home/ann/project/a"]] {
                check(Policy::Allow, kind, paths, Verdict::Allow);
                check(Policy::Deny, kind, paths, Verdict::Reject);
                check(Policy::Ask, kind, paths, Verdict::Ask);
            }
        }
    }

    #[test]
    fn the_rules_allow_reading_searching_and_editing_inside_the_project() {
        for kind in ["read", "search", "edit"] {
            check_rules(kind, "/home/ann/project/src/main.rs", Verdict::Allow);
            check_rules(kind, "/home/ann/project", Verdict::Allow);
        }
    }

    #[test]
    fn the_rules_ask_about_every_other_kind() {
        for kind in
            ["delete", "move", "execute", "think", "fetch", "switch_mode", "other", "", "Read"]
        {
            check_rules(kind, "/home/ann/project/a", Verdict::Ask);
        }
    }

    #[test]
    fn the_rules_never_allow_more_of_the_worse_of_two_kinds() {
        let order = ["read", "search", "edit", "other", "move", "delete", "execute"];
        for (place, kind) in order.iter().enumerate() {
            for (other_place, other) in order.iter().enumerate() {
                assert_eq!(is_worse(kind, other), place > other_place, "{kind} {other}");
            }
        }
        for kind in ["think", "fetch", "switch_mode", "", "Read", "comet"] {
            assert!(is_worse(kind, "edit") && !is_worse(kind, "other"), "{kind}");
        }
    }

    #[test]
    fn the_rules_ask_about_places_that_are_not_certainly_inside() {
        for path in [
            "/etc/passwd",
            "/home/ann",
            "/home/ann/project-2/a",
            "/home/ann/projec",
            "/home/ann/Project/a",
            "/home/ann/project/../other/a",
            "/home/ann/project/src/../../../../etc/passwd",
            "/home/ann/project/..",
            "src/main.rs",
            "../project/a",
            "",
            "//",
        ] {
            for kind in ["read", "search", "edit"] {
                check_rules(kind, path, Verdict::Ask);
            }
        }
    }

    #[test]
    fn the_rules_ask_where_no_place_is_named_or_one_of_several_is_not_inside() {
        check(Policy::Rules, "read", &[], Verdict::Ask);
        let inside = "/home/ann/project/a";
        check(Policy::Rules, "edit", &[inside, inside], Verdict::Allow);
        check(Policy::Rules, "edit", &[inside, "/etc/passwd"], Verdict::Ask);
        let unknown = [Some(PathBuf::from(inside)), None];
        let verdict = judge(Policy::Rules, "read", &unknown, &ground());
        assert_eq!(verdict, Verdict::Ask);
    }

    #[test]
    fn reading_the_bus_and_editing_settings_need_permission() {
        for path in [".claude/bridge/log/1.jsonl", ".claude/bridge", ".Claude/BRIDGE/x"] {
            check_rules("read", &format!("{PROJECT}/{path}"), Verdict::Ask);
            check_rules("edit", &format!("{PROJECT}/{path}"), Verdict::Ask);
        }
        for path in
            [".claude/bridge.toml", ".git/hooks/pre-commit", ".GIT/config", ".claude/settings.json"]
        {
            check_rules("read", &format!("{PROJECT}/{path}"), Verdict::Allow);
            check_rules("edit", &format!("{PROJECT}/{path}"), Verdict::Ask);
        }
        check_rules("edit", &format!("{PROJECT}/.gitignore"), Verdict::Allow);
        check_rules("edit", &format!("{PROJECT}/src/.claude/x"), Verdict::Ask);
    }

    #[test]
    fn a_directory_that_contains_a_bus_is_restricted_like_the_bus() {
        for kind in ["read", "search"] {
            for path in [".claude", ".CLAUDE", "settings"] {
                check_rules(kind, &format!("{PROJECT}/{path}"), Verdict::Ask);
            }
            // The everyday search. Which directories it leaves out is up to the search program.
            check_rules(kind, PROJECT, Verdict::Allow);
            check_rules(kind, &format!("{PROJECT}/src"), Verdict::Allow);
        }
    }

    #[test]
    fn editing_a_file_that_makes_programs_run_needs_permission() {
        for part in GUARDED {
            for path in [
                format!("{PROJECT}/{part}"),
                format!("{PROJECT}/{part}/x"),
                format!("{PROJECT}/vendor/lib/{}/x", part.to_uppercase()),
            ] {
                check_rules("edit", &path, Verdict::Ask);
            }
            for path in [format!("{PROJECT}/{part}/x"), format!("{PROJECT}/vendor/lib/{part}")] {
                check_rules("read", &path, Verdict::Allow);
            }
        }
        for path in [
            "settings/settings.json",
            "SETTINGS/bridge.toml",
            "gitdata/hooks/pre-commit",
            "deploy/now",
            "a/b/deploy",
            "ci/run.sh",
            ".hus\u{212a}y/pre-commit",
        ] {
            check_rules("edit", &format!("{PROJECT}/{path}"), Verdict::Ask);
            check_rules("read", &format!("{PROJECT}/{path}"), Verdict::Allow);
        }
        check_rules("read", &format!("{PROJECT}/settings/bridge/log"), Verdict::Ask);
        for path in [
            "ci/other.sh",
            "run.sh",
            "settings-2",
            ".github/dependabot.yml",
            "agents.rs",
            "workflows/x",
            "gitdata.txt",
        ] {
            check_rules("edit", &format!("{PROJECT}/{path}"), Verdict::Allow);
        }
    }

    #[test]
    fn every_edit_needs_permission_where_the_guarded_places_are_too_many() {
        let ground = Ground { knows_all_guarded: false, ..ground() };
        for (kind, expected) in
            [("edit", Verdict::Ask), ("read", Verdict::Allow), ("search", Verdict::Allow)]
        {
            let path = Some(PathBuf::from(format!("{PROJECT}/src/main.rs")));
            let verdict = judge(Policy::Rules, kind, &[path], &ground);
            assert_eq!(verdict, expected, "{kind}");
        }
    }
}
