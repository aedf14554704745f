//! Found by name: how many files a folder has, how long a file is, and which names two files may share.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{root, sources, walk};

/// Lines of a file that is one idea; more is to be divided.
const MOST_LINES: usize = 600;

/// Files of a folder that can be taken in at a glance; more is to be divided into rooms.
const MOST_FILES: usize = 14;

/// Names that say what a file is of its folder.
const OF_FOLDER: [&str; 4] = ["mod.rs", "tests.rs", "main.rs", "error.rs"];

/// Folders in which one thing stands at several levels, under the same name in each: what is stored, what follows from it, who may
/// do it, which tool asks for it. And tests, which are called like what they test.
const LEVELS: [&str; 8] = [
    "src/bus/event/",
    "src/bus/state/",
    "src/bus/rules/",
    "src/bus/api/",
    "src/domain/",
    "src/team/assign/",
    "src/mcp/tools/",
    "src/mcp/shapes/",
];

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["src", "tests", "e2e", "benches"] {
        walk(&root().join(folder), &mut files);
    }
    files.into_iter().map(|file| file.strip_prefix(root()).unwrap().to_owned()).collect()
}

#[test]
fn a_file_is_one_idea_long() {
    let too_long = sources().into_iter().filter(|source| source.lines > MOST_LINES);
    let wrong: Vec<_> =
        too_long.map(|source| format!("src/{}: {} lines", source.path, source.lines)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_folder_is_taken_in_at_a_glance() {
    let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in files() {
        *folders.entry(file.parent().unwrap().to_owned()).or_default() += 1;
    }
    let wrong: Vec<_> = folders.into_iter().filter(|(_, count)| *count > MOST_FILES).collect();
    assert!(wrong.is_empty(), "folders of too many files: {wrong:?}");
}

#[test]
fn two_files_share_a_name_only_as_levels_of_one_thing() {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let path = file.to_str().unwrap().to_owned();
        let is_test = path.contains("/tests/") || !path.starts_with("src/");
        if !OF_FOLDER.contains(&name.as_str()) && !is_test {
            named.entry(name).or_default().push(path);
        }
    }
    let is_level = |path: &String| LEVELS.iter().any(|level| path.starts_with(level));
    let twins = named.into_values().filter(|paths| paths.len() > 1);
    let wrong: Vec<_> = twins.filter(|paths| !paths.iter().all(is_level)).collect();
    assert!(wrong.is_empty(), "files that share a name: {wrong:#?}");
}

#[test]
fn every_file_says_what_it_is_for() {
    for file in files() {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        assert!(text.starts_with("//!"), "{}", Path::new(&file).display());
    }
}
