//! Files, modules, tests and links that a document names exist.

use std::fs;
use std::path::{Path, PathBuf};

use super::{MODULES, root, walk};

/// The documents whose tables name the test of each claim.
const CLAIMS: [&str; 5] =
    ["security.md", "reliability.md", "tools.md", "agents.md", "invariants.md"];

/// The beginnings of paths in this repository.
const FOLDERS: [&str; 9] =
    ["src/", "tests/", "e2e/", "docs/", "examples/", "agents/", "benches/", "fuzz/", "packaging/"];

/// Returns the documents: the path of each in the repository, and its text without code blocks.
fn documents() -> Vec<(PathBuf, String)> {
    let in_folder = |folder: &'static str| {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        entries.map(move |entry| Path::new(folder).join(entry.unwrap().file_name()))
    };
    let in_docs = in_folder("docs").chain(in_folder("docs/design"));
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let around = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "RELEASING.md"];
    let around = around.iter().map(PathBuf::from);
    let said = |path: PathBuf| {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let parts = format!("\n{text}");
        let outside = parts.split("\n```").step_by(2);
        (path, outside.collect::<Vec<_>>().join("\n"))
    };
    in_docs.filter(is_document).chain(around).map(said).collect()
}

/// Returns the quotations in backticks of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Returns a function that says whether there is a test of a name.
pub(crate) fn test_names() -> impl Fn(&str) -> bool {
    let mut files = Vec::new();
    for folder in ["src", "tests", "e2e"] {
        walk(&root().join(folder), &mut files);
    }
    let code: Vec<_> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let trials = fs::read_to_string(root().join("e2e/main.rs")).unwrap();
    move |name: &str| {
        let function = format!("fn {name}(");
        code.iter().any(|text| text.contains(&function)) || trials.contains(&format!("\"{name}\""))
    }
}

#[test]
fn every_test_that_a_claim_names_exists() {
    let is_there = test_names();
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

/// Says whether a file or folder exists, below the root or, for sources, below `src`.
fn is_path_there(named: &str) -> bool {
    root().join(named).exists() || root().join("src").join(named).exists()
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        for named in text.lines().flat_map(quoted) {
            let begins = FOLDERS.iter().any(|folder| named.starts_with(folder));
            let is_source = named.contains('/')
                && Path::new(named).extension().is_some_and(|kind| kind == "rs");
            // Patterns and placeholders are no paths, and `.ts` files belong to the predecessor of this program.
            let is_path = (begins || is_source)
                && !named.contains([' ', '*', '{', '<'])
                && Path::new(named).extension().is_none_or(|kind| kind != "ts");
            // The table of modules names files below each.
            let is_below = |module: &&str| root().join("src").join(module).join(named).exists();
            if is_path && !is_path_there(named) && !MODULES.iter().any(is_below) {
                wrong.push(format!("{}: no `{named}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the source of a module, `bus::event` by its parts.
fn source_of(parts: &[&str]) -> Option<String> {
    let path = root().join("src").join(parts.join("/"));
    let file = path.with_extension("rs");
    fs::read_to_string(file).or_else(|_| fs::read_to_string(path.join("mod.rs"))).ok()
}

#[test]
fn every_module_that_a_document_names_exists() {
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        for named in text.lines().flat_map(quoted) {
            let named = named.split(['(', '<', ' ']).next().expect("it has a beginning");
            let parts: Vec<_> = named.split("::").collect();
            if parts.len() < 2 || !MODULES.contains(&parts[0]) {
                continue;
            }
            // The deepest module that exists; the next part names an item in it.
            let depth = (1..=parts.len()).rev().find(|depth| source_of(&parts[..*depth]).is_some());
            let is_there = depth.is_some_and(|depth| {
                let source = source_of(&parts[..depth]).expect("it was just read");
                parts.get(depth).is_none_or(|name| source.contains(name))
            });
            if !is_there {
                wrong.push(format!("{}: no `{named}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the anchors of a document: those that GitHub derives from its headings, and those that it writes itself.
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
        // A repeated heading gets a number.
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
