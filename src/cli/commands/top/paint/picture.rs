//! The whole picture: the team in one line, the panes, the list, what stands below it, and the last row.

use console::measure_text_width;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::list_rows::Rows;
use super::look::Look;
use super::team_line::team_line;
use super::{cells, key_hints, text_box};
use crate::cli::commands::top::news::BusState;
use crate::cli::commands::top::screen::{Dialog, Item, Layout, LineKind, Pane, Screen, TextLine};
use crate::cli::output::wrapped;
use crate::domain::text::counted::counted_as;
use crate::view::LiveKind;

/// The columns that all names of panes need with two spaces between them.
const WIDE_TABS: u16 = 64;

/// The columns of a window in which half a row has room for what a decision is, and for a name.
const WITH_WHOLE_LABEL: u16 = 90;

/// Paints the window. Returns its cells, and the place of the cursor.
pub(in crate::cli::commands::top) fn picture(screen: &Screen, look: Look) -> (Buffer, Position) {
    let (rows, columns) = screen.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    if rows == 0 || columns == 0 {
        return (buffer, Position::ORIGIN);
    }
    let layout = screen.layout();
    let mut cursor = Position::ORIGIN;
    head(&mut buffer, screen, look);
    match screen.board() {
        Some(board) => {
            let rows =
                Rows::of(board, (&screen.news.letters, &screen.news.decided), (look, columns));
            cursor = list(&mut buffer, screen, rows, layout);
            below(&mut buffer, screen, rows, layout);
            remedy(&mut buffer, screen, layout);
        }
        None => waiting(&mut buffer, screen, layout),
    }
    cursor = text_box::paint(&mut buffer, screen).unwrap_or(cursor);
    cursor = foot(&mut buffer, screen, look, layout).unwrap_or(cursor);
    (buffer, cursor)
}

/// Paints the first two rows.
fn head(buffer: &mut Buffer, screen: &Screen, look: Look) {
    let width = buffer.area.width;
    let words =
        screen.board().map_or_else(|| screen.project.clone(), |board| team_line(screen, board));
    let needs = screen.board().is_some_and(|board| !board.needs_you.is_empty());
    let style = if needs { look.urgent() } else { Look::heading() };
    cells::text(buffer, (0, 0), &words, (width, false), style);
    let mut column = 0;
    let gap = if width < WIDE_TABS { 1 } else { 2 };
    for (number, pane) in (1..).zip(Pane::ALL) {
        let words = format!("{number} {}", pane.heading());
        let columns = u16::try_from(words.len()).unwrap_or(u16::MAX);
        let style = if pane == screen.pane { Look::chosen() } else { Look::faint() };
        if column + columns <= width {
            cells::text(buffer, (column, 1), &words, (columns, false), style);
        }
        column += columns + gap;
    }
}

/// Says in the middle why there is no team to show.
fn waiting(buffer: &mut Buffer, screen: &Screen, layout: Layout) {
    let words = match screen.news.state {
        BusState::Opening | BusState::Open => "Reading the bus …",
        BusState::Absent => {
            "There is no team in this project yet. This window shows it when it starts."
        }
        BusState::Removed => "The bus was removed. This window shows the next one when it starts.",
    };
    let width = buffer.area.width;
    for (row, line) in (layout.list_top..layout.foot).zip(wrapped(words, width.into())) {
        cells::text(buffer, (0, row), &line, (width, false), Style::new());
    }
}

/// Paints the list, and returns the place of the chosen row.
fn list(buffer: &mut Buffer, screen: &Screen, rows: Rows<'_>, layout: Layout) -> Position {
    if let Some(row) = layout.columns {
        let cells = rows.columns(screen.pane).into_iter();
        let cells: Vec<_> = cells.map(|cell| cell.styled(Look::faint())).collect();
        cells::paint(buffer, row, &cells);
    }
    let (items, at) = screen.rows(screen.pane);
    let mut cursor = Position::new(0, layout.list_top);
    if items.is_empty() {
        let words = empty(screen);
        cells::text(
            buffer,
            (0, layout.list_top),
            &words,
            (buffer.area.width, false),
            Look::faint(),
        );
    }
    for (row, place) in (layout.list_top..).zip(layout.shown(&items, at)) {
        cells::paint(buffer, row, &rows.cells(&items[place]));
        if Some(place) == at {
            buffer.set_style(Rect::new(0, row, buffer.area.width, 1), Look::chosen());
            cursor = Position::new(0, row);
        }
    }
    cursor
}

