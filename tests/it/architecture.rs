//! The architecture, read from the sources: the order of modules, who owns which outside crate, who prints, how long a file is;
//! and whether the documents name what is there.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules in reading order, which is dependency order.
const MODULES: [&str; 12] = [
    "domain",
    "sys",
    "config",
    "bus",
    "supervisor",
    "acp",
    "delivery",
    "team",
    "workflow",
    "mcp",
    "scripted",
    "cli",
];

/// What a module must not know although it stands above.
const UNKNOWN: [(&str, &[&str]); 4] = [
    ("supervisor", &["bus"]),
    ("acp", &["bus", "supervisor"]),
    ("delivery", &["acp"]),
    ("scripted", &["bus", "team"]),
];

/// Where the users of an outside crate are, as beginnings of paths.
const OWNERS: [(&str, &[&str]); 8] = [
    ("agent_client_protocol", &["acp/", "scripted/"]),
    ("rmcp", &["mcp/", "scripted/"]),
    ("nix", &["sys/"]),
    ("fs4", &["sys/"]),
    ("rustix", &["sys/"]),
    ("notify", &["bus/storage/file/"]),
    ("clap", &["cli/"]),
    ("console", &["cli/"]),
];

/// Lines of a file that is one idea; more is to be divided.
const MOST_LINES: usize = 600;

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
        let name = self.path.rsplit('/').next().expect("a path has a last part");
        name == "tests.rs" || self.path.contains("/tests/") || self.path.contains("/model")
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
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

/// Collects what is wrong, and shows all of it at once.
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
fn a_module_does_not_know_what_it_must_not_know() {
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
fn values_know_no_runtime_and_no_files() {
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

/// What agents say is cut by `Hidden` alone, so that no half of a key is left at the end. What is cut in these files is no text of an
/// agent: names.
#[test]
fn only_hidden_text_is_cut() {
    const NAMES: [&str; 2] = ["team/assign/assign_task.rs", "team/assign/resume_agent.rs"];
    check(|source, line| {
        let cuts = [".chars().take(", ".truncate(", "char_indices().nth("];
        let cut = cuts.into_iter().find(|cut| line.contains(cut))?;
        let cuts_words = source.module() == "team"
            && !source.is_test()
            && !NAMES.contains(&source.path.as_str());
        cuts_words.then(|| format!("`{cut}` belongs to `domain::secret::Hidden`"))
    });
}

#[test]
fn a_file_is_one_idea_long() {
    let too_long = |source: Source| {
        (source.lines > MOST_LINES).then(|| format!("src/{}: {} lines", source.path, source.lines))
    };
    let wrong: Vec<_> = sources().into_iter().filter_map(too_long).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for source in sources() {
        let text = fs::read_to_string(root.join(&source.path)).unwrap();
        assert!(text.starts_with("//!"), "src/{}", source.path);
    }
}

/// The documents whose tables name the test of each claim.
const CLAIMS: [&str; 4] = ["security.md", "reliability.md", "tools.md", "agents.md"];

/// What a path of this repository begins with.
const FOLDERS: [&str; 8] =
    ["src/", "tests/", "e2e/", "docs/", "examples/", "agents/", "benches/", "fuzz/"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the documents, each by its path in the repository and what it says outside of blocks of code.
fn documents() -> Vec<(PathBuf, String)> {
    let in_docs = fs::read_dir(root().join("docs")).unwrap();
    let in_docs = in_docs.map(|entry| Path::new("docs").join(entry.unwrap().file_name()));
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let around = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];
    let around = around.iter().map(PathBuf::from);
    let said = |path: PathBuf| {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let parts = format!("\n{text}");
        let outside = parts.split("\n```").step_by(2);
        (path, outside.collect::<Vec<_>>().join("\n"))
    };
    in_docs.filter(is_document).chain(around).map(said).collect()
}

/// Returns what stands in backticks in a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn every_test_that_a_claim_names_is_there() {
    let mut files = Vec::new();
    for folder in ["src", "tests", "e2e"] {
        walk(&root().join(folder), &mut files);
    }
    let code: Vec<_> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let trials = fs::read_to_string(root().join("e2e/main.rs")).unwrap();
    let is_there = |name: &str| {
        let function = format!("fn {name}(");
        code.iter().any(|text| text.contains(&function)) || trials.contains(&format!("\"{name}\""))
    };
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        if !CLAIMS.iter().any(|claims| path.ends_with(claims)) {
            continue;
        }
        for line in text.lines().filter(|line| line.starts_with('|')) {
            let names = quoted(line).filter(|name| is_word(name));
            let tests = names.filter(|name| name.matches('_').count() >= 3);
            let gone = tests.filter(|name| !is_there(name));
            wrong.extend(gone.map(|name| format!("{}: no test `{name}`", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_path_that_a_document_names_is_there() {
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        for named in text.lines().flat_map(quoted) {
            // A pattern or a place that is filled in is no path, and what was in TypeScript is of the program before this one.
            let is_path = FOLDERS.iter().any(|folder| named.starts_with(folder))
                && !named.contains([' ', '*', '{', '<'])
                && Path::new(named).extension().is_none_or(|kind| kind != "ts");
            if is_path && !root().join(named).exists() {
                wrong.push(format!("{}: no `{named}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the anchors of a document, as GitHub makes them of its headings, and those that it writes itself.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut slugs = Vec::new();
    for line in text.lines() {
        let written = line.split("<a id=\"").skip(1);
        anchors.extend(written.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let slug: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        // A heading that was there before gets a number.
        match slugs.iter().filter(|before| **before == slug).count() {
            0 => anchors.push(slug.clone()),
            number => anchors.push(format!("{slug}-{number}")),
        }
        slugs.push(slug);
    }
    anchors
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        let links = text.split("](").skip(1);
        for link in links.filter_map(|rest| Some(rest.split_once(')')?.0)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = root().join(&path);
            let target = if file.is_empty() {
                folder
            } else {
                folder.parent().expect("it is in a folder").join(file)
            };
            let leads = target.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&target)
                        .is_ok_and(|text| anchors(&text).iter().any(|known| known == anchor)));
            if !leads {
                wrong.push(format!("{}: ({link}) leads nowhere", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
