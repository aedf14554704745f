//! The pictures that documents show: each is there, is whole, small, and shows nothing of the machine on which it was drawn.

use std::fs;
use std::path::{Path, PathBuf};

/// The most bytes of a picture: a page shows several.
const BYTES: usize = 60_000;

/// Returns the pictures of the README and of the documents, each with its words for those who do not see it.
fn pictures() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let is_document = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "md");
    let mut found = Vec::new();
    for path in docs.filter(is_document).chain([root.join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        for shown in text.split("![").skip(1) {
            let Some((words, rest)) = shown.split_once("](") else { continue };
            let target = rest.split(')').next().unwrap();
            let is_svg = Path::new(target).extension().is_some_and(|kind| kind == "svg");
            if is_svg && !target.contains("://") {
                found.push((path.parent().unwrap().join(target), words.to_owned()));
            }
        }
    }
    found
}

/// Says what is wrong with the tags and letters of an XML text of elements, attributes and texts.
fn fault(text: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let bare = before.split('&').skip(1);
        let is_escape = |part: &str| {
            ["amp;", "lt;", "gt;", "quot;"].iter().any(|known| part.starts_with(known))
        };
        if before.contains('>') || !bare.into_iter().all(is_escape) {
            return Some(format!("an unescaped letter in `{before}`"));
        }
        let Some((tag, after)) = after.split_once('>') else {
            return Some("an open tag".to_owned());
        };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("`{name}` ends, and is not the last that began"));
            }
            continue;
        }
        let attributes = tag.trim_end_matches('/');
        if !attributes.matches('"').count().is_multiple_of(2) {
            return Some(format!("an open quotation in `{tag}`"));
        }
        let name = attributes.split_whitespace().next().unwrap_or_default();
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    open.last().map(|name| format!("`{name}` does not end"))
}

/// The directory of the demo, without the part of its name that differs each time: it is the same on every machine.
const OF_DEMO: &str = "/tmp/cli-team-bridge-demo";

/// Returns a word of a picture that is an absolute path, and so one of the machine on which the picture was made.
fn absolute_path(text: &str) -> Option<&str> {
    let mut words =
        text.split(|letter: char| letter.is_whitespace() || "\"'`<>()[],;=".contains(letter));
    let is_path = |word: &&str| word.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    words.find(|word| is_path(word) && *word != OF_DEMO)
}

#[test]
fn every_picture_is_there_and_whole_and_has_words() {
    let found = pictures();
    for name in ["demo.svg", "top.svg", "run.svg"] {
        assert!(found.iter().any(|(path, _)| path.ends_with(name)), "{name} is shown nowhere");
    }
    for (path, words) in found {
        let shown = path.display();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert!(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{shown}");
        assert_eq!(fault(&text), None, "{shown}");
        assert!(text.len() < BYTES, "{shown} has {} bytes", text.len());
        assert!(words.split_whitespace().count() >= 5, "{shown} needs words: `{words}`");
        assert_eq!(absolute_path(&text), None, "{shown}");
    }
}

#[test]
fn an_absolute_path_is_found() {
    let found = "<t>in \"/home/ann/app\" &amp; \u{2713}</t>";
    assert_eq!(absolute_path(found), Some("/home/ann/app"));
    for fine in
        ["<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "<g></g>", "src/main.rs", "1/2 and/or"]
    {
        assert_eq!(absolute_path(fine), None, "{fine}");
    }
}

#[test]
fn a_broken_picture_is_found() {
    assert_eq!(fault("<svg a=\"1\"><g/><t>a &amp; b</t></svg>\n"), None);
    for broken in
        ["<svg><t></svg>", "<svg>", "<svg>a & b</svg>", "<svg a=\"1></svg>", "<svg", "<a></a></b>"]
    {
        assert!(fault(broken).is_some(), "{broken}");
    }
}
