//! Breaks lines that are longer than a terminal is wide. Pure.

use super::letter_columns::columns_of;

/// How much further the rest of a line is indented than its beginning.
const INDENT: usize = 4;

/// Breaks a line into rows of at most so many columns, between words where there are some.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    let mut row = String::new();
    // The columns of the row, and its end before the last word with its columns.
    let (mut width, mut break_at) = (0, None::<(usize, usize)>);
    for letter in text.chars() {
        let own = columns_of(letter);
        if width + own > columns && letter == ' ' {
            // The end of the row stands for the space.
            rows.push(std::mem::take(&mut row));
            (width, break_at) = (0, None);
            continue;
        }
        if width + own > columns && !row.is_empty() {
            let (end, before) =
                break_at.take().filter(|(end, _)| *end > 0).unwrap_or((row.len(), width));
            let rest = row.split_off(end);
            rows.push(row.trim_end().to_owned());
            row = rest;
            width -= before;
        }
        row.push(letter);
        width += own;
        if letter == ' ' && !row.trim().is_empty() {
            break_at = Some((row.len(), width));
        }
    }
    if !row.is_empty() || rows.is_empty() {
        rows.push(row);
    }
    rows
}

/// Breaks a line into rows of at most so many columns, of which all but the first are indented, where there is room for that.
pub(super) fn fitted(line: &str, columns: usize) -> Vec<String> {
    let indent = line.chars().take_while(|letter| *letter == ' ').count() + INDENT;
    let is_short = line.chars().map(columns_of).sum::<usize>() <= columns;
    if is_short || indent > columns / 2 {
        return if is_short { vec![line.to_owned()] } else { wrapped(line, columns) };
    }
    let first = wrapped(line, columns).swap_remove(0);
    let rest = line[first.len()..].trim_start();
    let rest = wrapped(rest, columns - indent);
    let rest = rest.into_iter().map(|row| format!("{}{}", " ".repeat(indent), row.trim_start()));
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use console::measure_text_width;

    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_a_long_word_anywhere() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("a 🦀🦀🦀", 4), ["a", "🦀🦀", "🦀"]);
        assert_eq!(wrapped("  in", 80), ["  in"]);
        assert_eq!(wrapped("", 4), [""]);
        let hearts = "❤\u{fe0f}".repeat(3);
        assert_eq!(wrapped(&format!("{hearts}rm"), 6), [hearts.as_str(), "rm"]);
    }

    #[test]
    fn nothing_of_a_text_is_lost_at_any_width() {
        let text = "rm -rf /tmp/some/where && echo 'äöü 字字字' | tee  x";
        for columns in 1..60 {
            let rows = wrapped(text, columns);
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&rows.concat()), letters(text), "{columns}");
            let widest = rows.iter().map(|row| measure_text_width(row)).max().unwrap();
            assert!(widest <= columns.max(2), "{columns}: {rows:?}");
        }
    }

    #[test]
    fn the_rest_of_a_line_is_indented_and_nothing_of_it_is_lost() {
        assert_eq!(fitted("  a short one", 20), ["  a short one"]);
        assert_eq!(
            fitted("  task-1  done  \"a long prompt of a task\"", 24),
            ["  task-1  done  \"a long", "      prompt of a task\""]
        );
        let text = "    msg-1, answers msg-2: seen by 字字字 after 0.2 s (pull): `some --command`";
        for columns in 1..90 {
            let rows = fitted(text, columns);
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&rows.concat()), letters(text), "{columns}");
            let widest = rows.iter().map(|row| measure_text_width(row)).max().unwrap();
            assert!(widest <= columns.max(2), "{columns}: {rows:?}");
        }
    }
}
