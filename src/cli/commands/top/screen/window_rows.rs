//! Which rows of the terminal show what.

use super::item::Item;
use super::pane::Pane;
use super::state::{Dialog, Screen};
use crate::cli::output::wrapped;

/// The rows above the list: the team in one line, and the names of the panes.
const HEAD: u16 = 2;

/// The fewest rows of a body that also shows the names of its columns.
const WITH_COLUMNS: u16 = 6;

/// The fewest rows of a body that shows the messages of the chosen member below the team.
const WITH_MESSAGES: u16 = 20;

/// The fewest rows of these messages, with their heading.
const LEAST_MESSAGES: u16 = 4;

/// The most rows of what has been decided that stay above the messages.
const MOST_DECIDED: usize = 3;

/// The most rows that a notice or a question has.
const MOST_FOOT: u16 = 3;

/// The rows of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct Layout {
    /// The row with the names of the columns.
    pub(in crate::cli::commands::top) columns: Option<u16>,
    pub(in crate::cli::commands::top) list_top: u16,
    pub(in crate::cli::commands::top) list_rows: u16,
    /// The first row of what stands below the list, its heading, and how many rows it has.
    pub(in crate::cli::commands::top) below: Option<(u16, u16)>,
    /// The first row of what can be done about the chosen row, and how many it has.
    pub(in crate::cli::commands::top) remedy: (u16, u16),
    /// The first of the last rows: keys, notices and questions.
    pub(in crate::cli::commands::top) foot: u16,
    /// How many they are.
    pub(in crate::cli::commands::top) foot_rows: u16,
}

