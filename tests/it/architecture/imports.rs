//! Imports between files: no circles, except between a module and its own children.
//!
//! Read from the tokens of the sources, so that words in strings and comments do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{is_test, walk};

/// A path that a file names, `crate::bus::event::Event` by its parts.
type Named = Vec<String>;

/// The paths that one file names.
#[derive(Default)]
struct Names {
    paths: Vec<Named>,
    /// The names that it re-exports (`pub use`), each with its path.
    exported: BTreeMap<String, Named>,
}

/// Reads a run of tokens of one nesting level.
struct Tokens {
    trees: Vec<TokenTree>,
    at: usize,
}

impl Tokens {
    fn of(stream: TokenStream) -> Self {
        Self { trees: stream.into_iter().collect(), at: 0 }
    }

    fn peek(&self) -> Option<&TokenTree> {
        self.trees.get(self.at)
    }

    fn next(&mut self) -> Option<TokenTree> {
        let tree = self.peek().cloned();
        self.at += 1;
        tree
    }

    fn is_punct(&self, offset: usize, letter: char) -> bool {
        matches!(self.trees.get(self.at + offset), Some(TokenTree::Punct(punct)) if punct.as_char() == letter)
    }

    fn skips_colons(&mut self) -> bool {
        let are_there = self.is_punct(0, ':') && self.is_punct(1, ':');
        self.at += if are_there { 2 } else { 0 };
        are_there
    }

    fn ident(&mut self) -> Option<String> {
        let Some(TokenTree::Ident(ident)) = self.peek() else { return None };
        let ident = ident.to_string();
        self.at += 1;
        Some(ident)
    }

    /// Skips the item behind an attribute, which ends with a block or a semicolon.
    fn skip_item(&mut self) {
        while let Some(tree) = self.next() {
            match tree {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                TokenTree::Punct(punct) if punct.as_char() == ';' => return,
                _ => {}
            }
        }
    }
}

impl Names {
    fn of(text: &str) -> Self {
        let mut names = Self::default();
        names.read(text.parse().expect("the source is Rust"));
        names
    }

    fn read(&mut self, stream: TokenStream) {
        let mut tokens = Tokens::of(stream);
        let mut is_public = false;
        while let Some(tree) = tokens.next() {
            match tree {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = tokens.next()
                        && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
                    {
                        tokens.skip_item();
                    }
                }
                TokenTree::Ident(word) if word == "pub" => {
                    is_public = true;
                    // Skip the `(crate)` of `pub(crate)`.
                    if let Some(TokenTree::Group(_)) = tokens.peek() {
                        tokens.at += 1;
                    }
                    continue;
                }
                TokenTree::Ident(word) if word == "use" => {
                    self.read_use(&mut tokens, &[], is_public);
                }
                TokenTree::Ident(word) => {
                    let mut path = vec![word.to_string()];
                    while tokens.skips_colons() {
                        match tokens.ident() {
                            Some(part) => path.push(part),
                            None => break,
                        }
                    }
                    if path.len() > 1 {
                        self.paths.push(path);
                    }
                }
                TokenTree::Group(group) => self.read(group.stream()),
                _ => {}
            }
            is_public = false;
        }
    }

    /// Reads one tree of a `use`, up to its comma or semicolon.
    fn read_use(&mut self, tokens: &mut Tokens, before: &[String], is_public: bool) {
        let mut path = before.to_vec();
        loop {
            if let Some(part) = tokens.ident() {
                if part != "self" || path.is_empty() {
                    path.push(part);
                }
                if tokens.skips_colons() {
                    continue;
                }
            } else if let Some(TokenTree::Group(group)) = tokens.peek() {
                let mut inner = Tokens::of(group.stream());
                tokens.at += 1;
                while inner.peek().is_some() {
                    self.read_use(&mut inner, &path, is_public);
                    inner.at += usize::from(inner.is_punct(0, ','));
                }
                return;
            } else if tokens.is_punct(0, '*') {
                tokens.at += 1;
            }
            break;
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if matches!(tokens.peek(), Some(TokenTree::Ident(word)) if word == "as") {
            tokens.at += 1;
            name = tokens.ident().unwrap_or_default();
        }
        if is_public {
            self.exported.insert(name, path);
        } else {
            self.paths.push(path);
        }
    }
}

