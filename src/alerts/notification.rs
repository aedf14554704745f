//! The text of a notification: one alert, or a burst of them.

use super::watch_state::Alert;
use crate::domain::alert_kind::AlertKind;
use crate::domain::limits;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, quoted};

/// A notification as its targets get it. One line each, without control characters, except for the ends of lines in `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The name of the project's directory.
    pub title: String,
    pub text: String,
    /// The kinds of its alerts, each once.
    pub kinds: Vec<AlertKind>,
}

impl Notification {
    /// Makes the notification of some alerts. `read` returns the words of an agent, if the user wants them.
    pub(super) fn of(
        project: &str,
        (alerts, surplus): &(Vec<Alert>, usize),
        mut read: impl FnMut(&Alert) -> Option<String>,
    ) -> Self {
        let mut kinds: Vec<_> = alerts.iter().map(|alert| alert.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        // What waits for somebody comes first, and is not cut off.
        let mut sorted: Vec<_> = alerts.iter().collect();
        sorted.sort_by_key(|alert| !alert.kind.needs_somebody());
        let shown = sorted.iter().take(limits::ALERT_LINES).map(|alert| match read(alert) {
            Some(text) => format!("{}: {}", alert.words, quoted(&text, limits::ALERT_TEXT_CHARS)),
            None => alert.words.clone(),
        });
        let mut lines: Vec<_> = shown.collect();
        let rest = sorted.len().saturating_sub(limits::ALERT_LINES) + surplus;
        if rest > 0 {
            lines.push(format!("and {rest} more"));
        }
        Self { title: title_of(project), text: lines.join("\n"), kinds }
    }

    /// Makes a notification that only shows that a target works.
    pub fn of_trial(project: &str) -> Self {
        Self {
            title: title_of(project),
            text: "this is what a notification looks like".to_owned(),
            kinds: Vec::new(),
        }
    }

    /// Says whether somebody has to act before work goes on.
    pub(super) fn needs_somebody(&self) -> bool {
        self.kinds.iter().any(|kind| kind.needs_somebody())
    }

    /// Returns the notification as one line.
    pub(super) fn line(&self) -> String {
        let mut lines = self.text.lines();
        let first = lines.next().unwrap_or_default();
        match lines.count() {
            0 => format!("{}: {first}", self.title),
            more => format!("{}: {first} (and {})", self.title, counted(more, "more line")),
        }
    }
}

fn title_of(project: &str) -> String {
    beginning(project, limits::ALERT_TEXT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::watch_state::Subject;
    use crate::domain::ids::TaskId;

    fn alert(kind: AlertKind, words: &str) -> Alert {
        let subject = Subject::Task(TaskId::from_bits(1));
        Alert { kind, subject, words: words.to_owned(), text: None }
    }

    #[test]
    fn what_waits_for_somebody_comes_first_and_the_rest_is_counted() {
        let mut alerts = vec![alert(AlertKind::Finished, "ann has finished"); 12];
        alerts.push(alert(AlertKind::Permission, "bob asks for permission"));
        let notification = Notification::of("the\u{1b}project", &(alerts, 3), |_| None);
        assert_eq!(notification.title, "theproject");
        assert!(notification.text.starts_with("bob asks for permission\nann has finished\n"));
        assert!(notification.text.ends_with("\nand 6 more"), "{}", notification.text);
        assert_eq!(notification.kinds, [AlertKind::Permission, AlertKind::Finished]);
        assert!(notification.needs_somebody());
        assert!(notification.line().starts_with("theproject: bob asks for permission (and 10 "));
    }

    #[test]
    fn words_of_an_agent_are_quoted_on_one_line() {
        let alerts = (vec![alert(AlertKind::Permission, "bob asks")], 0);
        let hostile = |_: &Alert| Some("rm -rf\n\u{1b}]9;x\u{7} \"/\"".to_owned());
        let notification = Notification::of("p", &alerts, hostile);
        assert_eq!(notification.text, "bob asks: \"rm -rf ]9;x \\\"/\\\"\"");
    }
}
