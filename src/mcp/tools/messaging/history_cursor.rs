//! A position in the history of a member's messages, as a text that models pass back.

use crate::bus::storage::LogPosition;

/// More messages than one line of the log can hold.
const MOST_IN_A_LINE: usize = 1 << 16;

/// The position at which the history continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// A line of the log; `None` for the oldest.
    pub(crate) place: Option<LogPosition>,
    /// How many of that line's messages have been shown: one line may have several for the same member.
    pub(crate) shown: usize,
}

impl Cursor {
    /// The cursor before the oldest line.
    pub(crate) const OLDEST: Self = Self { place: None, shown: 0 };

    /// Returns the cursor before a line.
    pub(crate) fn at(place: LogPosition) -> Self {
        Self { place: Some(place), shown: 0 }
    }

    /// Returns the cursor behind one more message, in the line at `place`.
    pub(crate) fn behind(self, place: LogPosition) -> Self {
        let shown = if self.place == Some(place) { self.shown + 1 } else { 1 };
        Self { place: Some(place), shown }
    }

    /// Parses a cursor.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self::OLDEST);
        }
        let mut numbers = text.split('.').map(str::parse::<u64>);
        let (segment, offset, shown) = (numbers.next()?, numbers.next()?, numbers.next()?);
        if numbers.next().is_some() {
            return None;
        }
        Some(Self {
            place: Some(LogPosition { segment: segment.ok()?, offset: offset.ok()? }),
            // A line cannot have more, so a larger number is invalid.
            shown: usize::try_from(shown.ok()?).ok().filter(|shown| *shown <= MOST_IN_A_LINE)?,
        })
    }

    /// Returns the text of the cursor.
    pub(crate) fn text(self) -> String {
        match self.place {
            None => "0".to_owned(),
            Some(place) => format!("{}.{}.{}", place.segment, place.offset, self.shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back() {
        let place = LogPosition { segment: 7, offset: 4096 };
        let cursor = Cursor::at(place).behind(place).behind(place);
        assert_eq!(cursor.shown, 2);
        assert_eq!(Cursor::parse(&cursor.text()), Some(cursor));
        assert_eq!(Cursor::parse("0").map(Cursor::text).as_deref(), Some("0"));
    }

    #[test]
    fn anything_else_is_none() {
        for text in
            ["", "1", "1.2", "1.2.3.4", "a.b.c", "-1.0.0", "../../x", "1.2.99999999999999999999"]
        {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
