//! What a key of a configuration file is: its name, the kind of its values, its default and its meaning, and how a table of the
//! documentation shows them. The keys themselves are in `defaults`.

use std::ops::RangeInclusive;

/// The keys at the beginning of a file.
pub(super) const TOP_KEYS: [&str; 11] = [
    "agents",
    "bus",
    "conflict",
    "limits",
    "names",
    "notify",
    "projects",
    "team",
    "top",
    "webhooks",
    "workflows",
];

/// A key of a configuration file.
pub(super) struct Key<V> {
    /// The key as a file writes it.
    pub(super) name: &'static str,
    /// Its possible values and its default.
    pub(super) values: V,
    /// One sentence without its full stop, as the documentation shows it.
    pub(super) meaning: &'static str,
}

/// A whole number within a range.
pub(super) struct Number {
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) default: u64,
}

impl Number {
    pub(super) fn range(&self) -> RangeInclusive<u64> {
        self.least..=self.most
    }
}

/// `true` or `false`.
pub(super) struct Switch {
    pub(super) default: bool,
}

/// One of a few words.
pub(super) struct Choice<T: 'static> {
    pub(super) words: &'static [(&'static str, T)],
    pub(super) default: T,
}

/// Text on one line.
pub(super) struct Line {
    pub(super) most: usize,
    /// The effect of leaving it out, in words.
    pub(super) default: &'static str,
}

/// Any other type, described in words.
pub(super) struct Other {
    pub(super) values: &'static str,
    pub(super) default: &'static str,
}

/// A number of `[limits]`.
pub(super) struct Limit {
    pub(super) key: &'static Key<Number>,
    pub(super) without_consent: WithoutConsent,
}

/// How a project's file may change a limit without its user's consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithoutConsent {
    /// It may lower it: more requests are refused, reports come earlier, or work waits, but accepted data is not lost.
    Lower,
    /// It may not change it: a lower value loses the user's data, and a higher one takes more of the machine.
    Unchanged,
}

impl WithoutConsent {
    /// Says whether a limit may change like this.
    pub(super) fn allows(self, before: u64, now: u64) -> bool {
        now == before || (self == Self::Lower && now < before)
    }
}

/// A row of a table in the documentation.
pub(super) trait Row {
    fn name(&self) -> &'static str;
    fn values(&self) -> String;
    fn default(&self) -> String;
    fn meaning(&self) -> &'static str;
}

/// Returns a table of the documentation: one row per key, in Markdown.
pub(super) fn table(rows: &[&(dyn Row + Sync)]) -> String {
    let rows = rows.iter().map(|row| {
        let (values, default) = (row.values(), row.default());
        format!("| `{}` | {values} | {default} | {} |\n", row.name(), row.meaning())
    });
    let head = "| key | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    rows.fold(head, |table, row| table + &row)
}

/// Returns the names of a table's keys.
pub(super) fn names(table: &[&(dyn Row + Sync)]) -> Vec<&'static str> {
    table.iter().map(|row| row.name()).collect()
}

/// The part of a row that depends on the type of its values.
trait Values {
    fn values(&self) -> String;
    fn default(&self) -> String;
}

impl<V: Values> Row for Key<V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn values(&self) -> String {
        self.values.values()
    }

    fn default(&self) -> String {
        self.values.default()
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }
}

impl Values for Number {
    fn values(&self) -> String {
        format!("{} to {}", self.least, self.most)
    }

    fn default(&self) -> String {
        format!("`{}`", self.default)
    }
}

impl Values for Switch {
    fn values(&self) -> String {
        "`true`, `false`".to_owned()
    }

    fn default(&self) -> String {
        format!("`{}`", self.default)
    }
}

impl<T: PartialEq> Values for Choice<T> {
    fn values(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
        words.join(", ")
    }

    fn default(&self) -> String {
        let mut words = self.words.iter();
        let word = words.find_map(|(word, value)| (*value == self.default).then_some(*word));
        format!("`\"{}\"`", word.expect("a default is one of the words"))
    }
}

impl Values for Line {
    fn values(&self) -> String {
        format!("a line of at most {} characters", self.most)
    }

    fn default(&self) -> String {
        self.default.to_owned()
    }
}

impl Values for Other {
    fn values(&self) -> String {
        self.values.to_owned()
    }

    fn default(&self) -> String {
        self.default.to_owned()
    }
}
