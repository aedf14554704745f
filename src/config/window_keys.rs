//! `[top.keys]`: what each key of the window `top` does, and how a user's own file binds others.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::DeValue;

use super::error::shown;
use super::toml_reader::Reader;

/// The longest name of a key in a file; the longest known one is `shift-tab`.
const LONGEST_NAME: usize = 20;

/// The most keys for one action.
const MOST_KEYS: usize = 8;

/// A key as a terminal reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyPress {
    Letter(char),
    /// A letter with Ctrl, in lower case.
    Control(char),
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Enter,
    Tab,
    ShiftTab,
    Escape,
    Backspace,
    Delete,
}

/// The names of the keys without a letter of their own.
const NAMES: [(&str, KeyPress); 15] = [
    ("up", KeyPress::Up),
    ("down", KeyPress::Down),
    ("left", KeyPress::Left),
    ("right", KeyPress::Right),
    ("home", KeyPress::Home),
    ("end", KeyPress::End),
    ("page-up", KeyPress::PageUp),
    ("page-down", KeyPress::PageDown),
    ("enter", KeyPress::Enter),
    ("tab", KeyPress::Tab),
    ("shift-tab", KeyPress::ShiftTab),
    ("esc", KeyPress::Escape),
    ("backspace", KeyPress::Backspace),
    ("delete", KeyPress::Delete),
    ("space", KeyPress::Letter(' ')),
];

impl KeyPress {
    /// Reads the name of a key.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some((_, key)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Some(*key);
        }
        let only = |text: &str| {
            let mut letters = text.chars();
            letters.next().filter(|letter| letters.next().is_none() && !letter.is_control())
        };
        if let Some(letter) = name.strip_prefix("ctrl-") {
            return only(letter).filter(char::is_ascii_lowercase).map(Self::Control);
        }
        only(name).filter(|letter| !letter.is_whitespace()).map(Self::Letter)
    }

    /// Says whether it has a fixed meaning: leaving, and choosing a pane.
    fn is_fixed(self) -> bool {
        matches!(self, Self::Escape | Self::Control('c') | Self::Letter('1'..='6'))
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (NAMES.iter().find(|(_, key)| key == self), self) {
            (Some((name, _)), _) => formatter.write_str(name),
            (None, Self::Control(letter)) => write!(formatter, "ctrl-{letter}"),
            (None, Self::Letter(letter)) => write!(formatter, "{letter}"),
            (None, _) => unreachable!("every other key has a name"),
        }
    }
}

/// What a key of the window does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyAction {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    NextPane,
    PreviousPane,
    Open,
    Peek,
    Filter,
    Answer,
    Message,
    Cancel,
    Kill,
    Group,
    Help,
    Quit,
}

/// The actions, with their key in a file, the keys that are bound to them by default, and their meaning.
type ActionRow = (KeyAction, &'static str, &'static [KeyPress], &'static str);

const ACTIONS: [ActionRow; 18] = {
    use KeyAction as A;
    use KeyPress::{Control, Down, End, Enter, Home, Letter, PageDown, PageUp, ShiftTab, Tab, Up};
    [
        (A::Up, "up", &[Up, Letter('k')], "chooses the row above"),
        (A::Down, "down", &[Down, Letter('j')], "chooses the row below"),
        (A::PageUp, "page_up", &[PageUp, Control('u')], "goes up a page"),
        (A::PageDown, "page_down", &[PageDown, Control('d')], "goes down a page"),
        (A::First, "first", &[Home], "chooses the first row"),
        (A::Last, "last", &[End, Letter('G')], "chooses the last row"),
        (A::NextPane, "next_pane", &[Tab], "goes to the next pane"),
        (A::PreviousPane, "previous_pane", &[ShiftTab], "goes to the pane before"),
        (A::Open, "open", &[Enter], "opens the chosen row: all that is known of it"),
        (
            A::Peek,
            "peek",
            &[Letter(' ')],
            "shows the live words of the chosen agent below the list",
        ),
        (A::Filter, "filter", &[Letter('/')], "shows only the rows with a text"),
        (A::Answer, "answer", &[Letter('a')], "answers what waits for you"),
        (A::Message, "message", &[Letter('m')], "writes a message to the chosen agent"),
        (
            A::Cancel,
            "cancel",
            &[Letter('x')],
            "cancels the task or workflow, or stops an idle agent, after a question",
        ),
        (A::Kill, "kill", &[Letter('K')], "kills the chosen agent, after a question"),
        (A::Group, "group", &[Letter('g')], "groups the team by state, by profile, or not at all"),
        (A::Help, "help", &[Letter('?')], "shows the keys"),
        (A::Quit, "quit", &[Letter('q')], "leaves the window"),
    ]
};

impl KeyAction {
    /// Returns all actions, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        ACTIONS.iter().map(|row| row.0)
    }

    /// Says what it does, for the help and the documentation.
    pub fn meaning(self) -> &'static str {
        self.row().3
    }

    fn row(self) -> &'static ActionRow {
        ACTIONS.iter().find(|row| row.0 == self).expect("every action has a row")
    }

    fn of_word(word: &str) -> Option<Self> {
        ACTIONS.iter().find(|row| row.1 == word).map(|row| row.0)
    }
}

