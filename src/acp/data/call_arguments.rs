//! The arguments of a tool, as far as permissions depend on them: the places that they name, and whether they contain a command. Pure.
//!
//! A name that one of the five agents uses for paths makes a path ([`Argument::Path`]). A value under any other name may be one, too,
//! unless it is known to be content ([`Argument::Suspect`]): such a place can cause a question, and never allows a call.

use serde_json::Value;

use super::{json_fields, patch_files};

/// Endings of the names of arguments that hold paths, without case and `_`.
const HOLDS_PATHS: [&str; 10] =
    ["path", "paths", "file", "files", "filename", "dir", "directory", "folder", "root", "uri"];

/// Names of arguments that hold a command, whatever its form.
const HOLDS_A_COMMAND: [&str; 3] = ["command", "cmd", "commandline"];

/// Names of arguments that may hold a command or a program, if their value is a text, a list or an object.
const MAY_HOLD_A_COMMAND: [&str; 19] = [
    "argv",
    "bash",
    "cmdline",
    "cmds",
    "code",
    "commands",
    "eval",
    "exec",
    "executable",
    "execute",
    "javascript",
    "powershell",
    "program",
    "python",
    "run",
    "script",
    "scripts",
    "shell",
    "shellcommand",
];

/// Words in such a name that mark a command: `shell_cmd`, `runScript`.
const SAYS_A_COMMAND: [&str; 21] = [
    "argv",
    "bash",
    "binary",
    "cmd",
    "cmdline",
    "cmds",
    "command",
    "commandline",
    "commands",
    "eval",
    "exec",
    "executable",
    "execute",
    "powershell",
    "program",
    "run",
    "script",
    "scripts",
    "sh",
    "shell",
    "zsh",
];

/// Names that the five agents give to arguments with a file's content, words for people or models, or a search text.
const HOLDS_CONTENT: [&str; 39] = [
    "aiproposedcontent",
    "aiproposedstring",
    "body",
    "content",
    "contents",
    "description",
    "exclude",
    "excludepattern",
    "excludepatterns",
    "explanation",
    "filecontent",
    "filetext",
    "glob",
    "globpattern",
    "ignore",
    "ignorepatterns",
    "instruction",
    "message",
    "modifiedcontent",
    "newcontent",
    "newsource",
    "newstr",
    "newstring",
    "newtext",
    "objective",
    "oldcontent",
    "oldsource",
    "oldstr",
    "oldstring",
    "oldtext",
    "originalcontent",
    "pattern",
    "patterns",
    "prompt",
    "query",
    "reason",
    "regex",
    "summary",
    "text",
];

/// Names of arguments that hold a patch.
const HOLDS_A_PATCH: [&str; 8] =
    ["diff", "diffs", "input", "patch", "patches", "patchtext", "udiff", "unifieddiff"];

/// Names of arguments that hold one of a few words, which may also be the name of a directory.
const HOLDS_A_WORD: [&str; 9] = [
    "cellid",
    "celltype",
    "editmode",
    "encoding",
    "kind",
    "mode",
    "operation",
    "outputmode",
    "type",
];

/// Characters of a text that may lead to a place.
const LEADS: [char; 3] = ['/', '.', '~'];

/// How deep arguments are read, including JSON inside texts.
const DEPTH: usize = 64;

/// A finding in arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A place that the call touches.
    Path(String),
    /// A text that may be a place that the call touches.
    Suspect(String),
    Command,
    /// A value that is too deep to be read.
    Unread,
}

/// Reads the arguments of a call.
pub(crate) fn read(arguments: &Value) -> Vec<Argument> {
    let mut found = Vec::new();
    // Arguments that are a text alone are a patch.
    see("input", arguments, 0, &mut found);
    found
}

