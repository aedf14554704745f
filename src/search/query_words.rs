//! What a user searches for, as a query of the index. Pure.
//!
//! Every word has to be found; words in quotes have to stand together; `*` at the end of a word stands for any ending. No character of
//! a word acts as an operator of the index.

/// A search without a letter or digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no word to search for: write letters or digits")]
pub struct NoWords;

/// What to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    phrases: Vec<Phrase>,
    member: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrase {
    words: String,
    /// Whether the last word may go on.
    is_beginning: bool,
}

impl Query {
    /// Parses the arguments of a user. An argument of several words is a phrase, as a shell takes the quotes around it away; one
    /// with quotes of its own is read like a line.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, NoWords> {
        let mut phrases = Vec::new();
        for argument in arguments {
            if argument.contains('"') {
                for (index, part) in argument.split('"').enumerate() {
                    if index % 2 == 1 {
                        phrases.extend(Phrase::of(part));
                    } else {
                        phrases.extend(part.split_whitespace().filter_map(Phrase::of));
                    }
                }
            } else {
                phrases.extend(Phrase::of(argument));
            }
        }
        if phrases.is_empty() {
            return Err(NoWords);
        }
        Ok(Self { phrases, member: None })
    }

    /// Asks only for texts from or to a member.
    #[must_use]
    pub fn of_member(self, name: Option<&str>) -> Self {
        Self { member: name.map(str::to_owned), ..self }
    }

    /// Returns the query in the language of the index.
    pub(super) fn expression(&self) -> String {
        self.expression_of(self.phrases.iter())
    }

    /// Returns the part of the query without the beginnings of words; none if it is the whole, or nothing.
    pub(super) fn whole_words(&self) -> Option<String> {
        let whole = self.phrases.iter().filter(|phrase| !phrase.is_beginning);
        let has_beginning = self.phrases.iter().any(|phrase| phrase.is_beginning);
        let has_whole = whole.clone().next().is_some() || self.member.is_some();
        (has_beginning && has_whole).then(|| self.expression_of(whole))
    }

    fn expression_of<'a>(&self, phrases: impl Iterator<Item = &'a Phrase>) -> String {
        let phrases = phrases.map(Phrase::expression);
        let member = self
            .member
            .iter()
            .map(|name| format!("(who : \"{}\" OR who : \"{EVERYBODY}\")", name_token(name)));
        phrases.chain(member).collect::<Vec<_>>().join(" AND ")
    }

    /// Returns a query for each word and phrase, to show where it stands.
    pub(super) fn each_phrase(&self) -> impl Iterator<Item = String> {
        self.phrases.iter().map(Phrase::expression)
    }
}

impl Phrase {
    /// Returns a phrase; none without a letter or digit, as the index has only these.
    fn of(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let is_beginning = trimmed.ends_with('*');
        let words = trimmed.trim_end_matches('*').replace(['"', '\0'], " ");
        words
            .contains(char::is_alphanumeric)
            .then(|| Self { words: words.trim().to_owned(), is_beginning })
    }

    fn expression(&self) -> String {
        let ending = if self.is_beginning { " *" } else { "" };
        format!("text : \"{}\"{ending}", self.words)
    }
}

/// The token of texts that are for everybody.
pub(super) const EVERYBODY: &str = "all";

/// Returns a name as one word of the index, which would divide `codex-2`.
pub(super) fn name_token(name: &str) -> String {
    let bytes = name.to_ascii_lowercase().into_bytes();
    bytes.into_iter().fold("n".to_owned(), |token, byte| format!("{token}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(arguments: &[&str]) -> String {
        Query::parse(arguments.iter().copied()).unwrap().expression()
    }

    #[test]
    fn words_are_all_needed_and_quotes_keep_them_together() {
        assert_eq!(expression(&["fix", "path"]), "text : \"fix\" AND text : \"path\"");
        assert_eq!(expression(&["fix the path"]), "text : \"fix the path\"");
        assert_eq!(
            expression(&["a \"b c\" d*"]),
            "text : \"a\" AND text : \"b c\" AND text : \"d\" *"
        );
        assert_eq!(expression(&["src/server.rs"]), "text : \"src/server.rs\"");
    }

    #[test]
    fn the_beginnings_of_words_can_be_left_out() {
        let whole =
            |arguments: &[&str]| Query::parse(arguments.iter().copied()).unwrap().whole_words();
        assert_eq!(whole(&["a", "b*", "c d"]).unwrap(), "text : \"a\" AND text : \"c d\"");
        assert_eq!(whole(&["a", "b"]), None, "it is the whole");
        assert_eq!(whole(&["a*"]), None, "nothing is left");
        let of_member = Query::parse(["a*"]).unwrap().of_member(Some("x"));
        assert_eq!(of_member.whole_words().unwrap(), "(who : \"n78\" OR who : \"all\")");
    }

    #[test]
    fn no_word_acts_as_an_operator() {
        for odd in ["a OR b", "NEAR(a b)", "who:x", "-a", "^a", "a\"", "(a", "{a", "a + b", "a\0b"]
        {
            let shown = expression(&[odd]);
            assert_eq!(shown.matches('"').count() % 2, 0, "{shown}");
        }
        assert_eq!(Query::parse(["", "->", "\"\"", "*"]), Err(NoWords));
    }

    #[test]
    fn a_member_is_one_word_and_everybody_counts() {
        let query = Query::parse(["a"]).unwrap().of_member(Some("Codex-2"));
        let token = name_token("codex-2");
        assert!(token.chars().all(|letter| letter.is_ascii_alphanumeric()), "{token}");
        assert_eq!(
            query.expression(),
            format!("text : \"a\" AND (who : \"{token}\" OR who : \"all\")")
        );
    }
}
