//! How an attempt ended after which its step waited for another one, and reasons as lines.

use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::{beginning, seen};
use crate::domain::workflow::Again;

/// The indent of a line about a step below that step's line.
pub(super) const BELOW: &str = "      ";

/// The indent of a line below a line with a time.
pub(super) const BELOW_TIME: &str = "          ";

/// How an attempt ended after which its step waited for another one.
pub(in crate::cli::commands::run) struct AttemptEnd<'a> {
    /// The number of attempts that had begun by then.
    pub(in crate::cli::commands::run) number: u32,
    /// Whether it was one of them.
    pub(in crate::cli::commands::run) has_begun: bool,
    pub(in crate::cli::commands::run) agent: Option<&'a Name>,
    pub(in crate::cli::commands::run) again: Again,
    /// The class of its task's error.
    pub(in crate::cli::commands::run) class: Option<String>,
    pub(in crate::cli::commands::run) why: &'a str,
}

impl AttemptEnd<'_> {
    /// Returns what the summary says of it, with the whole reason, which may have several lines.
    pub(in crate::cli::commands::run) fn in_summary(&self) -> String {
        with_reason(self.what(), &safe_reason(self.why, BELOW))
    }

    /// Returns the line of a change, with the whole reason.
    pub(super) fn in_full(&self) -> String {
        with_reason(self.what(), &safe_reason(self.why, BELOW_TIME))
    }

    fn what(&self) -> String {
        let Self { number, has_begun, agent, again, class, .. } = self;
        if !has_begun {
            return format!("attempt {} could not begin", number + 1);
        }
        let by = agent.map(|agent| format!(" by {agent}")).unwrap_or_default();
        let ended = match (again, class) {
            (Again::Repeat, _) => "is repeated".to_owned(),
            (Again::Interrupted, _) => "was interrupted".to_owned(),
            (Again::Retry | Again::Fallback, None) => "failed".to_owned(),
            (Again::Retry | Again::Fallback, Some(class)) => {
                format!("failed ({})", beginning(class, limits::AGENT_WORD_CHARS))
            }
        };
        format!("attempt {number}{by} {ended}")
    }
}

/// Adds a reason to what it is for, if there is one.
pub(super) fn with_reason(what: String, why: &str) -> String {
    if why.is_empty() { what } else { format!("{what}: {why}") }
}

/// Formats a reason, which may contain foreign text, so that no line of it passes for a line of the report.
pub(super) fn safe_reason(why: &str, indent: &str) -> String {
    seen(why).trim_end().replace('\n', &format!("\n{indent}| "))
}
