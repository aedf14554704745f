//! What can be done about the chosen row, whole: its own row is cut where the window ends.

use console::measure_text_width;

use super::item::Item;
use super::state::{Dialog, Screen};
use crate::cli::output::wrapped;
use crate::view::{Need, WayOut};

/// Stands where there is no room for the rest.
const REST: &str = " … (Enter)";

impl Screen {
    /// Returns what is wrong with the chosen row and what helps, as rows; none if nothing is.
    pub(in crate::cli::commands::top) fn remedy(&self) -> Vec<String> {
        // What is answered stays in sight while the answer is written.
        if !matches!(self.dialog, Dialog::None | Dialog::Write { .. }) || self.has_peek {
            return Vec::new();
        }
        let words = match self.chosen() {
            Some(Item::Need(need, _)) if !need.kind.is_allowed_or_denied() => of_need(need),
            Some(Item::Problem(problem)) => {
                let advice = problem.advice().unwrap_or_default();
                sentences([problem.words.as_str(), &advice])
            }
            Some(Item::Conflict(row)) => row.in_full(),
            Some(Item::Member(row)) if row.state == "left" => row.doing.clone(),
            Some(Item::Task(task)) => task.error.clone().unwrap_or_default(),
            _ => String::new(),
        };
        // What is short stands whole in its row.
        if measure_text_width(&words) < usize::from(self.size.1 / 3) {
            return Vec::new();
        }
        let columns = usize::from(self.size.1);
        let mut rows = wrapped(&words, columns);
        // The list keeps most of the window.
        let most = usize::from(self.size.0 / 4).max(1);
        if rows.len() > most {
            rows.truncate(most);
            if let Some(last) = rows.last_mut() {
                *last = wrapped(last, columns.saturating_sub(REST.len())).swap_remove(0);
                last.push_str(REST);
            }
        }
        rows
    }
}

/// Says how a member is stuck, or what members disagree about, what helps, and by which command.
fn of_need(need: &Need) -> String {
    let advice = need.way_out().map(WayOut::advice).unwrap_or_default();
    let command = need.command().map(|command| format!("`{command}`")).unwrap_or_default();
    sentences([need.words.as_str(), advice, &command])
}

/// Joins parts that may be empty, with a full stop where a part has none.
fn sentences<const PARTS: usize>(parts: [&str; PARTS]) -> String {
    let mut words = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !words.is_empty() {
            // What is quoted may end with a stop of its own.
            let ends = words.trim_end_matches('"').ends_with(['.', '?', '!', '…']);
            words.push_str(if ends { " " } else { ". " });
        }
        words.push_str(part);
    }
    words
}
