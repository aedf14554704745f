//! The cells of a row.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::cli::output::letter_columns::cut_to;

/// A cell of a row.
pub(super) struct Cell {
    text: String,
    style: Style,
    /// Its columns; none for the one that takes what the others leave.
    columns: Option<u16>,
    is_right: bool,
}

/// Makes a cell of so many columns.
pub(super) fn cell(text: impl Into<String>, columns: u16) -> Cell {
    Cell { text: text.into(), style: Style::new(), columns: Some(columns), is_right: false }
}

/// Makes the cell that takes the rest of the row.
pub(super) fn rest(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), style: Style::new(), columns: None, is_right: false }
}

impl Cell {
    pub(super) fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Lets its text stand at its right end.
    pub(super) fn right(self) -> Self {
        Self { is_right: true, ..self }
    }
}

/// Paints a row of cells with one column between each two.
pub(super) fn paint(buffer: &mut Buffer, row: u16, cells: &[Cell]) {
    let width = buffer.area.width;
    let gaps = u16::try_from(cells.len().saturating_sub(1)).unwrap_or(u16::MAX);
    let fixed: u16 = cells.iter().filter_map(|cell| cell.columns).sum();
    let left = width.saturating_sub(fixed.saturating_add(gaps));
    let mut column = 0;
    for cell in cells {
        let columns = cell.columns.unwrap_or(left).min(width.saturating_sub(column));
        if columns > 0 {
            text(buffer, (column, row), &cell.text, (columns, cell.is_right), cell.style);
        }
        column = column.saturating_add(columns + 1);
        if column >= width {
            return;
        }
    }
}

/// Paints a text into so many columns, cut with `…` where it is longer.
pub(super) fn text(
    buffer: &mut Buffer,
    (column, row): (u16, u16),
    text: &str,
    (columns, is_right): (u16, bool),
    style: Style,
) {
    let shown = cut_to(text, columns.into());
    let width = u16::try_from(console::measure_text_width(&shown)).unwrap_or(columns);
    let begin = if is_right { column + columns.saturating_sub(width) } else { column };
    if buffer.area.contains((begin, row).into()) {
        buffer.set_stringn(begin, row, &shown, columns.into(), style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_keep_the_columns() {
        let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, 12, 1));
        paint(&mut buffer, 0, &[cell("字字字", 4), rest("x"), cell("7", 3).right()]);
        let shown: String = (0..12).map(|column| buffer[(column, 0)].symbol().to_owned()).collect();
        assert_eq!(shown, "字 …  x     7");
    }
}
