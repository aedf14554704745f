//! When the ages in sight change, so that the window is painted then and not before.

use super::item::Item;
use super::pane::Pane;
use super::state::{Dialog, Screen};
use crate::view::{Board, Moment, age_lasts, span_lasts, span_left_lasts};

/// A time of a step has seconds for so long.
const WITH_SECONDS_MS: u64 = 3_600_000;

impl Screen {
    /// Returns when the first of the ages in sight changes; none if there are none.
    pub(in crate::cli::commands::top) fn ages_change_at(&self) -> Option<Moment> {
        let board = self.board()?;
        let lasts = match &self.dialog {
            Dialog::Help { .. } => None,
            Dialog::Open { key, .. } => self.lasts_in_opened(key, board),
            Dialog::Answer(answering) => {
                let asked = board.permissions.iter().filter(|row| answering.is_about(row));
                // The time that is left.
                asked.map(|row| span_left_lasts(row.expires_at, board.at)).min()
            }
            _ => self.lasts_in_list(board),
        };
        let lasts = i64::try_from(lasts?).unwrap_or(i64::MAX);
        Some(Moment(board.at.0.saturating_add(lasts)))
    }

    /// Returns the milliseconds for which all ages of the list, and of what is below it, stay.
    fn lasts_in_list(&self, board: &Board) -> Option<u64> {
        let layout = self.layout();
        let (items, at) = self.rows(self.pane);
        let shown = layout.shown(&items, at);
        let in_rows = shown.into_iter().filter_map(|place| lasts(&items[place], board)).min();
        let below = layout.below.filter(|_| self.pane == Pane::Team && !self.has_peek);
        let below = below.and_then(|(_, height)| {
            let chosen = at.map(|at| items[at]);
            let name = chosen.and_then(|item| item.member()).unwrap_or_default();
            let letters = self.letters_of(name).into_iter().rev().take(height.into());
            letters.map(|letter| age_lasts(letter.at, board.at)).min()
        });
        in_rows.into_iter().chain(below).min()
    }

    /// Returns the same for a row that is open, whose ages are longer.
    fn lasts_in_opened(&self, key: &str, board: &Board) -> Option<u64> {
        let item = self.item_of(key)?;
        let own = item.since().map(|since| span_lasts(since, board.at));
        let in_row = lasts(&item, board);
        let member = match item {
            Item::Need(_, Some(row)) | Item::Member(row) => Some(row),
            _ => None,
        };
        let of_member = member.and_then(|row| {
            let letters = self.letters_of(&row.name).into_iter().map(|letter| letter.at);
            let moments = letters.chain([row.last_active]);
            moments.map(|moment| span_lasts(moment, board.at)).min()
        });
        own.into_iter().chain(in_row).chain(of_member).min()
    }
}

/// Returns for how many milliseconds the age of a row stays as it is shown.
fn lasts(item: &Item<'_>, board: &Board) -> Option<u64> {
    if let Item::Step(_, step, _) = item {
        let ran = step.running_since?.until(board.at);
        let unit = if ran < WITH_SECONDS_MS { 1_000 } else { 60_000 };
        return Some(unit - ran % unit);
    }
    let age = item.since().map(|since| age_lasts(since, board.at));
    let life = match item {
        Item::Task(task) => task.agent_left.and_then(|left| left.at),
        _ => None,
    };
    let life = life.map(|since| span_lasts(since, board.at));
    let age = age.into_iter().chain(life);
    let left = item.times_left().into_iter().map(|until| span_left_lasts(until, board.at));
    age.chain(left).min()
}
