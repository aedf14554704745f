//! A text in a frame over the whole window, and the answers below it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget as _};

use super::cells;
use super::look::Look;
use crate::cli::commands::top::screen::{Dialog, LineKind, Screen};

/// The columns of an answer besides its words: its mark, its letter, and the gaps.
const WITH_LETTER: usize = 7;

/// Paints the dialog that shows a text, if there is one, and returns the place of the cursor.
pub(super) fn paint(buffer: &mut Buffer, screen: &Screen) -> Option<Position> {
    let (title, lines) = screen.dialog_text()?;
    let scroll = match &screen.dialog {
        Dialog::Help { scroll } | Dialog::Open { scroll, .. } => *scroll,
        Dialog::Answer(answering) => answering.scroll,
        _ => 0,
    };
    let area = Rect { height: buffer.area.height.saturating_sub(1), ..buffer.area };
    Clear.render(area, buffer);
    Block::bordered().render(area, buffer);
    let room = u16::try_from(screen.text_columns()).unwrap_or(u16::MAX);
    cells::text(buffer, (2, 0), &format!(" {title} "), (room, false), Look::heading());
    let rows = screen.text_rows();
    let scroll = scroll.min(lines.len().saturating_sub(rows));
    for (row, line) in (1..).zip(lines.iter().skip(scroll).take(rows)) {
        let style = match line.kind {
            LineKind::Plain => Style::new(),
            LineKind::Heading => Look::heading(),
            LineKind::Faint => Look::faint(),
        };
        cells::text(buffer, (2, row), &line.text, (room, false), style);
    }
    let below = lines.len().saturating_sub(scroll + rows);
    if scroll > 0 || below > 0 {
        let words = format!(
            " line {} of {}{} ",
            scroll + 1,
            lines.len(),
            if below > 0 { ", more below" } else { "" }
        );
        let bottom = area.height.saturating_sub(1);
        cells::text(buffer, (2, bottom), &words, (room, true), Look::heading());
    }
    answers(buffer, screen).or(Some(Position::new(1, 1)))
}

/// Paints the answers of a question in the last row of the frame.
fn answers(buffer: &mut Buffer, screen: &Screen) -> Option<Position> {
    let (Dialog::Answer(answering), Some(board)) = (&screen.dialog, screen.board()) else {
        return None;
    };
    let row = buffer.area.height.saturating_sub(3);
    let mut column = 2;
    let mut cursor = None;
    let offers = answering.offers(board);
    let letters: usize = offers.iter().map(|offer| offer.words.len() + WITH_LETTER + 1).sum();
    // In a narrow window the letters are left out: the keys for left and right choose, too.
    let has_letters = letters <= screen.text_columns();
    for (at, offer) in offers.iter().enumerate() {
        let is_chosen = at == answering.choice;
        let mark = if is_chosen { ">" } else { " " };
        let letter = if has_letters { format!(" ({})", offer.letter) } else { String::new() };
        let words = format!("{mark} {}{letter} ", offer.words);
        let columns = u16::try_from(words.len()).unwrap_or(u16::MAX);
        let style = if is_chosen { Look::chosen() } else { Style::new() };
        cells::text(buffer, (column, row), &words, (columns, false), style);
        if is_chosen {
            cursor = Some(Position::new(column, row));
        }
        column = column.saturating_add(columns + 1);
    }
    cursor
}
