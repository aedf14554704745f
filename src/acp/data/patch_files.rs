//! The files that a patch names: in the format that codex and droid use with their models, and in those of `diff` and git. Pure.
//!
//! Every name that a program for patches could read is returned. Names that it would skip may be returned as well.

use std::collections::HashSet;

/// The lines of a patch of codex or droid that name a file.
const FILES: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The lines of such a patch that look like headers of a context diff.
const NO_HEADERS: [&str; 3] = ["*** Begin Patch", "*** End Patch", "*** End of File"];

/// The lines of a unified diff that name a file without a leading `a/` or `b/`.
const AS_IT_IS: [&str; 7] = [
    "rename from ",
    "rename to ",
    "rename old ",
    "rename new ",
    "copy from ",
    "copy to ",
    "Index:",
];

/// Characters that may precede every line of a patch: quotes, and those that `patch` accepts as indentation.
const BEFORE: [char; 4] = [' ', '\t', '>', 'X'];

/// Characters that some programs accept as the end of a line, besides a line feed.
const ENDS: [char; 9] =
    ['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The beginning of a search-and-replace block. Programs differ in where they name its file.
const SEARCH: &str = "<<<<<";

/// The name that stands for no file.
const NO_FILE: &str = "/dev/null";

/// Returns the files of a text that is nothing but a patch of codex or droid; none for any other text.
pub(crate) fn files_of_whole(text: &str) -> Vec<String> {
    if text.trim_start().starts_with("*** Begin Patch") { named_files(text) } else { Vec::new() }
}

/// Returns the files of all patches in a text, whatever surrounds them; an empty name stands for an unreadable one.
pub(crate) fn files(text: &str) -> Vec<String> {
    let mut files = named_files(text);
    files.extend(files_of_diff(text));
    let mut known = HashSet::new();
    files.retain(|file| known.insert(file.clone()));
    files
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    // `\r\n` is one line end, without an empty line between.
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split(ENDS))
}

/// Returns a line without the characters that may precede every line.
fn bare(line: &str) -> &str {
    let mut line = line.trim_start_matches(BEFORE);
    // The quoting of a diff in a mail (RFC 934).
    while let Some(inner) = line.strip_prefix("- ") {
        line = inner;
    }
    line
}

fn named_files(text: &str) -> Vec<String> {
    let named = lines(text).filter_map(|line| {
        let path = FILES.iter().find_map(|of| bare(line).strip_prefix(of))?;
        Some(path.trim().to_owned())
    });
    named.collect()
}

/// Reads the headers of unified diffs and context diffs. Among the changed lines, a header only counts as a pair of lines, because a
/// removed `-- x` looks like `--- x`.
fn files_of_diff(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut in_hunk = false;
    let mut lines = lines(text).peekable();
    while let Some(whole) = lines.next() {
        let line = bare(whole);
        let next = lines.peek().map(|next| bare(next));
        // Changed lines begin with these only. Where the lines are indented or quoted, the hunk ends with the next header.
        let may_be_changed =
            whole.is_empty() || whole.starts_with(['+', '-', '\\']) || whole.starts_with(BEFORE);
        in_hunk &= may_be_changed;
        if line.starts_with("@@") {
            in_hunk = true;
        } else if let Some(old) = header(line, "***") {
            if let Some(new) = next.and_then(|next| header(next, "---")) {
                files.extend([old, new].into_iter().filter_map(stripped));
                in_hunk = false;
            }
        } else if let Some(old) = header(line, "---") {
            let new = next.and_then(|next| header(next, "+++"));
            if !in_hunk || new.is_some() {
                files.extend([Some(old), new].into_iter().flatten().filter_map(stripped));
                in_hunk = false;
            }
        } else if let Some(new) = header(line, "+++") {
            if !in_hunk {
                files.extend(stripped(new));
            }
        } else if let Some(both) = line.strip_prefix("diff --git ") {
            in_hunk = false;
            files.extend(both_of(both));
        } else if let Some(name) = AS_IT_IS.iter().find_map(|of| line.strip_prefix(of)) {
            files.extend(plain(name.trim_start()));
        } else if line.starts_with(SEARCH) && !in_hunk {
            files.push(String::new());
        }
    }
    files
}

/// Returns the text behind the sign of a header; `None` for the range of a hunk in a context diff, `--- 1,2 ----`.
fn header<'l>(line: &'l str, sign: &str) -> Option<&'l str> {
    if NO_HEADERS.contains(&line.trim_end()) {
        return None;
    }
    let named = line.strip_prefix(sign)?.strip_prefix([' ', '\t'])?.trim_start();
    let range = named.trim_end().trim_end_matches(['-', '*', ' ']);
    let is_range = range.len() < named.len()
        && range.starts_with(|sign: char| sign.is_ascii_digit())
        && range.chars().all(|sign| sign.is_ascii_digit() || sign == ',');
    (!is_range).then_some(named)
}

