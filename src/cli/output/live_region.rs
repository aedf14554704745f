//! Lines that stay at the bottom of a terminal while others are printed above them, with a question below them and the answer typed
//! there.
//!
//! It is pure: it returns the text to send to the terminal. The cursor is never hidden, and is below the lines between two
//! paintings. So the terminal is in a good state whenever this process ends.

use console::measure_text_width;

/// Moves to the beginning of the line, and clears the screen from there.
const CLEAR_BELOW: &str = "\r\x1b[J";

/// Clears the rest of a line.
const CLEAR_REST: &str = "\x1b[K";

const SAVE_CURSOR: &str = "\x1b7";
const RESTORE_CURSOR: &str = "\x1b8";

/// The current lines at the bottom.
#[derive(Debug, Default)]
pub(crate) struct Region {
    lines: Vec<String>,
    /// Below the lines, followed by the typed input.
    question: Option<String>,
    /// How many rows the typed input has moved the cursor down.
    moved: usize,
}

impl Region {
    /// Returns the text that shows these lines instead, each shorter than the terminal is wide. Typed input stays in place.
    pub(crate) fn show(&mut self, lines: &[String], width: usize) -> String {
        let rows = rows(&self.lines, width);
        let is_typed_at = self.question.is_some() && self.moved == 0;
        if is_typed_at && rows == lines.len() {
            self.lines = lines.to_vec();
            let (up, painted) = (up(rows), self.painted());
            return format!("{SAVE_CURSOR}\r{up}{painted}{RESTORE_CURSOR}");
        }
        let lifted = self.lift(width);
        self.lines = lines.to_vec();
        lifted + &self.lay()
    }

    /// Returns the text that asks a question below the lines, or removes it.
    pub(crate) fn ask(&mut self, question: Option<String>, width: usize) -> String {
        if self.question == question {
            return String::new();
        }
        let lifted = self.lift(width);
        self.question = question;
        lifted + &self.lay()
    }

    /// Notes that the person typed a line, which the terminal itself echoed.
    pub(crate) fn typed(&mut self, line: &str, width: usize) {
        let before = self.question.as_deref().unwrap_or_default();
        let line = measure_text_width(before) + measure_text_width(line.trim_end());
        self.moved += 1 + line / width.max(1);
    }

    /// Returns the text that leaves these lines permanently, however many.
    pub(crate) fn leave(mut self, lines: Vec<String>, width: usize) -> String {
        let lifted = self.lift(width);
        self.lines = lines;
        lifted + &self.painted()
    }

    /// Returns the text that prints whole lines above the region.
    pub(crate) fn above(&mut self, text: &str, width: usize) -> String {
        self.lift(width) + text + &self.lay()
    }

    /// Returns the text that removes the region from the terminal.
    fn lift(&mut self, width: usize) -> String {
        let rows = rows(&self.lines, width) + std::mem::take(&mut self.moved);
        format!("\r{}{CLEAR_BELOW}", up(rows))
    }

    /// Returns the text that paints the region below the printed lines.
    fn lay(&self) -> String {
        let question = self.question.as_deref().unwrap_or_default();
        self.painted() + question
    }

    /// Treats the present contents of the terminal as foreign: the next lines come below.
    pub(crate) fn forget(&mut self) {
        (self.lines, self.moved) = (Vec::new(), 0);
    }

    fn painted(&self) -> String {
        let lines = self.lines.iter();
        lines.flat_map(|line| [line, CLEAR_REST, "\n"]).collect()
    }
}

/// Returns how many rows the lines take: more than one each if the terminal has become narrower.
fn rows(lines: &[String], width: usize) -> usize {
    let of = |line: &String| measure_text_width(line).div_ceil(width.max(1)).max(1);
    lines.iter().map(of).sum()
}

fn up(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    const ROWS: NonZero<u16> = NonZero::new(6).unwrap();
    const WIDTH: NonZero<u16> = NonZero::new(20).unwrap();

    /// A terminal, which treats line ends as the system's own does.
    struct Terminal(vt100::Parser);

    impl Terminal {
        fn new() -> Self {
            Self(vt100::Parser::new(ROWS, WIDTH, 0))
        }

        fn take(&mut self, text: &str) {
            self.0.process(text.replace('\n', "\r\n").as_bytes());
        }

        fn shows(&self) -> String {
            self.0.screen().contents()
        }
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn new_lines_replace_the_last_ones() {
        let (mut terminal, mut region) = (Terminal::new(), Region::default());
        terminal.take("before\n");
        for shown in [&["one", "longer line"][..], &["one"], &["one", "two", "3"]] {
            terminal.take(&region.show(&lines(shown), WIDTH.get().into()));
        }
        assert_eq!(terminal.shows(), "before\none\ntwo\n3");
    }

    #[test]
    fn printed_lines_are_above_the_region() {
        let (mut terminal, mut region) = (Terminal::new(), Region::default());
        terminal.take(&region.show(&lines(&["one", "two"]), WIDTH.get().into()));
        for word in ["a", "b", "c", "d"] {
            let text = format!("{word}\n");
            terminal.take(&region.above(&text, WIDTH.get().into()));
        }
        // Six rows, with the cursor in the last.
        assert_eq!(terminal.shows(), "b\nc\nd\none\ntwo");
    }

    #[test]
    fn typed_input_stays_while_the_lines_change() {
        let (mut terminal, mut region) = (Terminal::new(), Region::default());
        let width = WIDTH.get().into();
        terminal.take(&region.show(&lines(&["one", "two"]), width));
        terminal.take(&region.ask(Some("May I? ".into()), width));
        terminal.take("ye");
        terminal.take(&region.show(&lines(&["three", "2"]), width));
        terminal.take("s");
        terminal.take(&region.show(&lines(&["four", "2"]), width));
        assert_eq!(terminal.shows(), "four\n2\nMay I? yes");
        terminal.take("\n");
        region.typed("yes\n", width);
        terminal.take(&region.ask(None, width));
        terminal.take(&region.show(&lines(&["five"]), width));
        assert_eq!(terminal.shows(), "five");
    }

    #[test]
    fn unsolicited_input_leaves_no_trace() {
        let (mut terminal, mut region) = (Terminal::new(), Region::default());
        let width = WIDTH.get().into();
        terminal.take(&region.show(&lines(&["one", "two"]), width));
        for typed in ["\n", "a line that takes two rows\n"] {
            terminal.take(typed);
            region.typed(typed, width);
        }
        terminal.take(&region.show(&lines(&["three", "four"]), width));
        assert_eq!(terminal.shows(), "three\nfour");
    }

    #[test]
    fn a_terminal_that_has_become_narrower_and_broken_the_lines_is_cleared_too() {
        let (mut terminal, mut region) = (Terminal::new(), Region::default());
        region.show(&lines(&["0123456789", "01"]), WIDTH.get().into());
        // As a terminal of eight columns wraps them.
        terminal.take("01234567\n89\n01\n");
        terminal.take(&region.show(&lines(&["short"]), 8));
        assert_eq!(terminal.shows(), "short");
    }

    #[test]
    fn output_of_other_programs_is_not_touched() {
        let (mut terminal, mut region) = (Terminal::new(), Region::default());
        terminal.take(&region.show(&lines(&["one"]), WIDTH.get().into()));
        terminal.take("shell\n");
        region.forget();
        terminal.take(&region.show(&lines(&["two"]), WIDTH.get().into()));
        terminal.take(&region.show(&lines(&["three"]), WIDTH.get().into()));
        assert_eq!(terminal.shows(), "one\nshell\nthree");
    }
}
