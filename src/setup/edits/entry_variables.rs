//! Variables in the command line of an entry, as each client was seen to expand them. Pure.

use std::path::Path;

use serde_json::Value;

use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::visible_letters::beginning;

/// The forms of variables that a client expands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableForms {
    /// None: the text is taken as it is.
    None,
    /// `${NAME}`, and what else is so. A variable that is not set stays as it is written.
    Environment {
        /// Also `$NAME`.
        bare: bool,
        /// Also `${NAME:-default}`. A variable that is set and empty is empty.
        defaults: bool,
    },
    /// `${env:NAME}`, `${userHome}` and `${workspaceFolder}`, as the documentation of editors says, and others that only they know.
    Editor,
    /// It is not known which.
    Unseen,
}

/// What variables stand for where the doctor looks.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The directory that an editor has open.
    pub workspace: Option<&'a Path>,
}

/// A text after the expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    /// The first form that stayed, if one did.
    pub left: Option<Left>,
}

/// A form that stayed in a text, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// The client takes it as it is written.
    NotExpanded(String),
    /// The variable is not set here, but it may be where the client is started, or in a file of the client.
    NotSet(String),
    /// It is not known what the client makes of it.
    NotKnown(String),
}

impl Left {
    /// Says whether it stays in the client, too.
    pub fn is_as_written(&self) -> bool {
        matches!(self, Self::NotExpanded(_))
    }

    /// Returns why no program is found, to follow the command. A repository may have brought the form.
    pub fn why(&self, client: &str) -> String {
        let quoted = |form: &str| format!("`{}`", beginning(form, CLIENT_WORD_CHARS));
        match self {
            Self::NotExpanded(form) => {
                format!("in which {client} does not expand {}", quoted(form))
            }
            Self::NotSet(form) => format!("in which {} is not set here", quoted(form)),
            Self::NotKnown(form) => {
                format!("and only {client} knows what {} stands for", quoted(form))
            }
        }
    }
}

/// Expands a text as a client does.
pub fn expand(text: &str, forms: VariableForms, values: Values<'_>) -> Expanded {
    let mut expanded = Expanded { text: String::new(), left: None };
    let mut rest = text;
    if text == "~" || text.starts_with("~/") {
        expanded.left = Some(match forms {
            VariableForms::None | VariableForms::Environment { .. } => {
                Left::NotExpanded("~".to_owned())
            }
            VariableForms::Editor | VariableForms::Unseen => Left::NotKnown("~".to_owned()),
        });
    }
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        expanded.text.push_str(before);
        let length = length_of_form(from);
        let (form, after) = from.split_at(length);
        rest = after;
        if length == 1 {
            expanded.text.push_str(form);
            continue;
        }
        match value_of(form, forms, values) {
            Ok(value) => expanded.text.push_str(&value),
            Err(left) => {
                expanded.text.push_str(form);
                expanded.left.get_or_insert(left);
            }
        }
    }
    expanded.text.push_str(rest);
    expanded
}

/// Expands an entry as the clients do that expand all texts of their settings: those that know `$NAME`. Of the others it stays as it is.
pub fn expand_settings(value: Value, forms: VariableForms, values: Values<'_>) -> Value {
    let each = |value| expand_settings(value, forms, values);
    match (forms, value) {
        (VariableForms::Environment { bare: true, .. }, Value::String(text)) => {
            expand(&text, forms, values).text.into()
        }
        (_, Value::Array(items)) => items.into_iter().map(each).collect(),
        (_, Value::Object(fields)) => {
            fields.into_iter().map(|(key, value)| (key, each(value))).collect()
        }
        (_, other) => other,
    }
}