/// The files of `src` as modules, by their paths (`bus::event::entry`), with what each names.
struct Modules(BTreeMap<String, Names>);

impl Modules {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        walk(&root, &mut files);
        let modules = files.into_iter().filter_map(|file| {
            let below = file.strip_prefix(&root).unwrap().with_extension("");
            let module = below.to_str().unwrap().replace('/', "::");
            let module = module.strip_suffix("::mod").unwrap_or(&module).to_owned();
            let has_edges = !is_test(below.to_str().unwrap()) && module != "lib";
            has_edges.then(|| (module, Names::of(&fs::read_to_string(&file).unwrap())))
        });
        Self(modules.collect())
    }

    /// Resolves a path that a module names to a path from the crate's root.
    fn absolute(&self, module: &str, path: &[String]) -> Option<Named> {
        let own = || module.split("::").map(str::to_owned);
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some(own().chain(path[1..].iter().cloned()).collect()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let depth = own().count().checked_sub(ups)?;
                Some(own().take(depth).chain(path[ups..].iter().cloned()).collect())
            }
            child => {
                let is_child = self.0.contains_key(&format!("{module}::{child}"));
                is_child.then(|| own().chain(path.iter().cloned()).collect())
            }
        }
    }

    /// Returns the file that defines an item which a module names, behind all re-exports.
    fn home(&self, module: &str, path: &[String]) -> Option<String> {
        let (mut module, mut path) = (module.to_owned(), path.to_vec());
        for _ in 0..8 {
            let absolute = self.absolute(&module, &path)?;
            let depth = (1..=absolute.len())
                .rev()
                .find(|n| self.0.contains_key(&absolute[..*n].join("::")))?;
            let home = absolute[..depth].join("::");
            let Some(next) = absolute.get(depth).and_then(|name| self.0[&home].exported.get(name))
            else {
                return Some(home);
            };
            (module, path) = (home, next.clone());
        }
        None
    }

    /// Returns the files that each file imports, except its own children and the modules around it.
    fn edges(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let is_around = |a: &str, b: &str| a == b || b.starts_with(&format!("{a}::"));
        let edges = self.0.iter().map(|(module, names)| {
            let homes = names.paths.iter().filter_map(|path| self.home(module, path));
            let others = homes.filter(|home| !is_around(home, module) && !is_around(module, home));
            (module.as_str(), others.collect())
        });
        edges.collect()
    }
}

/// Returns all files that a file imports, directly or indirectly.
fn reached(from: &str, edges: &BTreeMap<&str, BTreeSet<String>>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<_> = edges[from].iter().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module.clone()) {
            next.extend(&edges[module.as_str()]);
        }
    }
    reached
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let modules = Modules::read();
    let mut edges = modules.edges();
    let arrows: usize = edges.values().map(BTreeSet::len).sum();
    assert!(arrows > 500, "imports are found: {arrows}");
    // A file is in a circle if its imports lead back to it. Only imports on the circle are kept.
    let reached: BTreeMap<_, _> = edges.keys().map(|from| (*from, reached(from, &edges))).collect();
    let comes_back = |to: &String, from: &str| reached[to.as_str()].contains(from);
    for (from, to) in &mut edges {
        to.retain(|to| comes_back(to, from));
    }
    edges.retain(|_, to| !to.is_empty());
    let shown: Vec<_> = edges.iter().map(|(from, to)| format!("{from} -> {to:?}")).collect();
    assert!(shown.is_empty(), "files that import each other:\n{}", shown.join("\n"));
}

#[test]
fn names_are_read_from_uses_and_paths() {
    let names = Names::of(
        "use crate::a::{self, b::{C, D as E}, f::*}; pub(crate) use g::H; // use crate::no;\n\
         #[cfg(test)] mod tests { use crate::no; } fn f() { crate::i::j(\"crate::no\"); }",
    );
    let paths: Vec<_> = names.paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(
        paths,
        ["crate::a", "crate::a::b::C", "crate::a::b::D", "crate::a::f", "crate::i::j"]
    );
    assert_eq!(names.exported["H"], ["g", "H"]);
}