/// Says why a list is empty.
fn empty(screen: &Screen) -> String {
    if !screen.filter.is_empty() {
        return "Nothing here has the words of the filter.".to_owned();
    }
    let words = match screen.pane {
        Pane::Team => "Nobody is here.",
        Pane::Messages => "No messages yet.",
        Pane::Tasks => "No tasks yet.",
        Pane::Requests => "No requests.",
        Pane::Workflows => "No workflows.",
        Pane::Events => "Nothing has happened yet.",
    };
    words.to_owned()
}

/// Paints what stands below the list: the live words of the chosen agent, or its messages.
fn below(buffer: &mut Buffer, screen: &Screen, rows: Rows<'_>, layout: Layout) {
    let Some((top, height)) = layout.below else { return };
    let chosen = screen.chosen();
    let disagreement = chosen.filter(|_| !screen.has_peek).and_then(|item| item.disagreement());
    let name = match &disagreement {
        Some((names, _)) => names,
        None => chosen.and_then(|item| item.member()).unwrap_or_default(),
    };
    let width = buffer.area.width;
    let lines = usize::from(height - 1);
    let what = if screen.has_peek { "live words" } else { "messages" };
    let more = match screen.rows_out_of_sight(layout) {
        0 => String::new(),
        rows => format!("── {} above or below ", counted_as(rows, "more row is", "more rows are")),
    };
    let title = format!("── {name}{}{what} {more}", if name.is_empty() { "" } else { ": " });
    let filling = usize::from(width).saturating_sub(measure_text_width(&title));
    let title = format!("{title}{}", "─".repeat(filling));
    cells::text(buffer, (0, top), &title, (width, false), Look::faint());
    if !screen.has_peek {
        let letters = match disagreement {
            Some((_, thread)) => screen.letters_in(thread),
            None => screen.letters_of(name),
        };
        let shown = letters.iter().skip(letters.len().saturating_sub(lines));
        for (row, letter) in (top + 1..).zip(shown) {
            cells::paint(buffer, row, &rows.cells(&Item::Letter(letter)));
        }
        return;
    }
    let words = live(screen, usize::from(width));
    for (row, line) in (top + 1..).zip(words.iter().skip(words.len().saturating_sub(lines))) {
        let style = match line.kind {
            LineKind::Plain => Style::new(),
            LineKind::Heading => rows.look.good(),
            LineKind::Faint => Look::faint(),
        };
        cells::text(buffer, (0, row), &line.text, (width, false), style);
    }
}

/// Paints what can be done about the chosen row.
fn remedy(buffer: &mut Buffer, screen: &Screen, layout: Layout) {
    let width = buffer.area.width;
    let (top, rows) = layout.remedy;
    for (row, line) in (top..).zip(screen.remedy().iter().take(rows.into())) {
        cells::text(buffer, (0, row), line, (width, false), Style::new());
    }
}

/// Returns the live words as rows, oldest first.
fn live(screen: &Screen, columns: usize) -> Vec<TextLine> {
    let wanted = screen.wanted().live;
    let known = screen.news.live.as_ref().filter(|(id, _)| Some(id) == wanted.as_ref());
    let Some((_, lines)) = known else {
        let words = if wanted.is_some() { "Reading …" } else { "There is no task here." };
        return vec![TextLine { kind: LineKind::Faint, text: words.to_owned() }];
    };
    if lines.is_empty() {
        let text = "It has said nothing yet.".to_owned();
        return vec![TextLine { kind: LineKind::Faint, text }];
    }
    let lines = lines.iter().flat_map(|line| {
        let (mark, kind) = match line.kind {
            LiveKind::Words => ("", LineKind::Plain),
            LiveKind::Thought => ("", LineKind::Faint),
            LiveKind::Call => ("> ", LineKind::Heading),
            LiveKind::Permission => ("permission: ", LineKind::Heading),
            LiveKind::Told => ("→ ", LineKind::Heading),
            LiveKind::Note => ("- ", LineKind::Faint),
        };
        let rows = wrapped(&format!("{mark}{}", line.text), columns);
        rows.into_iter().map(move |text| TextLine { kind, text })
    });
    lines.collect()
}

