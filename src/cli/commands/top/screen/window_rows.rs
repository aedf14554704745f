//! Which rows of the terminal show what.

use super::pane::Pane;
use super::state::Screen;

/// The rows above the list: the team in one line, and the names of the panes.
const HEAD: u16 = 2;

/// The fewest rows of a body that also shows the names of its columns.
const WITH_COLUMNS: u16 = 6;

/// The fewest rows of a body that shows the messages of the chosen member below the team.
const WITH_MESSAGES: u16 = 20;

/// The rows of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct Layout {
    /// The row with the names of the columns.
    pub(in crate::cli::commands::top) columns: Option<u16>,
    pub(in crate::cli::commands::top) list_top: u16,
    pub(in crate::cli::commands::top) list_rows: u16,
    /// The first row of what stands below the list, its heading, and how many rows it has.
    pub(in crate::cli::commands::top) below: Option<(u16, u16)>,
    /// The last row: keys, notices and questions.
    pub(in crate::cli::commands::top) foot: u16,
}

impl Layout {
    /// Returns the first place of a list that is shown, so that the chosen one stands in the middle.
    pub(in crate::cli::commands::top) fn first(self, items: usize, at: Option<usize>) -> usize {
        let rows = usize::from(self.list_rows);
        let most = items.saturating_sub(rows);
        at.unwrap_or_default().saturating_sub(rows / 2).min(most)
    }
}

impl Screen {
    /// Returns the rows of the window.
    pub(in crate::cli::commands::top) fn layout(&self) -> Layout {
        let rows = self.size.0;
        let body = rows.saturating_sub(HEAD + 1);
        let has_columns = body >= WITH_COLUMNS;
        let list_top = HEAD + u16::from(has_columns);
        let below = if self.has_peek {
            body / 2
        } else if self.pane == Pane::Team && body >= WITH_MESSAGES {
            body * 2 / 5
        } else {
            0
        };
        let foot = rows.saturating_sub(1);
        Layout {
            columns: has_columns.then_some(HEAD),
            list_top,
            list_rows: foot.saturating_sub(list_top + below),
            below: (below > 1).then_some((foot.saturating_sub(below), below)),
            foot,
        }
    }

    /// Returns the place in the list of what is painted in a row.
    pub(super) fn item_at(&self, row: u16) -> Option<usize> {
        let layout = self.layout();
        let (items, at) = self.rows(self.pane);
        let row = row.checked_sub(layout.list_top).filter(|row| *row < layout.list_rows)?;
        let place = layout.first(items.len(), at) + usize::from(row);
        (place < items.len()).then_some(place)
    }
}
