//! A position in the list of tasks, as a text that models pass back.

use crate::bus::state::Task;
use crate::bus::storage::LogPosition;

/// The last task that has been shown, by the place at which it was assigned: a task that is assigned meanwhile moves no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskCursor {
    place: LogPosition,
    index: u16,
}

impl TaskCursor {
    pub(crate) fn of(task: &Task) -> Self {
        let (place, index) = task.assigned_at();
        Self { place, index }
    }

    /// Parses a cursor.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse::<u64>().ok());
        let (segment, offset, index) = (numbers.next()??, numbers.next()??, numbers.next()??);
        if numbers.next().is_some() {
            return None;
        }
        let place = LogPosition { segment, offset };
        Some(Self { place, index: u16::try_from(index).ok()? })
    }

    /// Returns the text of the cursor.
    pub(crate) fn text(self) -> String {
        format!("{}.{}.{}", self.place.segment, self.place.offset, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = TaskCursor { place: LogPosition { segment: 7, offset: 4096 }, index: 2 };
        assert_eq!(TaskCursor::parse(&cursor.text()), Some(cursor));
        for text in ["", "0", "1.2", "1.2.3.4", "a.b.c", "-1.0.0", "1.2.65536"] {
            assert_eq!(TaskCursor::parse(text), None, "{text}");
        }
    }
}
