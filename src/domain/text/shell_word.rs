//! Writes a text as one word of a shell. Pure.

use super::visible_letters::is_invisible;

/// Returns a text as a shell reads it as one word: as it is where it may stay so, else quoted.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if text.contains(is_invisible) {
        // Written out, as bash, zsh and ksh read it, because a reader would not see it.
        let letters = text.chars().map(|letter| match letter {
            '\'' | '\\' => format!("\\{letter}"),
            '\n' => "\\n".to_owned(),
            _ if is_invisible(letter) => {
                let mut bytes = [0; 4];
                let bytes: Vec<_> = letter.encode_utf8(&mut bytes).bytes().collect();
                format!(
                    "\\x{}",
                    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join("\\x")
                )
            }
            _ => letter.to_string(),
        });
        format!("$'{}'", letters.collect::<String>())
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(shell_word("/a/b-c_1.d"), "/a/b-c_1.d");
        assert_eq!(shell_word("/a b/$(c)'s"), "'/a b/$(c)'\\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("/a\nb's\u{1b}\u{202e}"), "$'/a\\nb\\'s\\x1b\\xe2\\x80\\xae'");
    }
}
