//! Values that must not be written down: finding the variables that hold one, and hiding them in a text. Pure.
//!
//! It is a net, not a wall: it knows the values that the bridge passes to an agent, whole and unchanged. A secret that the agent learns
//! elsewhere, encodes, or splits goes through.

/// A shorter value is no key, and hiding it would tear holes into ordinary words.
const SHORTEST: usize = 8;

/// How many levels of JSON quoting are recognised: an agent's line in a transcript may quote a tool's answer, which quotes the value.
const QUOTED: usize = 2;

/// Words in a variable's name that mark its value as secret.
const WORDS: [&str; 9] =
    ["KEY", "KEYS", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS", "AUTH"];

/// Endings that mark a whole word of the name as secret: `PGPASSWORD`.
const ENDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE"];

/// A shorter user name that stands alone in an address is no token.
const SHORTEST_TOKEN: usize = 16;

/// What GitHub takes for a password behind a token.
const NO_PASSWORD: &str = "x-oauth-basic";

/// Words at the end of a name that mark its value as the location of a secret.
const PLACES: [&str; 5] = ["FILE", "PATH", "DIR", "SOCK", "URL"];

/// Secret values and the names of their variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Longest values first, as one may be a part of another.
    values: Vec<(String, String)>,
}

/// Shows the names only: the values must not be written down.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    /// Collects the secrets of an environment.
    pub fn of<'v>(variables: impl Iterator<Item = (&'v str, &'v str)>) -> Self {
        let mut secrets = Self::default();
        for (name, value) in variables {
            if looks_secret(name) {
                secrets.hide(name, value);
            } else if let Some(password) = password_in(value) {
                secrets.hide(name, password);
            }
        }
        secrets
    }

    /// Adds a value that is certainly secret.
    pub fn hide(&mut self, name: &str, value: &str) {
        // An agent's program may trim the value as well.
        for value in [value, value.trim()] {
            if value.len() < SHORTEST {
                continue;
            }
            let mut form = value.to_owned();
            for _ in 0..=QUOTED {
                let quoted = in_json(&form);
                let pair = (name.to_owned(), form);
                if !self.values.contains(&pair) {
                    self.values.push(pair);
                }
                form = quoted;
            }
        }
        self.values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    }

    /// Returns a text, or a line of JSON, with every secret value replaced by the name of its variable.
    pub fn hidden(&self, text: impl Into<String>) -> Hidden {
        let text = text.into();
        let is_in = |(_, value): &&(String, String)| text.contains(value.as_str());
        if self.values.iter().all(|pair| !is_in(&pair)) {
            return Hidden(text);
        }
        let hidden = self
            .values
            .iter()
            .fold(text, |text, (name, value)| text.replace(value, &format!("[hidden: {name}]")));
        Hidden(hidden)
    }
}

/// A text of an agent whose secrets are hidden. Only such a text may be cut: the half of a key that a cut leaves would no longer be
/// recognised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hidden(String);

impl Hidden {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns at most so many characters from the beginning, and whether the text was longer.
    pub fn head(&self, most: usize) -> (&str, bool) {
        match self.0.char_indices().nth(most) {
            Some((end, _)) => (&self.0[..end], true),
            None => (&self.0, false),
        }
    }

    /// Cuts the text to its beginning, and marks the cut with `…`.
    #[must_use]
    pub fn cut(self, most: usize) -> Self {
        if self.head(most).1 { Self(self.clipped(most)) } else { self }
    }

    /// Returns at most so many bytes from the end, and whether the text was longer.
    pub fn tail(&self, most: usize) -> (&str, bool) {
        let first = self.0.len().saturating_sub(most);
        let from = (first..=self.0.len()).find(|from| self.0.is_char_boundary(*from));
        let from = from.unwrap_or_default();
        (&self.0[from..], from > 0)
    }

    /// Returns the beginning of the text, and marks the cut with `…`.
    pub fn clipped(&self, most: usize) -> String {
        let (head, is_cut) = self.head(most);
        if is_cut { format!("{head}…") } else { head.to_owned() }
    }
}

impl AsRef<str> for Hidden {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<Hidden> for String {
    fn from(hidden: Hidden) -> Self {
        hidden.0
    }
}

/// Returns a text as it stands between the quotes of JSON.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let parts: Vec<_> = name.split('_').collect();
    let is_place = parts.last().is_some_and(|last| PLACES.contains(last));
    let says_so = |part: &&str| WORDS.contains(part) || ENDS.iter().any(|end| part.ends_with(end));
    !is_place && parts.iter().any(says_so)
}

/// Returns the password of an address such as `http://user:password@proxy`, or the token that stands in the place of both.
fn password_in(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    match user.split_once(':') {
        Some((user, "" | NO_PASSWORD)) => token(user),
        Some((_, password)) => Some(password),
        None => token(user),
    }
}

