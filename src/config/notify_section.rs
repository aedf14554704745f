//! The `[notify]` of a configuration: what its user is notified of, and how. Only the user's own files have it.

use std::collections::BTreeSet;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::defaults;
use super::error::shown;
use super::key::names;
use super::toml_reader::Reader;
use crate::domain::alert_kind::AlertKind;
use crate::domain::limits;

/// What a user is notified of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifySettings {
    pub on: BTreeSet<AlertKind>,
    /// A program and its arguments; empty if none is to run.
    pub command: Vec<String>,
    pub desktop: Desktop,
    /// A URL that gets each notification as a POST.
    pub webhook: Option<String>,
    /// The variable of the environment with the secret that signs them.
    pub webhook_secret_env: Option<String>,
    pub quiet: Option<QuietHours>,
    /// The least time between two notifications.
    pub burst: Duration,
    /// Whether they include words of agents.
    pub texts: bool,
}

/// How the user's screen shows a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desktop {
    Off,
    /// The escape sequence OSC 9 to the terminal: one text.
    Osc9,
    /// The escape sequence OSC 777 to the terminal: a title and a text.
    Osc777,
    /// The program `notify-send`.
    NotifySend,
}

impl Desktop {
    /// All variants, with their words in a file.
    const WORDS: [(&'static str, Self); 4] = [
        ("osc9", Self::Osc9),
        ("osc777", Self::Osc777),
        ("notify-send", Self::NotifySend),
        ("off", Self::Off),
    ];
}

/// Hours of the day without notifications. They may go past midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// The first minute of the day.
    from: u32,
    /// The minute after the last.
    to: u32,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self {
            on: AlertKind::WORDS.into_iter().map(|(_, kind)| kind).collect(),
            command: Vec::new(),
            desktop: Desktop::Off,
            webhook: None,
            webhook_secret_env: None,
            quiet: None,
            burst: Duration::from_secs(defaults::BURST_SECONDS.values.default),
            texts: defaults::TEXTS.values.default,
        }
    }
}

impl NotifySettings {
    /// Says whether a notification would reach anybody.
    pub fn has_target(&self) -> bool {
        !self.command.is_empty() || self.desktop != Desktop::Off || self.webhook.is_some()
    }
}

impl QuietHours {
    /// Reads hours such as `22:00-07:00`.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute_of_day(from)?, minute_of_day(to)?);
        (from != to).then_some(Self { from, to })
    }

    /// Says whether a minute of the day is quiet.
    pub fn has(self, minute: u32) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

/// Reads a time such as `07:00`.
fn minute_of_day(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str, below: u32| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|number| is_plain && *number < below)
    };
    Some(number(hour, 24)? * 60 + number(minute, 60)?)
}

/// Reads the section over the settings of the files before it.
pub(super) fn read(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    settings: &mut NotifySettings,
) {
    for entry in reader.table(value, "`notify`").unwrap_or_default() {
        let what = format!("`{}` of [notify]", shown(entry.key));
        let (value, what) = (entry.value, what.as_str());
        match entry.key {
            "on" => set(&mut settings.on, kinds(reader, value, what)),
            "command" => {
                let command = reader.array(value, what, Reader::string);
                if command.as_ref().is_some_and(|words| words.first().is_some_and(String::is_empty))
                {
                    let message = format!("{what} begins with an empty text: name a program first");
                    reader.report(&value.span(), message);
                }
                set(&mut settings.command, command);
            }
            "desktop" => set(&mut settings.desktop, desktop(reader, value, what)),
            "webhook" => set_optional(&mut settings.webhook, url(reader, value, what)),
            "webhook_secret_env" => {
                set_optional(&mut settings.webhook_secret_env, variable(reader, value, what));
            }
            "quiet" => set_optional(&mut settings.quiet, quiet(reader, value, what)),
            "burst_seconds" => {
                let range = defaults::BURST_SECONDS.values.range();
                let seconds = reader.number(value, what, &range);
                set(&mut settings.burst, seconds.map(Duration::from_secs));
            }
            "texts" => set(&mut settings.texts, reader.boolean(value, what)),
            _ => reader.report_unknown(&entry, "[notify]", &names(&defaults::NOTIFY)),
        }
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn set_optional<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

fn kinds(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    what: &str,
) -> Option<BTreeSet<AlertKind>> {
    let kinds = reader.array(value, what, |reader, element, each| {
        one_of(reader, element, each, &AlertKind::WORDS)
    });
    kinds.map(BTreeSet::from_iter)
}

fn desktop(reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Desktop> {
    one_of(reader, value, what, &Desktop::WORDS)
}

/// Reads one of a few words.
fn one_of<T: Copy>(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    what: &str,
    words: &[(&str, T)],
) -> Option<T> {
    let word = reader.string(value, what)?;
    let found = words.iter().find(|(known, _)| *known == word);
    if found.is_none() {
        let known: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        let message = format!("{what} is {:?}: it must be {}", shown(&word), known.join(" or "));
        reader.report(&value.span(), message);
    }
    found.map(|(_, value)| *value)
}

/// Reads a URL.
pub(super) fn url(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    what: &str,
) -> Option<String> {
    let url = reader.line(value, what, defaults::WEBHOOK.values.most)?;
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if rest.is_none_or(|rest| rest.is_empty() || rest.contains(char::is_whitespace)) {
        let message = format!("{what} must be a URL that begins with https:// or http://");
        reader.report(&value.span(), message);
        return None;
    }
    Some(url)
}

/// Reads the name of a variable of the environment.
pub(super) fn variable(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    what: &str,
) -> Option<String> {
    let name = reader.line(value, what, limits::VARIABLE_CHARS)?;
    if name.contains('=') {
        let message = format!("{what} must be the name of a variable");
        reader.report(&value.span(), message);
        return None;
    }
    Some(name)
}

fn quiet(reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>, what: &str) -> Option<QuietHours> {
    let text = reader.string(value, what)?;
    let hours = QuietHours::parse(&text);
    if hours.is_none() {
        let message = format!(
            "{what} is {:?}: it must be two different times of the day, such as \"22:00-07:00\"",
            shown(&text)
        );
        reader.report(&value.span(), message);
    }
    hours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_may_go_past_midnight() {
        let night = QuietHours::parse("22:00-07:30").unwrap();
        assert!(night.has(22 * 60) && night.has(0) && night.has(7 * 60 + 29));
        assert!(!night.has(7 * 60 + 30) && !night.has(21 * 60 + 59));
        let noon = QuietHours::parse("12:00-13:00").unwrap();
        assert!(noon.has(12 * 60) && !noon.has(13 * 60) && !noon.has(0));
        for wrong in ["", "22:00", "22:00-22:00", "24:00-07:00", "7:00-8:00", "07:60-08:00"] {
            assert_eq!(QuietHours::parse(wrong), None, "{wrong}");
        }
    }
}
