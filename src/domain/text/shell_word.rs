//! Writes a text as one word of a shell. Pure.

/// Returns a text as a shell reads it as one word: as it is where it may stay so, else quoted.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
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
    }
}