impl Layout {
    /// Returns the places of a list that are shown, from the top, so that the chosen one is in sight. What needs a person, and what has been
    /// decided last, stays on top, in up to half of the rows.
    pub(in crate::cli::commands::top) fn shown(
        self,
        items: &[Item<'_>],
        at: Option<usize>,
    ) -> Vec<usize> {
        let rows = usize::from(self.list_rows);
        let begin = messages_begin(items).filter(|begin| at.is_none_or(|at| at >= *begin));
        // The list goes on behind what is on top, unless that is left out up to the messages.
        let (on_top, begin) = if let Some(begin) = begin {
            (rows_above_messages(rows, begin, items.len() - begin), begin)
        } else {
            let pinned = rows_on_top(items).min(rows / 2);
            ((0..pinned).collect(), pinned)
        };
        let rows = rows - on_top.len();
        let most = items.len().saturating_sub(begin + rows);
        // No further than the chosen row needs, with the next one in sight.
        let chosen = at.unwrap_or_default().saturating_sub(begin);
        let first = begin + (chosen + 2).saturating_sub(rows).min(most);
        on_top.into_iter().chain(first..(first + rows).min(items.len())).collect()
    }
}

/// Returns the place of the first message below what has been decided, if the list has both.
fn messages_begin(items: &[Item<'_>]) -> Option<usize> {
    let is_decided = matches!(items.get(1), Some(Item::Decided(_)));
    let first = || items.iter().position(|item| matches!(item, Item::Letter(_)));
    is_decided.then(first).flatten()
}

/// Returns the places above the messages while one of these is chosen: what has been decided last, and always their own heading. Where the
/// messages leave rows free, more that has been decided has room.
fn rows_above_messages(rows: usize, begin: usize, messages: usize) -> Vec<usize> {
    let headings = 2;
    let pinned = (headings + MOST_DECIDED).min(rows / 2);
    let pinned = pinned.max(rows.saturating_sub(messages)).min(begin);
    let decided = 0..pinned.saturating_sub(1);
    decided.chain((pinned > 0).then_some(begin - 1)).collect()
}

/// Returns how many rows stay at the top of a list, with their heading.
fn rows_on_top(items: &[Item<'_>]) -> usize {
    let below_heading = || items.iter().skip(1);
    let needs = below_heading().take_while(|item| matches!(item, Item::Need(..))).count();
    let decided = below_heading().take_while(|item| matches!(item, Item::Decided(_))).count();
    let rows = needs + decided.min(MOST_DECIDED);
    if rows > 0 { rows + 1 } else { 0 }
}

impl Screen {
    /// Returns the rows of the window.
    pub(in crate::cli::commands::top) fn layout(&self) -> Layout {
        let rows = self.size.0;
        let foot_rows = self.foot_rows();
        let remedy_rows = u16::try_from(self.remedy().len()).unwrap_or(0);
        let body = rows.saturating_sub(HEAD + foot_rows + remedy_rows);
        let has_columns = body >= WITH_COLUMNS;
        let list_top = HEAD + u16::from(has_columns);
        let below = if self.has_peek {
            body / 2
        } else if self.pane == Pane::Team && body >= WITH_MESSAGES {
            // The team needs its rows more than the messages do.
            let team = u16::try_from(self.items(Pane::Team).len()).unwrap_or(u16::MAX);
            let free = body.saturating_sub(team).saturating_sub(u16::from(has_columns));
            (body * 2 / 5).min(free.max(LEAST_MESSAGES))
        } else {
            0
        };
        let foot = rows.saturating_sub(foot_rows);
        let end = foot.saturating_sub(remedy_rows);
        Layout {
            columns: has_columns.then_some(HEAD),
            list_top,
            list_rows: end.saturating_sub(list_top + below),
            below: (below > 1).then_some((end.saturating_sub(below), below)),
            remedy: (end, remedy_rows),
            foot,
            foot_rows,
        }
    }

    /// Returns how many rows of the list there is no room for.
    pub(in crate::cli::commands::top) fn rows_out_of_sight(&self, layout: Layout) -> usize {
        self.items(self.pane).len().saturating_sub(layout.list_rows.into())
    }

    /// Returns how many rows that can be chosen are out of sight above those that are shown, and below them. Beside messages, what has been
    /// decided does not count.
    pub(in crate::cli::commands::top) fn above_and_below(&self, layout: Layout) -> (usize, usize) {
        let (items, at) = self.rows(self.pane);
        let shown = layout.shown(&items, at);
        let Some(last) = shown.last() else { return (0, 0) };
        let begin = messages_begin(&items).unwrap_or(0);
        let hidden = (begin..items.len()).filter(|place| !shown.contains(place));
        let hidden = hidden.filter(|place| items[*place].key().is_some());
        let (above, below): (Vec<_>, Vec<_>) = hidden.partition(|place| place < last);
        (above.len(), below.len())
    }

    /// Returns how many rows of what has been decided are out of sight, beside messages.
    pub(in crate::cli::commands::top) fn decided_out_of_sight(&self, layout: Layout) -> usize {
        let (items, at) = self.rows(self.pane);
        let shown = layout.shown(&items, at);
        let Some(begin) = messages_begin(&items) else { return 0 };
        let is_decided = |place: &usize| matches!(items[*place], Item::Decided(_));
        (0..begin).filter(is_decided).filter(|place| !shown.contains(place)).count()
    }

    /// Says whether new rows of a list of news no longer come into sight by themselves, as an older one is chosen.
    pub(in crate::cli::commands::top) fn is_paused(&self) -> bool {
        let (items, at) = self.rows(self.pane);
        self.pane.ends_with_news() && at.is_some_and(|at| at + 1 < items.len())
    }

    /// Returns what the last rows say, if it is a notice or a question.
    pub(in crate::cli::commands::top) fn said(&self) -> Option<String> {
        match &self.dialog {
            Dialog::Ask { question, is_second: false, .. } => {
                Some(format!("{question} Press y for yes, any other key for no."))
            }
            Dialog::Ask { question, .. } => {
                Some(format!("{question} Press Enter to do it, any other key to leave it."))
            }
            Dialog::None => self.notice.clone(),
            _ => None,
        }
    }

    /// Returns how many rows that takes, of which the list keeps most.
    fn foot_rows(&self) -> u16 {
        let (rows, columns) = self.size;
        let Some(said) = self.said() else { return 1 };
        let wanted = wrapped(&said, columns.into()).len();
        let most = MOST_FOOT.min(rows.saturating_sub(HEAD) / 3).max(1);
        u16::try_from(wanted).unwrap_or(most).clamp(1, most)
    }

    /// Returns the place in the list of what is painted in a row.
    pub(super) fn item_at(&self, row: u16) -> Option<usize> {
        let layout = self.layout();
        let (items, at) = self.rows(self.pane);
        let row = row.checked_sub(layout.list_top).filter(|row| *row < layout.list_rows)?;
        layout.shown(&items, at).get(usize::from(row)).copied()
    }
}
