//! The styles of the window. A meaning always has a shape or a word as well, so none depends on a colour.

use ratatui::style::{Color, Modifier, Style};

use crate::view::{MemberRow, ReceiptStatus, StatusLook, Tone};

/// How the window looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) struct Look {
    /// Whether its user wants colours.
    pub(in crate::cli::commands::top) colours: bool,
}

impl Look {
    fn coloured(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn heading() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn faint() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn chosen() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn urgent(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub(super) fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    pub(super) fn bad(self) -> Style {
        self.coloured(Color::Red)
    }

    /// Returns the mark of a member, and its style.
    pub(super) fn member(self, row: &MemberRow) -> (&'static str, Style) {
        self.of(StatusLook::of_member(row))
    }

    /// Returns the mark of a task, a step, a workflow or a request, and its style.
    pub(super) fn status(self, status: &str) -> (&'static str, Style) {
        self.of(StatusLook::of(status))
    }

    fn of(self, look: StatusLook) -> (&'static str, Style) {
        let style = match look.tone {
            Tone::Active => self.coloured(Color::Cyan),
            Tone::Good => self.good(),
            Tone::Bad => self.bad(),
            Tone::Urgent => self.urgent(),
            Tone::Plain => Style::new(),
            Tone::Faint => Self::faint(),
        };
        (look.mark, style)
    }

    /// Returns the mark of a receipt, and its style.
    pub(super) fn receipt(self, status: ReceiptStatus) -> (&'static str, Style) {
        self.of(StatusLook::of_receipt(status))
    }
}
