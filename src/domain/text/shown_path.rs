//! Paths in sentences for people. A repository chooses names in it, so a name must not begin a line, hide, or turn letters around. Pure.

use std::fmt::{self, Write as _};
use std::path::Path;

use super::visible_letters::is_invisible;

/// Writes a path for people.
pub trait ShownPath {
    /// Returns the path with each line end and each hidden letter written out.
    fn shown(&self) -> Shown<'_>;
}

impl ShownPath for Path {
    fn shown(&self) -> Shown<'_> {
        Shown(self)
    }
}

/// A path to be written in a sentence.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(&'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.to_string_lossy().chars() {
            match letter {
                '\n' | '\r' | '\t' => write!(f, "{}", letter.escape_debug())?,
                _ if is_invisible(letter) => write!(f, "{}", letter.escape_unicode())?,
                _ => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_on_its_line() {
        let check = |path: &str, expected: &str| {
            assert_eq!(Path::new(path).shown().to_string(), expected, "{path:?}");
        };
        check("/home/ann/my app/é", "/home/ann/my app/é");
        check("/a\nerror: fake\r\t", "/a\\nerror: fake\\r\\t");
        check("/a\u{1b}[2J\u{202e}b\u{2028}", "/a\\u{1b}[2J\\u{202e}b\\u{2028}");
    }
}