/// Returns the bytes of the form at the beginning of a text that begins with `$`; 1 if that is no form.
fn length_of_form(text: &str) -> usize {
    match text[1..].strip_prefix('{') {
        Some(inner) => inner.find('}').filter(|end| *end > 0).map_or(1, |end| end + "${}".len()),
        None => 1 + text[1..].bytes().take_while(|byte| is_of_name(*byte)).count(),
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn value_of(form: &str, forms: VariableForms, values: Values<'_>) -> Result<String, Left> {
    let not_expanded = || Left::NotExpanded(form.to_owned());
    let not_set = || Left::NotSet(form.to_owned());
    let not_known = || Left::NotKnown(form.to_owned());
    let inner = form.strip_prefix("${").and_then(|inner| inner.strip_suffix('}'));
    match (forms, inner) {
        (VariableForms::None, _) | (VariableForms::Environment { bare: false, .. }, None) => {
            Err(not_expanded())
        }
        (VariableForms::Environment { bare: true, .. }, None) => {
            (values.variable)(&form[1..]).ok_or_else(not_set)
        }
        (VariableForms::Environment { defaults, .. }, Some(inner)) => {
            let (name, default) = match inner.split_once(":-").filter(|_| defaults) {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            let is_name = name.bytes().all(is_of_name);
            let value = (values.variable)(name).or_else(|| default.map(str::to_owned));
            value.ok_or_else(|| if is_name { not_set() } else { not_expanded() })
        }
        (VariableForms::Editor, Some("userHome")) => {
            (values.variable)("HOME").ok_or_else(not_known)
        }
        (VariableForms::Editor, Some("workspaceFolder")) => {
            let workspace = values.workspace.and_then(Path::to_str).map(str::to_owned);
            workspace.ok_or_else(not_known)
        }
        (VariableForms::Editor, Some(inner)) => match inner.strip_prefix("env:") {
            Some(name) => (values.variable)(name).ok_or_else(not_set),
            None => Err(not_known()),
        },
        (VariableForms::Editor, None) | (VariableForms::Unseen, _) => Err(not_known()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::clients::{CLIENTS, named};

    /// What a command becomes in a client: the text, and what stayed.
    fn of(client: &str, text: &str) -> (String, Option<Left>) {
        let variable = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let values = Values { variable: &variable, workspace: Some(Path::new("/p")) };
        let expanded = expand(text, named(client).unwrap().variables, values);
        (expanded.text, expanded.left)
    }

    /// Seen with the real programs: Claude Code 2.1.329, Gemini CLI 0.61, Qwen Code 0.24, Codex 0.166 and Droid 0.215. Editors as their
    /// documentation says.
    #[test]
    fn each_client_expands_the_forms_that_it_was_seen_to_expand() {
        let forms = [
            "$HOME/x",
            "${HOME}/x",
            "${HOME:-/d}/x",
            "${NONE:-/d}/x",
            "${EMPTY:-/d}/x",
            "${NONE}/x",
            "~/x",
            "${env:HOME}/x",
            "${userHome}/x",
            "${workspaceFolder}/x",
            "${input:a}/x",
        ];
        // `!` stands for a form that is not expanded, `-` for a variable that is not set, `?` for what only the client knows.
        for (clients, expected) in [
            (
                &["claude-code"][..],
                ["!", "/h/x", "/h/x", "/d/x", "/x", "-", "!", "!", "-", "-", "!"],
            ),
            (&["gemini"], ["/h/x", "/h/x", "/h/x", "/d/x", "/x", "-", "!", "!", "-", "-", "!"]),
            (&["qwen"], ["/h/x", "/h/x", "!", "!", "!", "-", "!", "!", "-", "-", "!"]),
            (&["codex", "droid"], ["!"; 11]),
            (
                &["vscode", "cursor"],
                ["?", "?", "?", "?", "?", "?", "?", "/h/x", "/h/x", "/p/x", "?"],
            ),
            (&["zed", "claude-desktop"], ["?"; 11]),
        ] {
            for client in clients {
                for (form, expected) in forms.iter().zip(expected) {
                    let (text, left) = of(client, form);
                    let sign = match left {
                        None => text,
                        Some(_) if text != *form => panic!("{client}: {form}: {text}"),
                        Some(Left::NotExpanded(_)) => "!".to_owned(),
                        Some(Left::NotSet(_)) => "-".to_owned(),
                        Some(Left::NotKnown(_)) => "?".to_owned(),
                    };
                    assert_eq!(sign, expected, "{client}: {form}");
                }
            }
        }
    }

    #[test]
    fn a_text_without_forms_stays_as_it_is_in_every_client() {
        for client in &CLIENTS {
            for text in ["", "x", "/a b/cli-team-bridge", "a$", "a$/b", "${}", "${", "a~/b", "é$-"]
            {
                assert_eq!(of(client.name, text), (text.to_owned(), None), "{}", client.name);
            }
        }
    }

    #[test]
    fn the_first_form_that_stays_is_named_and_the_others_are_expanded() {
        let left = Some(Left::NotSet("${NONE}".to_owned()));
        assert_eq!(
            of("gemini", "$HOME/${NONE}/${OTHER}/é"),
            ("/h/${NONE}/${OTHER}/é".to_owned(), left)
        );
    }
}
