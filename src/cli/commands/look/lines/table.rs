//! Lines with aligned columns.

use console::measure_text_width;

/// Aligns the cells of rows, with two spaces between columns and `indent` spaces before the first. The last column is not filled.
pub(in crate::cli::commands) fn aligned(rows: &[Vec<String>], indent: usize) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| measure_text_width(cell)).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut line = " ".repeat(indent);
        for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(measure_text_width(cell)) + 2));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_ones_take_no_room() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["a", "", "long"]), row(["b🦀c", "", ""])];
        assert_eq!(aligned(&rows, 2), ["  a     long", "  b🦀c"]);
    }
}
