//! What a reader of the log says about damaged lines: once for all that it finds together, however many they are. Another program can fill
//! a log with them, and `doctor` names each.

use super::log::segments;
use crate::bus::event::LogPosition;
use crate::domain::text::counted::counted;

/// How many damaged lines are named.
const NAMED: usize = 3;

/// The damaged lines that one process has found.
#[derive(Debug, Default)]
pub(crate) struct DamageReport {
    /// The first lines since the last report.
    first: Vec<LogPosition>,
    found: u64,
    /// How many had been found at the last report.
    told: u64,
}

impl DamageReport {
    /// Notes a damaged line that begins at a position.
    pub(crate) fn note(&mut self, place: LogPosition) {
        self.found += 1;
        if self.first.len() < NAMED {
            self.first.push(place);
        }
    }

    /// Logs what was found since the last report: at first anything, later only a number that has doubled.
    pub(crate) fn tell(&mut self) {
        if let Some(says) = self.says() {
            tracing::warn!("{says}");
        }
    }

    fn says(&mut self) -> Option<String> {
        let new = self.found - self.told;
        if new == 0 || new < self.told {
            return None;
        }
        self.told = self.found;
        let first = std::mem::take(&mut self.first);
        let name = |place: &LogPosition| {
            format!("`log/{}` from byte {}", segments::file_name(place.segment), place.offset)
        };
        let named: Vec<_> = first.iter().map(name).collect();
        let more = if new > named.len() as u64 { ", …" } else { "" };
        let lines = counted(new, "damaged line");
        Some(format!("skipped {lines} of the log: {}{more}", named.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_damaged_lines_are_one_sentence_with_their_number() {
        let mut report = DamageReport::default();
        assert_eq!(report.says(), None);
        let note = |report: &mut DamageReport, lines: u64| {
            for offset in 0..lines {
                report.note(LogPosition { segment: 1, offset });
            }
        };
        note(&mut report, 1);
        let name = segments::file_name(1);
        let first = format!("skipped 1 damaged line of the log: `log/{name}` from byte 0");
        assert_eq!(report.says(), Some(first));
        note(&mut report, 300_000);
        let many = report.says().unwrap();
        assert!(many.starts_with("skipped 300000 damaged lines of the log: "), "{many}");
        assert!(many.ends_with("from byte 2, …") && many.len() < 200, "{many}");
        note(&mut report, 300_000);
        assert_eq!(report.says(), None);
        note(&mut report, 1);
        assert!(report.says().unwrap().starts_with("skipped 300001 damaged lines"));
    }
}
