//! The architecture, read from the sources: the order of modules, the owners of outside crates, and the one place that prints.
//! Import circles, the layout of files, and the documents have files of their own.

mod documents;
mod imports;
mod rooms;

pub(crate) use self::documents::test_names;

use std::fs;
use std::path::{Path, PathBuf};

/// The modules in reading order, which is dependency order.
const MODULES: [&str; 20] = [
    "domain",
    "sys",
    "config",
    "bus",
    "view",
    "search",
    "supervisor",
    "acp",
    "delivery",
    "team",
    "workflow",
    "alerts",
    "courier",
    "mcp",
    "scripted",
    "setup",
    "doctor",
    "reader",
    "web",
    "cli",
];

/// Modules that a module must not know although they stand above it.
const UNKNOWN: [(&str, &[&str]); 5] = [
    ("supervisor", &["bus"]),
    ("acp", &["bus", "supervisor"]),
    ("delivery", &["acp"]),
    ("scripted", &["bus", "team"]),
    ("setup", &["bus", "supervisor", "acp", "delivery", "team", "workflow", "mcp", "scripted"]),
];

/// Modules that the door to storage, which all engines share, must not know.
const UNKNOWN_TO_THE_DOOR: &[&str] = &["bus::state", "super::state", "super::rules"];

/// Parts of the bus that another part of it must not know.
const UNKNOWN_IN_BUS: [(&str, &[&str]); 11] = [
    ("bus/event/", &["bus::state", "bus::storage", "bus::rules", "bus::shared"]),
    ("bus/state/", &["bus::storage", "bus::rules", "bus::shared"]),
    ("bus/storage/mod.rs", UNKNOWN_TO_THE_DOOR),
    ("bus/storage/append_outcome.rs", UNKNOWN_TO_THE_DOOR),
    ("bus/storage/bus_log.rs", UNKNOWN_TO_THE_DOOR),
    ("bus/storage/durability.rs", UNKNOWN_TO_THE_DOOR),
    ("bus/storage/session_presence.rs", UNKNOWN_TO_THE_DOOR),
    ("bus/storage/write_turn.rs", UNKNOWN_TO_THE_DOOR),
    ("bus/storage/", &["bus::rules", "bus::shared", "bus::background", "bus::api"]),
    ("bus/rules/", &["bus::shared", "bus::background", "bus::api"]),
    ("bus/background/", &["bus::api"]),
];

/// The only places that may use an outside crate, as beginnings of paths.
const OWNERS: [(&str, &[&str]); 17] = [
    ("agent_client_protocol", &["acp/", "scripted/"]),
    ("rmcp", &["mcp/", "scripted/"]),
    ("nix", &["sys/"]),
    ("fs4", &["sys/"]),
    ("rustix", &["sys/"]),
    ("notify", &["bus/storage/file/"]),
    ("axum", &["web/"]),
    ("hyper", &["web/"]),
    ("maud", &["web/"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("clap_mangen", &["cli/"]),
    ("console", &["cli/"]),
    ("ratatui", &["cli/"]),
    ("rusqlite", &["search/"]),
    ("jsonc_parser", &["setup/"]),
    ("toml_edit", &["setup/"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source file: its path below `src`, and its lines of code.
struct Source {
    path: String,
    /// Without comments, and without the tests at its end.
    code: Vec<String>,
    lines: usize,
}

impl Source {
    fn module(&self) -> &str {
        self.path.split('/').next().expect("a path has a first part")
    }

    fn is_test(&self) -> bool {
        is_test(&self.path)
    }
}

/// Says whether a path below `src`, with or without its extension, is test code.
fn is_test(path: &str) -> bool {
    const NAMES: [&str; 4] = ["tests", "test_members", "simulated_disk", "faulty_log"];
    let path = path.trim_end_matches(".rs");
    path.split('/').any(|part| NAMES.contains(&part)) || path.contains("/model")
}

fn sources() -> Vec<Source> {
    let root = root().join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    assert!(found.len() > 20, "the sources are there");
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let below = path.strip_prefix(&root).unwrap();
            Source {
                path: below.to_str().unwrap().to_owned(),
                code: code(&text),
                lines: text.lines().count(),
            }
        })
        .collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn code(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let has_tests = lines.peek().is_some_and(|next| next.starts_with("mod tests {"));
        if line == "#[cfg(test)]" && has_tests {
            break;
        }
        if !line.trim_start().starts_with("//") {
            code.push(line.to_owned());
        }
    }
    code
}

/// Says whether a line names a path that begins with this word, as `nix::` or `use nix;`.
fn names_crate(line: &str, word: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].bytes().next_back();
        let after = &line[at + word.len()..];
        let stands_alone =
            !before.is_some_and(|byte| is_word(byte) || byte == b':' || byte == b'.');
        stands_alone && after.starts_with("::")
    })
}

