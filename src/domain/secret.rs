//! Values that must not be written down: which variables hold one, and hiding them in a text. Pure.
//!
//! It is a net, not a wall: it knows what we gave an agent, whole and as it is. What the agent learns elsewhere, encodes, or
//! says in pieces goes through.

/// A shorter value is no key, and hiding it would tear holes into ordinary words.
const SHORTEST: usize = 8;

/// Words whose appearance in a variable's name says that its value is secret.
const WORDS: [&str; 9] = [
    "KEY",
    "KEYS",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIALS",
    "AUTH",
];

/// Words at the end of a name that say that the value only tells where a secret is.
const PLACES: [&str; 5] = ["FILE", "PATH", "DIR", "SOCK", "URL"];

/// Secret values and the names of their variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Longest values first, as one may be a part of another.
    values: Vec<(String, String)>,
}

/// Names only: this is what must not be written down.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.values.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Secrets {
    /// Picks what is secret of an environment.
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

    /// Adds a value that is secret for certain.
    pub fn hide(&mut self, name: &str, value: &str) {
        if value.len() < SHORTEST {
            return;
        }
        let json = serde_json::Value::from(value).to_string();
        let in_json = json.trim_matches('"');
        for form in [value, in_json] {
            let pair = (name.to_owned(), form.to_owned());
            if !self.values.contains(&pair) {
                self.values.push(pair);
            }
        }
        self.values
            .sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    }

    /// Returns a text, or a line of JSON, with every secret value replaced by the name of its variable.
    pub fn hidden(&self, text: String) -> String {
        let is_in = |(_, value): &&(String, String)| text.contains(value.as_str());
        if self.values.iter().all(|pair| !is_in(&pair)) {
            return text;
        }
        self.values.iter().fold(text, |text, (name, value)| {
            text.replace(value, &format!("[hidden: {name}]"))
        })
    }
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let parts: Vec<_> = name.split('_').collect();
    let is_place = parts.last().is_some_and(|last| PLACES.contains(last));
    let says_so = |part: &&str| {
        WORDS.contains(part)
            || ["KEY", "TOKEN", "SECRET"]
                .iter()
                .any(|end| part.ends_with(end))
    };
    !is_place && parts.iter().any(says_so)
}

/// Returns the password of an address such as `http://user:password@proxy`.
fn password_in(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whether_its_value_is_secret() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "MY_APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "db_password",
            "BRIDGE_TOKEN",
            "CLIENT_SECRET",
            "ACCESSTOKEN",
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
            assert_eq!(secrets.hidden(text.to_owned()), expected);
        };
        check(
            "a sk-1234567890, sk-1234567890",
            "a [hidden: API_KEY], [hidden: API_KEY]",
        );
        check("sk-1234567890-more", "[hidden: LONG_API_KEY]");
        check("p4ssw0rd-x", "[hidden: HTTPS_PROXY]");
        check(r#"{"t":"with\"quote\n"}"#, r#"{"t":"[hidden: ODD_TOKEN]"}"#);
        check("with\"quote\n!", "[hidden: ODD_TOKEN]!");
        check("word /home/someone", "word /home/someone");
    }

    #[test]
    fn secrets_do_not_show_themselves() {
        let secrets = Secrets::of([("API_KEY", "sk-1234567890")].into_iter());
        assert!(!format!("{secrets:?}").contains("sk-"));
    }
}
