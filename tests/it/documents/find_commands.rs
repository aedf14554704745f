//! Finds command lines: in the `sh` blocks and the quotations of documents, and in the heads of files.

use std::fs;
use std::path::{Path, PathBuf};

/// The first words of command lines. A quotation needs a second word to be one.
const PROGRAMS: [&str; 27] = [
    ".ci/run",
    "cargo",
    "cat",
    "cd",
    "claude",
    "cli-team-bridge",
    "codex",
    "cp",
    "dist/try/node_modules/.bin/cli-team-bridge",
    "droid",
    "e2e/install.sh",
    "gemini",
    "git",
    "install.sh",
    "jq",
    "mcp-publisher",
    "mkdir",
    "node",
    "npm",
    "npx",
    "packaging/build.sh",
    "python3",
    "qwen",
    "rm",
    "rustup",
    "sed",
    "tar",
];

/// The documents for people, besides those in `docs`.
const DOCUMENTS: [&str; 4] = ["README.md", "CONTRIBUTING.md", "RELEASING.md", "agents/README.md"];

/// The folders with files whose heads may print command lines.
const FOLDERS: [&str; 10] =
    [".ci", ".github", "agents", "benches", "e2e", "examples", "fuzz", "packaging", "src", "tests"];

/// A command line, and the file that prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) file: String,
    pub(super) command: String,
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all command lines, in the order of each file.
pub(super) fn all() -> Vec<Found> {
    let of = |path: PathBuf, commands: fn(&str) -> Vec<String>| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let found = commands(&text).into_iter();
        found.map(move |command| Found { file: file.clone(), command }).collect::<Vec<_>>()
    };
    let mut documents: Vec<_> = DOCUMENTS.iter().map(|name| root().join(name)).collect();
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    documents.extend(docs.filter(|path| path.extension().is_some_and(|kind| kind == "md")));
    let mut headed = Vec::new();
    for folder in FOLDERS {
        walk(&root().join(folder), &mut headed);
    }
    documents.sort();
    headed.sort();
    let documents = documents.into_iter().flat_map(|path| of(path, of_document));
    documents.chain(headed.into_iter().flat_map(|path| of(path, of_head))).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        if path.is_dir() {
            // What tools make there is not of the repository.
            if !matches!(name, "target" | "corpus" | "artifacts" | "node_modules" | "fixtures") {
                walk(&path, found);
            }
        } else if path.extension().is_none_or(|kind| kind != "md") {
            found.push(path);
        }
    }
}

/// Returns the command lines of a document.
fn of_document(text: &str) -> Vec<String> {
    let (mut found, mut block, mut paragraph) = (Vec::new(), None::<(bool, String)>, String::new());
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut block, fence) {
            (Some((is_shell, lines)), Some(_)) => {
                if *is_shell {
                    found.extend(of_shell(lines));
                }
                block = None;
            }
            (Some((_, lines)), None) => {
                lines.push_str(line);
                lines.push('\n');
            }
            (None, Some(language)) => {
                found.extend(quoted(&std::mem::take(&mut paragraph)));
                block = Some((language.trim() == "sh", String::new()));
            }
            (None, None) => {
                // A quotation may go over lines, but not over paragraphs or rows of a table.
                if line.trim().is_empty() || line.starts_with('|') {
                    found.extend(quoted(&std::mem::take(&mut paragraph)));
                    found.extend(quoted(line));
                } else {
                    paragraph.push_str(line);
                    paragraph.push(' ');
                }
            }
        }
    }
    found.extend(quoted(&paragraph));
    found
}

/// Returns the command lines of a file's head: its first lines, all of which are comments.
fn of_head(text: &str) -> Vec<String> {
    let text = text.lines().skip_while(|line| line.starts_with("#!/"));
    let head = text
        .map_while(|line| ["//!", "//", "#"].into_iter().find_map(|mark| line.strip_prefix(mark)));
    let (mut found, mut prose) = (Vec::new(), String::new());
    for line in head {
        let is_command = line.starts_with("   ") && program(line).is_some();
        if is_command {
            found.extend(of_shell(line));
        } else {
            prose.push_str(line);
            prose.push(' ');
        }
    }
    found.extend(quoted(&prose));
    found
}

/// Returns the program that a line starts, after the variables that it sets.
fn program(line: &str) -> Option<&str> {
    let is_variable = |word: &&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let program = line.split_whitespace().find(|word| !is_variable(word))?;
    PROGRAMS.contains(&program).then_some(program)
}

/// Returns the command lines among the quotations of a text.
fn quoted(text: &str) -> Vec<String> {
    let quotations = text.split('`').skip(1).step_by(2);
    let is_command = |quotation: &&str| {
        let program = program(quotation);
        program.is_some_and(|program| quotation.trim_end() != program)
    };
    quotations.filter(is_command).map(normal).collect()
}

/// Splits the text of a shell block into its commands, without comments. A command goes on in the next line inside of quotes, behind
/// a backslash, and up to the end of a here-document.
fn of_shell(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut command = without_comment(line).to_owned();
        while is_open(&command) {
            let Some(next) = lines.next() else { break };
            command.push('\n');
            command.push_str(next);
        }
        if let Some((_, end)) = command.split_once("<<") {
            let end = end.trim().trim_matches('\'').to_owned();
            for next in lines.by_ref() {
                command.push('\n');
                command.push_str(next);
                if next.trim() == end {
                    break;
                }
            }
        }
        if !command.trim().is_empty() {
            commands.push(command.trim().to_owned());
        }
    }
    commands
}

/// Returns the command as one line, to compare it: single spaces, and of a here-document only the beginning.
pub(super) fn normal(command: &str) -> String {
    let command = command.split_once("<<").map_or(command, |(begin, _)| begin);
    let words: Vec<_> = command.split_whitespace().filter(|word| *word != "\\").collect();
    words.join(" ")
}

fn is_open(command: &str) -> bool {
    let mut quote = None;
    for letter in command.chars() {
        match quote {
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
    }
    quote.is_some() || command.trim_end().ends_with('\\')
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match quote {
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            None if letter == '#' && (at == 0 || line[..at].ends_with(' ')) => return &line[..at],
            Some(open) if open == letter => quote = None,
            _ => {}
        }
    }
    line
}

#[test]
fn commands_are_found_in_blocks_quotations_and_heads() {
    let document = "Run `cargo test --lib` or `cargo`, then\n`cli-team-bridge\nsetup`.\n\n```sh\n# all of it\nX=1 cargo run  # here\n\
                    jq -r '.a # b\n  | .c' x\ncat > f <<'END'\ny\nEND\n```\n\n```\ncargo no\n```\n";
    let expected = [
        "cargo test --lib",
        "cli-team-bridge setup",
        "X=1 cargo run",
        "jq -r '.a # b\n  | .c' x",
        "cat > f <<'END'\ny\nEND",
    ];
    assert_eq!(of_document(document), expected);
    assert_eq!(normal(expected[3]), "jq -r '.a # b | .c' x");
    assert_eq!(normal(expected[4]), "cat > f");
    let head = "#!/bin/sh\n# Does it:\n#   cargo run x\n# or `npm ci now`.\necho `cargo no no`\n";
    assert_eq!(of_head(head), ["cargo run x", "npm ci now"]);
}