/// Returns the name in a header, without the time behind it and the `a/` or `b/` before it.
fn stripped(header: &str) -> Option<String> {
    let name = plain(header.split('\t').next().unwrap_or_default())?;
    let inner = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    Some(inner.unwrap_or(&name).to_owned())
}

/// Returns a name as written: `None` for no file, and an empty one for a name that git quotes because of its special characters.
fn plain(name: &str) -> Option<String> {
    let name = name.trim_end();
    match name {
        NO_FILE => None,
        name if name.starts_with('"') => Some(String::new()),
        name => Some(name.to_owned()),
    }
}

/// Returns the names in `a/x b/y`. Both may contain spaces, so only two equal names, or names without any other space, can be read.
fn both_of(both: &str) -> Vec<String> {
    let both = both.trim_end();
    let halves = both.split_at_checked(both.len() / 2);
    let halves =
        halves.and_then(|(old, new)| Some((stripped(old)?, stripped(new.strip_prefix(' ')?)?)));
    if let Some((old, new)) = halves
        && old == new
    {
        return vec![old];
    }
    let mut words = both.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some(old), Some(new), None) => [old, new].into_iter().filter_map(stripped).collect(),
        _ => vec![String::new()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(files(text), expected, "{text}");
    }

    #[test]
    fn a_patch_is_read_after_any_text() {
        let patch = "*** Begin Patch\n*** Update File: a b\n*** Move to: c\n@@\n-x\n+*** Add File: no\n*** End Patch";
        check(patch, &["a b", "c"]);
        let about = format!("Please apply:\n{patch}");
        check(&about, &["a b", "c"]);
        assert_eq!(files_of_whole(&about), [""; 0]);
        assert_eq!(files_of_whole(patch), ["a b", "c"]);
    }

    #[test]
    fn the_files_of_a_unified_diff_are_read() {
        check("--- a/src/x\t2024-01-01\n+++ b/src/x\n@@ -1 +1 @@\n-a\n+b\n", &["src/x"]);
        check("--- x\n+++ ../y\n@@ -1 +1 @@\n", &["x", "../y"]);
        check("--- /dev/null\r\n+++ b/new\r\n@@ -0,0 +1 @@\n", &["new"]);
        check("+++ only/new\n@@ -0,0 +1 @@\n", &["only/new"]);
        check("Index: old\n=====\n@@ -1 +1 @@\n", &["old"]);
        check(
            "From: x\n\ndiff --git a/.git/hooks/a b/.git/hooks/a\nnew file mode 100755\n",
            &[".git/hooks/a"],
        );
        check(
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to z\n",
            &["x", "y", "z"],
        );
        check("diff --git a/a b b/a b\n", &["a b"]);
    }

    #[test]
    fn a_diff_is_read_with_indented_and_quoted_lines() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n";
        for before in ["  ", "\t", "> ", ">> ", "X", "- "] {
            let lines: Vec<_> = diff.lines().map(|line| format!("{before}{line}")).collect();
            check(&lines.join("\n"), &["x", "y"]);
        }
        check(&diff.replace('\n', "\r"), &["x", "y"]);
        check(&diff.replace('\n', "\r\n"), &["x", "y"]);
        check("---\tAGENTS.md\n+++\tAGENTS.md\n@@ -1 +1 @@\n", &["AGENTS.md"]);
        check("```diff\n--- a/x\n+++ b/y\n```\n", &["x", "y"]);
        check("Index:x\n", &["x"]);
    }

    #[test]
    fn the_files_of_a_context_diff_are_read_after_a_hunk_too() {
        let context = "*** a/y\t2024-01-01\n--- b/z\t2024-01-01\n***************\n\
            *** 1,2 ****\n! a\n--- 1,2 ----\n! b\n";
        check(context, &["y", "z"]);
        check(&format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n{context}"), &["x", "y", "z"]);
    }

    #[test]
    fn search_and_replace_blocks_touch_an_unknown_file() {
        let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
        check(block, &[""]);
        check(&format!("@@ -1 +1 @@\n-a\n+b\n{block}"), &[""]);
        check("@@ -1,2 +1 @@\n-<<<<<<< x\n <<<<<<< y\n", &[]);
    }

    #[test]
    fn an_unreadable_name_is_returned_as_empty() {
        check("--- \"a/\\303\\274\"\n+++ b/x\n", &["", "x"]);
        check("diff --git \"a/\\303\" \"b/\\303\"\n", &[""]);
        check("diff --git a/a b b/c d\n", &[""]);
    }

    #[test]
    fn among_changed_lines_only_headers_are_read() {
        check("@@ -1,2 +1 @@\n--- a comment\n-x\n+++ more\n", &[]);
        check("@@ -1 +1 @@\n-x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n", &["y"]);
        check("no patch at all\n- a list\n", &[]);
    }
}
