//! The answer of an agent, joined from the pieces in which it comes. What it says before a call of a tool and after that are paragraphs
//! of their own, as the agent ends its words there without a line end. Pure.

/// The words so far. Whoever takes them from `text` gets what follows as if they were still there.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinedWords {
    pub(crate) text: String,
    /// The line ends after the last word; none before the first piece.
    line_ends: Option<usize>,
    has_paused: bool,
}

impl JoinedWords {
    /// Notes that the agent does something else than going on with its words.
    pub(crate) fn pause(&mut self) {
        self.has_paused = true;
    }

    /// Returns what stands between the words so far and the next piece.
    pub(crate) fn gap_before(&self, piece: &str) -> &'static str {
        let Some(before) = self.line_ends.filter(|_| self.has_paused) else { return "" };
        let line_ends = before + piece.len() - piece.trim_start_matches('\n').len();
        &"\n\n"[line_ends.min(2)..]
    }

    /// Adds a piece.
    pub(crate) fn add(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let gap = self.gap_before(piece);
        self.text.push_str(gap);
        self.text.push_str(piece);
        self.has_paused = false;
        let line_ends = piece.len() - piece.trim_end_matches('\n').len();
        let is_empty_lines = line_ends == piece.len();
        let earlier =
            if is_empty_lines { self.line_ends.unwrap_or_default() + gap.len() } else { 0 };
        self.line_ends = Some(line_ends + earlier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_before_and_after_a_pause_are_paragraphs_and_pieces_without_one_flow() {
        let joined = |parts: &[&str]| {
            let mut words = JoinedWords::default();
            for part in parts {
                if *part == "|" { words.pause() } else { words.add(part) }
            }
            words.text
        };
        assert_eq!(
            joined(&["|", "I lo", "ok.", "|", "|", "Found", " it."]),
            "I look.\n\nFound it."
        );
        assert_eq!(
            joined(&["one", "|", "two", "|", "three", "|", "four"]),
            "one\n\ntwo\n\nthree\n\nfour"
        );
        assert_eq!(joined(&["one\n", "|", "two"]), "one\n\ntwo");
        assert_eq!(joined(&["one\n", "\n", "|", "two"]), "one\n\ntwo");
        assert_eq!(joined(&["one", "|", "\ntwo"]), "one\n\ntwo");
        assert_eq!(joined(&["one\n", "|", "\ntwo", "|", "", "three"]), "one\n\ntwo\n\nthree");
    }

    #[test]
    fn words_that_were_taken_count_as_words_before_a_pause() {
        let mut words = JoinedWords::default();
        words.add("one");
        assert_eq!(std::mem::take(&mut words.text), "one");
        words.pause();
        words.add("two");
        assert_eq!(words.text, "\n\ntwo");
    }
}