fn token(user: &str) -> Option<&str> {
    (user.len() >= SHORTEST_TOKEN).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_variable_marks_its_value_as_secret() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "MY_APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "db_password",
            "BRIDGE_TOKEN",
            "CLIENT_SECRET",
            "ACCESSTOKEN",
            "PGPASSWORD",
            "RSYNC_OLDPASSWD",
            "GPGPASSPHRASE",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "GIT_AUTHOR_NAME",
            "KEYBOARD_LAYOUT",
            "SSH_AUTH_SOCK",
            "API_KEY_FILE",
            "BRIDGE_SCRIPT",
            "PGPASSFILE",
            "",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn every_secret_value_is_hidden_and_nothing_else() {
        let variables = [
            ("API_KEY", "sk-1234567890"),
            ("LONG_API_KEY", "sk-1234567890-more"),
            ("SHORT_KEY", "word"),
            ("HOME", "/home/someone"),
            ("HTTPS_PROXY", "http://ann:p4ssw0rd-x@proxy:8080/"),
            ("ODD_TOKEN", "with\"quote\n"),
        ];
        let secrets = Secrets::of(variables.into_iter());
        let check = |text: &str, expected: &str| {
            assert_eq!(secrets.hidden(text).as_str(), expected);
        };
        check("a sk-1234567890, sk-1234567890", "a [hidden: API_KEY], [hidden: API_KEY]");
        check("sk-1234567890-more", "[hidden: LONG_API_KEY]");
        check("p4ssw0rd-x", "[hidden: HTTPS_PROXY]");
        check(r#"{"t":"with\"quote\n"}"#, r#"{"t":"[hidden: ODD_TOKEN]"}"#);
        check("with\"quote\n!", "[hidden: ODD_TOKEN]!");
        check("word /home/someone", "word /home/someone");
    }

    #[test]
    fn a_token_that_stands_alone_before_a_host_is_hidden() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(password_in(value), expected, "{value}");
        };
        let token = "ghp_0123456789ab";
        check(&format!("https://{token}@host/x"), Some(token));
        check(&format!("https://{token}:@host/x"), Some(token));
        check(&format!("https://{token}:x-oauth-basic@host"), Some(token));
        check("https://ann:p4ssw0rd-x@host", Some("p4ssw0rd-x"));
        check("ssh://git@host/x", None);
        check("https://ann:@host/x", None);
        check("https://host/ghp_0123456789ab@x", None);
    }

    #[test]
    fn a_value_is_hidden_with_or_without_surrounding_spaces() {
        let variables = [
            ("API_KEY", " sk-1234567890\n"),
            ("SHORT_KEY", "  word  "),
            ("ODD_TOKEN", "with\"quote"),
            ("BARE_TOKEN", "\"ends-in-quotes\""),
        ];
        let secrets = Secrets::of(variables.into_iter());
        let check = |text: &str, expected: &str| {
            assert_eq!(secrets.hidden(text).as_str(), expected);
        };
        check("a sk-1234567890, b", "a [hidden: API_KEY], b");
        check("a  sk-1234567890\nb", "a [hidden: API_KEY]b");
        check("word", "word");
        check(r#""with\"quote""#, r#""[hidden: ODD_TOKEN]""#);
        check(r#""\"ends-in-quotes\"""#, r#""[hidden: BARE_TOKEN]""#);
    }

    #[test]
    fn a_value_is_hidden_in_json_within_json_within_json() {
        let value = "with\"quote\\and\nline";
        let secrets = Secrets::of([("ODD_TOKEN", value)].into_iter());
        let mut text = value.to_owned();
        let mut expected = "[hidden: ODD_TOKEN]".to_owned();
        for times in 0..=QUOTED {
            let hidden = secrets.hidden(text.as_str());
            assert_eq!(hidden.as_str(), expected, "{times}");
            text = serde_json::Value::from(text).to_string();
            expected = serde_json::Value::from(expected).to_string();
        }
    }

    #[test]
    fn a_text_is_cut_after_hiding_and_between_characters() {
        let secrets = Secrets::of([("API_KEY", "sk-1234567890")].into_iter());
        let text = secrets.hidden("über sk-1234567890");
        assert_eq!(text.head(6), ("über [", true));
        assert_eq!(text.head(99), ("über [hidden: API_KEY]", false));
        assert_eq!(text.tail(8), ("API_KEY]", true));
        assert_eq!(text.tail(99), ("über [hidden: API_KEY]", false));
        assert_eq!(secrets.hidden("aé").tail(1), ("", true));
        assert_eq!(secrets.hidden("").tail(1), ("", false));
        assert_eq!(text.clipped(4), "über…");
        assert_eq!(text.clipped(99), "über [hidden: API_KEY]");
    }

    #[test]
    fn secrets_do_not_show_themselves() {
        let secrets = Secrets::of([("API_KEY", "sk-1234567890")].into_iter());
        assert!(!format!("{secrets:?}").contains("sk-"));
    }
}
