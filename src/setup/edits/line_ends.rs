//! Line ends and the byte order mark of a text, for an editor that writes neither `\r\n` nor the mark. Pure.

use std::borrow::Cow;

use super::json_reader::without_mark;

const OF_WINDOWS: &str = "\r\n";

/// Returns a text without its mark, and with `\n` at the end of each line.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let (_, text) = without_mark(text);
    if text.contains(OF_WINDOWS) {
        Cow::Owned(text.replace(OF_WINDOWS, "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns an edited plain text with the mark and the line ends of the original. New lines get the end that most lines have.
pub(super) fn like(original: &str, edited: &str) -> String {
    let (mark, original) = without_mark(original);
    let of_windows = original.matches(OF_WINDOWS).count();
    if of_windows == 0 {
        return format!("{mark}{edited}");
    }
    let old: Vec<_> = original.split_inclusive('\n').collect();
    let new: Vec<_> = edited.split_inclusive('\n').collect();
    let usual = if of_windows * 2 > original.matches('\n').count() { OF_WINDOWS } else { "\n" };
    let is_same = |(old, new): &(&&str, &&str)| content(old) == content(new);
    let begin = old.iter().zip(&new).take_while(is_same).count();
    let rest = old[begin..].iter().rev().zip(new[begin..].iter().rev());
    let end = rest.take_while(is_same).count();
    let mut text = mark.to_owned();
    for (at, line) in new.iter().enumerate() {
        let kept = if at < begin {
            old.get(at)
        } else if at >= new.len() - end {
            old.get(at + old.len() - new.len())
        } else {
            None
        };
        text.push_str(content(line));
        let kept = kept.map(|old| &old[content(old).len()..]).filter(|end| !end.is_empty());
        // The last line of either may have no end.
        if line.ends_with('\n') {
            text.push_str(kept.unwrap_or(usual));
        }
    }
    text
}

/// Returns a line without its end.
fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_edited_has_other_bytes() {
        let check = |original: &str, edit: fn(String) -> String, expected: &str| {
            assert_eq!(like(original, &edit(plain(original).into_owned())), expected);
        };
        let add = |text: String| text + "x\ny\n";
        check("\u{feff}a\r\n\r\nb\n\r\n", add, "\u{feff}a\r\n\r\nb\n\r\nx\r\ny\r\n");
        check("a\n\nb\r\n", add, "a\n\nb\r\nx\ny\n");
        check("\u{feff}a\n", add, "\u{feff}a\nx\ny\n");
        check("a\r\nb", |text| text + "\nx\n", "a\r\nb\r\nx\r\n");
        let remove = |text: String| text.replace("x\n", "");
        check("a\r\nx\r\nb\nc\r\n", remove, "a\r\nb\nc\r\n");
        check("x\r\n", remove, "");
        check("a\nx\r\na\r\n", remove, "a\na\r\n");
        check("a\r\nb", |text| text, "a\r\nb");
        check("a\nx = 1\r\nb\n\r\n", |text| text.replace('1', "2"), "a\nx = 2\nb\n\r\n");
    }
}