/// Reads a value under a name, and everything in it.
fn see(name: &str, value: &Value, depth: usize, found: &mut Vec<Argument>) {
    if depth > DEPTH {
        found.push(Argument::Unread);
        return;
    }
    match value {
        Value::String(text) => see_text(name, text, depth, found),
        Value::Array(parts) => {
            for part in parts {
                see(name, part, depth + 1, found);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                see_field(field, value, depth, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn see_field(field: &str, value: &Value, depth: usize, found: &mut Vec<Argument>) {
    let name = field.replace(['_', '-'], "").to_lowercase();
    if is_command(field, &name, value) {
        found.push(Argument::Command);
    }
    if field.contains(LEADS) {
        found.push(suspect(field));
    }
    // codex: the changed files by their paths.
    if let ("changes", Some(by_path)) = (name.as_str(), value.as_object()) {
        found.extend(by_path.keys().cloned().map(Argument::Path));
    }
    see(&name, value, depth + 1, found);
}

fn is_command(field: &str, name: &str, value: &Value) -> bool {
    if HOLDS_A_COMMAND.contains(&name) {
        return !value.is_null();
    }
    let holds_any = match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    // A path that is the key of an entry is not a name.
    let says_so = || {
        let mut words = words(field).into_iter();
        !field.contains(LEADS) && words.any(|word| SAYS_A_COMMAND.contains(&word.as_str()))
    };
    holds_any && (MAY_HOLD_A_COMMAND.contains(&name) || says_so())
}

/// Returns the words of a name: the parts between `_`, `-` and spaces, and before capitals that follow small letters.
fn words(field: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for sign in field.chars() {
        let is_between = matches!(sign, '_' | '-' | ' ');
        if is_between || was_small && sign.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !is_between) {
            word.extend(sign.to_lowercase());
        }
        was_small = sign.is_lowercase();
    }
    words
}

fn see_text(name: &str, text: &str, depth: usize, found: &mut Vec<Argument>) {
    if text.is_empty() {
        return;
    }
    let is_content = HOLDS_CONTENT.contains(&name);
    let whole = patch_files::files_of_whole(text);
    if !whole.is_empty() {
        found.extend(whole.into_iter().map(Argument::Path));
        if !is_content {
            // A program that supports other patches may find one behind this one.
            found.extend(patch_files::files(text).into_iter().map(Argument::Suspect));
        }
        return;
    }
    if HOLDS_PATHS.iter().any(|end| name.ends_with(end)) {
        found.push(Argument::Path(text.to_owned()));
        if let Some(arguments) = inner(text) {
            see(name, &arguments, depth + 1, found);
        }
        return;
    }
    if is_content || HOLDS_A_WORD.contains(&name) && is_word(text) {
        return;
    }
    if HOLDS_A_PATCH.contains(&name) {
        let files = patch_files::files(text);
        // A text that begins with a hunk is part of a patch whose file is named elsewhere.
        let is_patch = !files.is_empty() || text.starts_with("@@");
        found.extend(files.into_iter().map(Argument::Suspect));
        if is_patch {
            return;
        }
    }
    match inner(text) {
        Some(arguments) => see(name, &arguments, depth + 1, found),
        None => found.push(suspect(text)),
    }
}

/// Returns a text as a possible place: an unknown one if it looks like a document or a list, which may name several.
fn suspect(text: &str) -> Argument {
    let is_document = text.contains(char::is_control)
        || text.contains(['<', '=', '"', '\'', '\u{2028}', '\u{2029}', '\u{feff}'])
        || text.contains(": ")
        // A glob has braces, too: `*.{ts,tsx}`.
        || text.contains('{') && text.contains(':');
    if is_document { Argument::Unread } else { Argument::Suspect(text.to_owned()) }
}

/// Says whether a text is a word that can only lead to a file or directory of that name.
fn is_word(text: &str) -> bool {
    !text.starts_with(['.', '~']) && !text.contains('/')
}

/// Returns the arguments that a text contains as JSON.
fn inner(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| json_fields::parse(text)).flatten()
}