/// Returns the modules of this crate that a line names.
fn modules_named(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("crate::").map(|(at, found)| {
        let rest = &line[at + found.len()..];
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

fn rank(module: &str) -> Option<usize> {
    MODULES.iter().position(|known| *known == module)
}

/// Collects all violations, and shows them at once.
fn check(complain: impl Fn(&Source, &str) -> Option<String>) {
    let mut wrong = Vec::new();
    for source in sources() {
        for line in &source.code {
            if let Some(complaint) = complain(&source, line) {
                wrong.push(format!("src/{}: {complaint}: {}", source.path, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_module_imports_only_from_those_above_it() {
    check(|source, line| {
        let own = rank(source.module())?;
        let below = modules_named(line).find(|named| rank(named).is_some_and(|rank| rank > own));
        below.map(|below| format!("`{below}` stands below `{}`", source.module()))
    });
}

#[test]
fn a_module_does_not_name_a_forbidden_module() {
    check(|source, line| {
        if source.is_test() {
            return None;
        }
        let (_, unknown) = UNKNOWN.iter().find(|(module, _)| *module == source.module())?;
        let named = modules_named(line).find(|named| unknown.contains(named))?;
        Some(format!("`{}` must not know `{named}`", source.module()))
    });
}

#[test]
fn a_part_of_the_bus_does_not_know_its_users() {
    check(|source, line| {
        if source.is_test() || source.path == "bus/storage/contract.rs" {
            return None;
        }
        let rooms = UNKNOWN_IN_BUS.iter().filter(|(room, _)| source.path.starts_with(room));
        let mut unknown = rooms.flat_map(|(_, unknown)| *unknown);
        let named = unknown.find(|unknown| names_crate(&line.replace("crate::", ""), unknown))?;
        Some(format!("it must not know `{named}`"))
    });
}

#[test]
fn the_domain_knows_no_runtime_files_or_clocks() {
    check(|source, line| {
        let outside = ["tokio", "std::fs", "std::process"];
        let named = outside.into_iter().find(|word| names_crate(line, word));
        let clocks = ["Instant", "SystemTime"];
        let named = named.or_else(|| clocks.into_iter().find(|word| line.contains(word)))?;
        (source.module() == "domain").then(|| format!("`domain` must not know `{named}`"))
    });
}

#[test]
fn outside_crates_have_owners() {
    check(|source, line| {
        if source.is_test() {
            return None;
        }
        OWNERS.iter().find_map(|(name, owners)| {
            let owned = owners.iter().any(|owner| source.path.starts_with(owner));
            (!owned && names_crate(line, name)).then(|| format!("`{name}` belongs to {owners:?}"))
        })
    });
}

#[test]
fn only_one_place_prints() {
    check(|source, line| {
        let prints = ["println!", "print!", "eprintln!", "eprint!", "dbg!"];
        let word = prints.into_iter().find(|word| line.contains(word))?;
        let allowed = source.path.starts_with("cli/output") || source.is_test();
        (!allowed).then(|| format!("`{word}` belongs to `cli::output`"))
    });
}

/// Only `Hidden` cuts the text of an agent, so that no half of a key is left at its end. The exempt files cut names.
#[test]
fn only_hidden_text_is_cut() {
    const NAMES: [&str; 2] = ["team/assign/unknown_agent.rs", "team/assign/resume_agent.rs"];
    check(|source, line| {
        let cuts = [".chars().take(", ".truncate(", "char_indices().nth("];
        let cut = cuts.into_iter().find(|cut| line.contains(cut))?;
        let cuts_words = source.module() == "team"
            && !source.is_test()
            && !NAMES.contains(&source.path.as_str());
        cuts_words.then(|| format!("`{cut}` belongs to `domain::text::redact::Hidden`"))
    });
}
