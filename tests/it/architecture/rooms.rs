//! The layout of files: how many a folder has, how long they are, which names they may share, and that no code hides in a
//! `mod.rs`, whose name says nothing about its content.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{root, sources, walk};

/// Lines of a file that is one idea; a longer file is to be divided.
const MOST_LINES: usize = 500;

/// Files of a folder that can be taken in at a glance; a larger folder is to be divided.
const MOST_FILES: usize = 14;

/// Names that say which part of its folder a file is.
const OF_FOLDER: [&str; 4] = ["mod.rs", "tests.rs", "main.rs", "error.rs"];

/// Folders that hold the levels of one thing under the same name: the stored event, the state, the rules, the tool. Tests are
/// exempt too, because they share the name of the code under test.
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

/// Returns the items of a source that are neither `mod name;` nor `use`, each by its first words (`fn decide`).
fn written_items(text: &str) -> Vec<String> {
    let tokens: TokenStream = text.parse().expect("the source is Rust");
    let mut tokens = tokens.into_iter().peekable();
    let mut items = Vec::new();
    while let Some(tree) = tokens.next() {
        let is_punct = |tree: &TokenTree, letter: char| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == letter);
        if is_punct(&tree, '#') {
            // A comment (`#![doc]`) or an attribute.
            tokens.next_if(|next| is_punct(next, '!'));
            tokens.next();
            continue;
        }
        if tree.to_string() == "pub" {
            // Skip the `(crate)` of `pub(crate)`.
            tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
            continue;
        }
        let kind = tree.to_string();
        let (mut words, mut ends_with_block) = (vec![kind.clone()], false);
        let mut last = Some(tree);
        while let Some(tree) = last {
            ends_with_block =
                matches!(&tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
            let is_over = is_punct(&tree, ';') || (ends_with_block && kind != "use");
            last = if is_over { None } else { tokens.next() };
            if let Some(TokenTree::Ident(word)) = &last
                && words.len() < 2
            {
                words.push(word.to_string());
            }
        }
        let is_declaration = kind == "use" || (kind == "mod" && !ends_with_block);
        if !is_declaration && kind != ";" {
            items.push(words.join(" "));
        }
    }
    items
}

#[test]
fn a_mod_file_holds_declarations_alone() {
    let mod_files: Vec<_> = files()
        .into_iter()
        .filter(|file| file.starts_with("src") && file.ends_with("mod.rs"))
        .collect();
    assert!(mod_files.len() > 10, "mod files are found: {}", mod_files.len());
    let wrong: Vec<_> = mod_files
        .into_iter()
        .flat_map(|file| {
            let items = written_items(&fs::read_to_string(root().join(&file)).unwrap());
            items.into_iter().map(move |item| format!("{}: `{item}`", file.display()))
        })
        .collect();
    let advice = "move them to files named after what they decide";
    assert!(wrong.is_empty(), "{advice}:\n{}", wrong.join("\n"));
}

#[test]
fn items_are_distinguished_from_declarations() {
    let items = written_items(
        "//! Head.\n#[cfg(test)] mod a; pub(crate) mod b; pub use self::b::{C, d::{E, F}}; use x::*;\n\
         pub mod inline { fn no() {} } const G: H = H { i: 1 }; pub(super) struct J(K); impl J { fn l() {} }\n\
         /// Says.\n#[derive(Debug)] enum M { N } macro_rules! o { () => {} } proptest! { fn p() {} }",
    );
    let expected =
        ["mod inline", "const G", "struct J", "impl J", "enum M", "macro_rules o", "proptest"];
    assert_eq!(items, expected);
}
