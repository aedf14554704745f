//! A line that a person types. Pure.

use crate::config::KeyPress;
use crate::domain::limits;

/// A line, and the place in it where the next letter goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct TypedLine {
    /// The letters before that place, and those after it.
    before: String,
    after: String,
}

impl TypedLine {
    /// Begins with a text, at its end.
    pub(super) fn of(text: &str) -> Self {
        Self { before: text.to_owned(), after: String::new() }
    }

    /// Returns the whole line.
    pub(in crate::cli::commands::top) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// Returns the letters before the place of the next one.
    pub(in crate::cli::commands::top) fn before(&self) -> &str {
        &self.before
    }

    /// Adds a text, as far as there is room. Says whether all of it fits.
    pub(super) fn add(&mut self, text: &str) -> bool {
        let room = limits::TYPED_BYTES.saturating_sub(self.before.len() + self.after.len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.before.push_str(&text[..end]);
        end == text.len()
    }

    /// Takes a key that edits.
    pub(super) fn press(&mut self, key: KeyPress) {
        match key {
            KeyPress::Letter(letter) => drop(self.add(letter.encode_utf8(&mut [0; 4]))),
            KeyPress::Backspace => drop(self.before.pop()),
            KeyPress::Delete => {
                let mut rest = self.after.chars();
                rest.next();
                self.after = rest.as_str().to_owned();
            }
            KeyPress::Left => {
                if let Some(letter) = self.before.pop() {
                    self.after.insert(0, letter);
                }
            }
            KeyPress::Right => {
                let mut rest = self.after.chars();
                self.before.extend(rest.next());
                self.after = rest.as_str().to_owned();
            }
            KeyPress::Home | KeyPress::Control('a') => {
                self.after.insert_str(0, &std::mem::take(&mut self.before));
            }
            KeyPress::End | KeyPress::Control('e') => {
                self.before.push_str(&std::mem::take(&mut self.after));
            }
            KeyPress::Control('u') => self.before.clear(),
            KeyPress::Control('k') => self.after.clear(),
            KeyPress::Control('w') => {
                let kept = self.before.trim_end();
                let kept = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.before.truncate(kept);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KeyPress as K;

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut line = TypedLine::of("one two");
        for key in [K::Control('w'), K::Letter('ä'), K::Left, K::Letter('!'), K::Delete, K::Home] {
            line.press(key);
        }
        assert_eq!((line.text().as_str(), line.before()), ("one !", ""));
        for key in [K::Right, K::Backspace, K::End, K::Control('u')] {
            line.press(key);
        }
        assert_eq!(line.text(), "");
    }

    #[test]
    fn a_paste_without_end_has_an_end() {
        let mut line = TypedLine::of("x");
        assert!(line.add("short"));
        assert!(!line.add(&"ä".repeat(limits::TYPED_BYTES)));
        assert!(line.text().len() <= limits::TYPED_BYTES);
    }
}
