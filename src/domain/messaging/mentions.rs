//! The words after `@` in a text, by which it mentions members and groups.

use crate::domain::member::SessionNumber;
use crate::domain::name::Name;

/// Returns the words that a text mentions, and the numbers of sessions, each once, in order: `@word` outside code, where a word before
/// it does not go on, as in an address of mail.
pub fn mentioned(text: &str) -> (Vec<Name>, Vec<SessionNumber>) {
    let (mut names, mut numbers) = (Vec::new(), Vec::new());
    for word in words(text) {
        if let Ok(name) = Name::parse(word) {
            if !names.contains(&name) {
                names.push(name);
            }
        } else if let Some(number) = SessionNumber::parse(word)
            && !numbers.contains(&number)
        {
            numbers.push(number);
        }
    }
    (names, numbers)
}

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        let marker = fence_of(line);
        match (fence, marker) {
            (None, Some(opened)) => fence = Some(opened),
            (Some(opened), Some(closed)) if opened == closed => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                words.extend(in_prose(line));
            }
        }
    }
    words
}

/// Returns the sign of a fence around code, if a line is one.
fn fence_of(line: &str) -> Option<char> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find(|sign| line.starts_with(&sign.to_string().repeat(3)))
}

/// Returns the words that a line mentions outside pairs of backticks.
fn in_prose(line: &str) -> Vec<&str> {
    let parts: Vec<_> = line.split('`').collect();
    let is_code = |index: usize| index % 2 == 1 && index + 1 < parts.len();
    let prose = parts.iter().enumerate().filter(|(index, _)| !is_code(*index));
    prose.flat_map(|(_, part)| in_part(part)).collect()
}

fn in_part(part: &str) -> Vec<&str> {
    let goes_on = |char: char| char.is_alphanumeric() || "._-".contains(char);
    let mentions = part.match_indices('@').filter_map(|(at, _)| {
        let before = part[..at].chars().next_back();
        if before.is_some_and(|before| goes_on(before) || "@/".contains(before)) {
            return None;
        }
        let rest = &part[at + 1..];
        let end = rest.find(|char| !goes_on(char)).unwrap_or(rest.len());
        // The end of a sentence is no part of a word.
        Some(rest[..end].trim_end_matches(['.', '-', '_']))
    });
    mentions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &[&str]) {
        let (names, numbers) = mentioned(text);
        let names = names.iter().map(ToString::to_string);
        let found: Vec<_> = names.chain(numbers.iter().map(ToString::to_string)).collect();
        assert_eq!(found, words, "{text:?}");
    }

    #[test]
    fn words_after_the_sign_are_mentions_outside_code_and_addresses_of_mail() {
        check("@ann, look with @Bob and @ann.", &["ann", "Bob"]);
        check(
            "(@reviewer) *@storage*: \u{201c}@rust-1.90\u{201d}",
            &["reviewer", "storage", "rust-1.90"],
        );
        check("mail a@b.org, x/@types, @@ann, @ ann, @", &[]);
        check("`@code` @ann `@more`", &["ann"]);
        check("an open ` before @ann", &["ann"]);
        check("```\n@code\n```\n@ann\n~~~ sh\n@code\n```\n@code\n~~~\n@bob", &["ann", "bob"]);
        check("```\n@never closed", &[]);
        check("@all @human @you", &[]);
        check("@s7 and @bob, @S7: @s12.", &["bob", "s7", "s12"]);
        check("", &[]);
    }
}
