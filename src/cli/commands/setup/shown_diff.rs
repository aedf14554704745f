//! The diff of a file. The owner's own lines may contain secrets, so their values are hidden. Pure.

use similar::{DiffOp, TextDiff};

/// The most characters of a line that are shown: some programs write the whole file on one line.
const MOST_CHARACTERS: usize = 140;

/// Lines of context around a change.
const AROUND: usize = 2;

/// The part of a line that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// The whole line: setup wrote it.
    Ours,
    /// Its key: the other side has the same line, except for a comma.
    Key,
    /// Its key, and this part, the only difference from the line on the other side.
    Part(String),
    /// Nothing: setup and the owner may both have written it.
    Nothing,
}

/// Returns the lines of the diff.
pub(super) fn diff(before: &str, after: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let all_old: Vec<&str> = diff.iter_old_slices().collect();
    let all_new: Vec<&str> = diff.iter_new_slices().collect();
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 {
            lines.push("  …".to_owned());
        }
        for op in group {
            let (old, new) = (&all_old[op.old_range()], &all_new[op.new_range()]);
            if matches!(op, DiffOp::Equal { .. }) {
                lines.extend(old.iter().map(|line| shown_line(' ', line, &Shown::Key)));
                continue;
            }
            let (of_old, of_new) = shown_parts(old, new);
            lines.extend(old.iter().zip(&of_old).map(|(line, shown)| shown_line('-', line, shown)));
            lines.extend(new.iter().zip(&of_new).map(|(line, shown)| shown_line('+', line, shown)));
        }
    }
    lines
}

/// Decides how much to show of lines that replace each other.
fn shown_parts(old: &[&str], new: &[&str]) -> (Vec<Shown>, Vec<Shown>) {
    let (mut of_old, mut of_new) = (vec![None; old.len()], vec![None; new.len()]);
    for (old, of_old) in old.iter().zip(&mut of_old) {
        let pairs = new.iter().zip(&mut of_new).filter(|(_, of_new)| of_new.is_none());
        let found =
            pairs.filter_map(|(new, of_new)| Some((compare(bare(old), bare(new))?, of_new)));
        // The line with the smallest difference is taken for the same line.
        if let Some(((for_old, for_new), slot)) =
            found.min_by_key(|((old, new), _)| old.size() + new.size())
        {
            *of_old = Some(for_old);
            *slot = Some(for_new);
        }
    }
    let is_mixed = of_old.contains(&None) && of_new.contains(&None);
    let rest = if is_mixed { Shown::Nothing } else { Shown::Ours };
    let settle = |all: Vec<Option<Shown>>| {
        all.into_iter().map(|one| one.unwrap_or_else(|| rest.clone())).collect()
    };
    (settle(of_old), settle(of_new))
}

/// Decides how much to show of two lines, if one is the other with a part inserted.
fn compare(old: &str, new: &str) -> Option<(Shown, Shown)> {
    if old == new {
        return Some((Shown::Key, Shown::Key));
    }
    let (short, long) = if old.len() < new.len() { (old, new) } else { (new, old) };
    let same = short.chars().zip(long.chars()).take_while(|(one, other)| one == other);
    let head: usize = same.map(|(letter, _)| letter.len_utf8()).sum();
    // Lines of brackets and spaces alone match too many others.
    let has_words = short.chars().any(char::is_alphanumeric);
    if !has_words || !long.ends_with(&short[head..]) {
        return None;
    }
    let part = Shown::Part(long[head..long.len() - (short.len() - head)].to_owned());
    Some(if old.len() < new.len() { (Shown::Key, part) } else { (part, Shown::Key) })
}

impl Shown {
    /// Returns the length of the difference from the line on the other side.
    fn size(&self) -> usize {
        match self {
            Self::Part(part) => part.len(),
            _ => 0,
        }
    }
}

fn shown_line(mark: char, line: &str, shown: &Shown) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let text = match shown {
        Shown::Ours => line.to_owned(),
        Shown::Key => without_value(line),
        Shown::Part(part) => format!("{} {part} …", without_value(line)),
        Shown::Nothing => format!("… ({} characters)", line.chars().count()),
    };
    let mut clipped: String = text.chars().take(MOST_CHARACTERS).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    format!("{mark} {clipped}")
}

fn bare(line: &str) -> &str {
    line.trim_end().trim_end_matches(',')
}

/// Hides the value after the key of a line.
fn without_value(line: &str) -> String {
    let is_structure = |rest: &str| rest.chars().all(|letter| "{}[], ".contains(letter));
    let indent = line.len() - line.trim_start().len();
    let key_end = ["\":", " ="].iter().filter_map(|mark| Some(line.find(mark)? + mark.len())).min();
    match key_end {
        Some(end) if is_structure(&line[end..]) => line.to_owned(),
        // A file on one line begins with a bracket, and its first key does not help to find the change.
        Some(end) if !line.trim_start().starts_with('{') => format!("{} …", &line[..end]),
        _ if is_structure(line.trim()) || is_heading(line) => line.to_owned(),
        _ => format!("{}…", &line[..indent]),
    }
}

/// Says whether a line is the heading of a TOML table.
fn is_heading(line: &str) -> bool {
    let name = line.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']'));
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-[]".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owners_lines_are_shown_without_their_values() {
        let before =
            "{\n  \"key\": \"secret\",\n  \"list\": [\n    \"secret\"\n  ],\n  \"last\": 7\n}\n";
        let after = before.replace("7\n", "7,\n  \"bridge\": {\n    \"command\": \"/x\"\n  }\n");
        let expected = [
            "      …",
            "    ],",
            "-   \"last\": …",
            "+   \"last\": …",
            "+   \"bridge\": {",
            "+     \"command\": \"/x\"",
            "+   }",
            "  }",
        ];
        assert_eq!(diff(before, &after), expected);
        assert!(!diff(&after, before).concat().contains("secret"));
    }

    #[test]
    fn of_a_line_with_an_addition_only_the_addition_is_shown() {
        let before = "{\n  \"allow\": [\"secret\"],\n  \"b\": 1\n}\n";
        let after = before.replace("secret\"", "secret\", \"mcp__bridge\"");
        let shown = diff(before, &after);
        assert_eq!(shown[1..3], ["-   \"allow\": …", "+   \"allow\": … , \"mcp__bridge\" …"]);
        let shown = diff(&after, before);
        assert_eq!(shown[1..3], ["-   \"allow\": … , \"mcp__bridge\" …", "+   \"allow\": …"]);
    }

    #[test]
    fn a_file_on_one_line_shows_only_the_addition() {
        let before = format!("{{\"key\":\"{}\"}}", "secret".repeat(100));
        let after = format!("{},\"bridge\":{{}}}}", before.trim_end_matches('}'));
        let shown = diff(&before, &after);
        assert_eq!(shown, ["- …", "+ … ,\"bridge\":{} …"]);
        // An addition in two places cannot be separated from the owner's text.
        let after = after.replacen('{', "{\"first\":1,", 1);
        let shown = diff(&before, &after);
        assert!(!shown.concat().contains("secret"), "{shown:?}");
    }

    #[test]
    fn a_new_file_is_shown_whole() {
        let shown = diff("", "{\n  \"a\": 1\n}\n");
        assert_eq!(shown, ["+ {", "+   \"a\": 1", "+ }"]);
    }
}