/// The keys of the window, and what each does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowKeys {
    bound: BTreeMap<KeyPress, KeyAction>,
}

impl Default for WindowKeys {
    fn default() -> Self {
        let bound = ACTIONS.iter().flat_map(|row| row.2.iter().map(|key| (*key, row.0)));
        Self { bound: bound.collect() }
    }
}

impl WindowKeys {
    /// Returns what a key does, if anything.
    pub fn action(&self, key: KeyPress) -> Option<KeyAction> {
        self.bound.get(&key).copied()
    }

    /// Returns the keys of an action, those of the defaults in their order.
    pub fn keys_of(&self, action: KeyAction) -> Vec<KeyPress> {
        let defaults = action.row().2;
        let mut keys: Vec<_> =
            self.bound.iter().filter(|(_, bound)| **bound == action).map(|(key, _)| *key).collect();
        keys.sort_by_key(|key| {
            let place = defaults.iter().position(|default| default == key);
            place.unwrap_or(defaults.len())
        });
        keys
    }

    /// Reads `[top]` of a file over these keys.
    pub(super) fn read_over(&mut self, reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>) {
        for entry in reader.table(value, "`top`").unwrap_or_default() {
            match entry.key {
                "keys" => self.read_keys(reader, entry.value),
                _ => reader.report_unknown(&entry, "[top]", &["keys"]),
            }
        }
    }

    fn read_keys(&mut self, reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>) {
        let mut given = BTreeMap::<KeyPress, (KeyAction, &str)>::new();
        for entry in reader.table(value, "`keys` of [top]").unwrap_or_default() {
            let Some(action) = KeyAction::of_word(entry.key) else {
                let known: Vec<_> = ACTIONS.iter().map(|row| row.1).collect();
                reader.report_unknown(&entry, "[top.keys]", &known);
                continue;
            };
            let what = format!("`{}` of [top.keys]", entry.key);
            let Some(keys) = read_names(reader, entry.value, &what) else { continue };
            self.bound.retain(|_, bound| *bound != action);
            for key in keys {
                if key.is_fixed() {
                    let message =
                        format!("{what} is {key}, which has a fixed meaning: choose another key");
                    reader.report(&entry.value.span(), message);
                } else if let Some((_, other)) =
                    given.get(&key).filter(|(other, _)| *other != action)
                {
                    let message = format!(
                        "{what} is {key}, which is already bound to `{other}` in this file"
                    );
                    reader.report(&entry.value.span(), message);
                } else {
                    given.insert(key, (action, entry.key));
                }
            }
        }
        // A key of the file takes that key from the action that has it by default.
        self.bound.extend(given.into_iter().map(|(key, (action, _))| (key, action)));
    }
}

/// Reads the name of a key, or a list of names.
fn read_names(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    what: &str,
) -> Option<Vec<KeyPress>> {
    let values = match value.get_ref() {
        DeValue::Array(values) => values.iter().collect(),
        DeValue::String(_) => vec![value],
        _ => {
            reader.wrong_type(value, what, "the name of a key, or a list of names");
            return None;
        }
    };
    if values.is_empty() || values.len() > MOST_KEYS {
        reader.report(&value.span(), format!("{what} must name 1 to {MOST_KEYS} keys"));
        return None;
    }
    let mut keys = Vec::new();
    for value in values {
        let name = reader.string(value, what)?;
        let Some(key) = Some(&name)
            .filter(|name| name.len() <= LONGEST_NAME)
            .and_then(|name| KeyPress::parse(name))
        else {
            let message = format!(
                "{what} names no key with {:?}: write a letter, ctrl- and a letter, or one of {}",
                shown(&name),
                NAMES.map(|(name, _)| name).join(", ")
            );
            reader.report(&value.span(), message);
            continue;
        };
        keys.push(key);
    }
    Some(keys)
}

/// Returns the table of the documentation.
pub(super) fn table() -> String {
    let rows = ACTIONS.iter().map(|(_, word, keys, meaning)| {
        let keys: Vec<_> = keys.iter().map(|key| format!("`\"{key}\"`")).collect();
        format!("| `{word}` | a key, or a list of keys | {} | {meaning} |\n", keys.join(", "))
    });
    let head = "| key | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    head + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_written_as_it_is_read() {
        let keys = NAMES.iter().map(|(_, key)| *key);
        for key in
            keys.chain([KeyPress::Letter('ä'), KeyPress::Letter('G'), KeyPress::Control('b')])
        {
            assert_eq!(KeyPress::parse(&key.to_string()), Some(key), "{key}");
        }
        for odd in ["", " ", "ctrl-", "ctrl-C", "ab", "\u{1b}", "ctrl-é"] {
            assert_eq!(KeyPress::parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn no_two_actions_have_the_same_default_key_and_none_has_a_fixed_one() {
        let all: Vec<_> = ACTIONS.iter().flat_map(|row| row.2).collect();
        assert_eq!(WindowKeys::default().bound.len(), all.len());
        assert!(all.iter().all(|key| !key.is_fixed()));
    }
}
