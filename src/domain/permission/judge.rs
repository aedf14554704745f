//! What a policy allows: decided by the kind of the tool and by where its paths really lead. Pure.
//!
//! The caller finds out where the paths lead, as that needs a look at the disk. The user is asked about every place that is not
//! certainly inside the project.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::permission_policy::Policy;

/// What a policy says about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Reject,
    /// Somebody has to be asked.
    Ask,
}

/// What is not edited without asking, as it makes programs of the user run, or tells agents what to do: parts of paths, at
/// any depth of the project. A profile adds to it (`guarded`), and nothing takes from it.
pub const GUARDED: [&str; 28] = [
    // What the bridge, its agents and other agents take their settings from: servers to start, hooks, rights.
    ".claude",
    ".mcp.json",
    ".codex",
    ".gemini",
    ".qwen",
    ".factory",
    ".agents",
    ".cursor",
    ".windsurf",
    // What they are told by.
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
    // What editors, shells, git and other services run by themselves.
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

/// The project, and what is special in it. All places are absolute, with links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    pub project: PathBuf,
    /// Where buses are, and with them everybody's messages: neither read nor edited by rule.
    pub buses: Vec<PathBuf>,
    /// Where edits are asked about, wherever the paths of [`GUARDED`] and git's directories really lead.
    pub guarded: Vec<PathBuf>,
    /// Whether these are all: where there are too many to be looked at, every edit is asked about.
    pub knows_all_guarded: bool,
    /// Parts of paths below the project, as in [`GUARDED`], that the agent's profile adds.
    pub also: Vec<String>,
}

/// Decides a question by its policy.
///
/// `kind` is the tool's kind in ACP's words. `paths` are the places that the tool touches, links resolved; `None` for one that
/// cannot be told.
///
/// The rules allow reading, searching and editing inside the project. They ask about all else: a place that is not known or
/// not named, the bus, and an edit of what decides about rights or makes programs run.
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

/// Returns the kind of a tool as ACP writes it, if it is one of ACP's; any other one is the agent's own word.
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

/// Says whether a call of the first kind can do more harm than one of the second. What is not one of ACP's is as bad as `other`.
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

/// Says whether it has to be looked where the paths of a question lead: for the rules, or for who is asked.
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

    /// Says whether who reads or searches a place reads a bus: one that is there, or below it. The project itself is left out: to
    /// search it is what agents do all the time.
    fn shows_bus(&self, path: &Path, inner: &Path) -> bool {
        let usual = self.project.join(".claude/bridge");
        let holds_one = || {
            let mut buses = self.buses.iter().chain([&usual]);
            buses.any(|bus| is_below(bus, path))
        };
        self.is_bus(path, inner) || inner != Path::new("") && holds_one()
    }

    /// Says whether a place decides what programs of the user do, or what agents may.
    fn is_guarded(&self, path: &Path, inner: &Path) -> bool {
        let also = self.also.iter().map(String::as_str);
        // Git takes no directory for its own that has no `HEAD`. So none is made of files that nobody was asked about.
        let is_head = |name: &OsStr| folded(name) == "head";
        !self.knows_all_guarded
            || self.is_bus(path, inner)
            || inner.file_name().is_some_and(is_head)
            || GUARDED.into_iter().chain(also).any(|part| has(inner, part))
            || self.guarded.iter().any(|place| is_below(path, place))
    }
}

/// Says whether a place belongs to a bus that was put aside: everybody's messages are in that one, too.
fn is_put_aside(inner: &Path) -> bool {
    inner.components().any(|part| {
        let name = part.as_os_str().to_string_lossy().to_lowercase();
        name.starts_with("bridge.foreign-")
    })
}

/// Returns the part of a path below the project, if it is surely there. The case of letters counts: what differs in it only is
/// another place on most disks, and asking does no harm on the others.
fn inside<'p>(path: &'p Path, project: &Path) -> Option<&'p Path> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !project.is_absolute() || !path.components().all(is_plain) {
        return None;
    }
    path.strip_prefix(project).ok()
}

/// Says whether a path is another one, or below it. The case of letters does not count, as some disks do not count it.
fn is_below(path: &Path, other: &Path) -> bool {
    let mut parts = path.components();
    let same = |part: Component<'_>| {
        let own = parts.next();
        own.is_some_and(|own| folded(own.as_os_str()) == folded(part.as_os_str()))
    };
    other.components().all(same)
}

/// Says whether these parts follow each other anywhere in a path. Here, too, the case of letters does not count.
fn has(inner: &Path, parts: &str) -> bool {
    let inner: Vec<_> = inner.components().map(|part| folded(part.as_os_str())).collect();
    let parts: Vec<_> = parts.split('/').map(|part| folded(part.as_ref())).collect();
    inner.windows(parts.len()).any(|window| window == parts)
}

/// Returns a name as disks compare it that do not count case: the Kelvin sign is a `k` to them, too.
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
    fn three_policies_look_at_nothing() {
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
    fn the_worse_of_two_kinds_is_never_one_that_the_rules_allow_more_of() {
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
    fn the_rules_ask_about_what_is_not_surely_inside() {
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
    fn the_bus_is_not_read_and_what_decides_about_rights_is_not_edited_without_asking() {
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
    fn what_holds_the_bus_is_read_no_more_freely_than_the_bus() {
        for kind in ["read", "search"] {
            for path in [".claude", ".CLAUDE", "settings"] {
                check_rules(kind, &format!("{PROJECT}/{path}"), Verdict::Ask);
            }
            // The everyday search: what programs that search leave out is theirs to say.
            check_rules(kind, PROJECT, Verdict::Allow);
            check_rules(kind, &format!("{PROJECT}/src"), Verdict::Allow);
        }
    }

    #[test]
    fn what_makes_programs_run_is_not_edited_without_asking() {
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
    fn where_not_all_that_is_guarded_is_known_every_edit_is_asked_about() {
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