/// Paints the last rows, and returns the place of the cursor if something is typed there.
fn foot(buffer: &mut Buffer, screen: &Screen, look: Look, layout: Layout) -> Option<Position> {
    let width = buffer.area.width;
    let (words, style) = match &screen.dialog {
        Dialog::Filter { .. } => {
            return Some(typed(buffer, "Filter: ", &screen.filter, &screen.filter, layout));
        }
        Dialog::Write { to, reply_to, line } => {
            let label = match reply_to {
                Some(id) if screen.decides(id) && width < WITH_WHOLE_LABEL => {
                    format!("Binds both, to {to}: ")
                }
                Some(id) if screen.decides(id) => {
                    format!("Decision that binds both, to {to}: ")
                }
                Some(_) => format!("Reply to {to}: "),
                None => format!("To {to}: "),
            };
            return Some(typed(buffer, &label, &line.text(), line.before(), layout));
        }
        Dialog::Refuse { step, line, .. } => {
            let label = format!("Why not {step}? ");
            return Some(typed(buffer, &label, &line.text(), line.before(), layout));
        }
        Dialog::Ask { .. } => return said(buffer, screen, look.urgent(), layout),
        Dialog::Answer(_) => {
            ("←→ choose  Enter answer  ↑↓ read  Esc later".to_owned(), Look::faint())
        }
        Dialog::Help { .. } => ("↑↓ read  Esc close".to_owned(), Look::faint()),
        Dialog::Open { .. } => (key_hints::of_opened_row(screen), Look::faint()),
        Dialog::None if screen.notice.is_some() => {
            return said(buffer, screen, Look::heading(), layout);
        }
        Dialog::None => (key_hints::of_list(screen, width.into()), Look::faint()),
    };
    cells::text(buffer, (0, layout.foot), &words, (width, false), style);
    None
}

/// Paints a notice or a question in as many rows as it has. What has no room is cut at its end.
fn said(buffer: &mut Buffer, screen: &Screen, style: Style, layout: Layout) -> Option<Position> {
    let width = buffer.area.width;
    let mut lines = wrapped(&screen.said()?, width.into());
    let last = usize::from(layout.foot_rows).saturating_sub(1).min(lines.len());
    let rest = lines.split_off(last).join(" ");
    lines.push(rest);
    for (row, line) in (layout.foot..).zip(&lines) {
        cells::text(buffer, (0, row), line, (width, false), style);
    }
    None
}

/// Paints a line that is typed, so that the place of the next letter is in sight. Returns that place.
fn typed(buffer: &mut Buffer, label: &str, text: &str, before: &str, layout: Layout) -> Position {
    let width = buffer.area.width;
    let begin = u16::try_from(measure_text_width(label)).unwrap_or(u16::MAX).min(width / 2);
    cells::text(buffer, (0, layout.foot), label, (begin, false), Style::new());
    let room = usize::from(width - begin).saturating_sub(1).max(1);
    // Line ends of a pasted message are one letter each.
    let (text, before) = (text.replace('\n', "⏎"), before.replace('\n', "⏎"));
    let mut hidden = 0;
    let mut place = measure_text_width(&before);
    let mut letters = before.chars();
    while place > room {
        let Some(letter) = letters.next() else { break };
        hidden += letter.len_utf8();
        place -= measure_text_width(letter.encode_utf8(&mut [0; 4]));
    }
    let shown = text.get(hidden..).unwrap_or_default();
    cells::text(buffer, (begin, layout.foot), shown, (width - begin, false), Style::new());
    let place = begin.saturating_add(u16::try_from(place).unwrap_or(u16::MAX));
    Position::new(place.min(width - 1), layout.foot)
}
