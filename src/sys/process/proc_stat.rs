//! The processes that `/proc` lists, and the facts in `/proc/PID/stat`.

use std::fs;

/// The fields of `/proc/PID/stat` that we use.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) lives: bool,
    /// A signal has stopped it: it lives, and does nothing until another one continues it.
    pub(super) is_suspended: bool,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) started: u64,
    /// The used processor time, in hundredths of a second.
    pub(super) used: u64,
}

pub(super) fn stat(pid: u32) -> Option<Stat> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&line))
}

/// Parses the fields after the second one, which is the program's name in parentheses and may itself contain spaces and parentheses.
/// The numbers in `proc(5)` begin with 1 for the pid, so the first one here is 3, the state.
fn parse_stat(line: &str) -> Option<Stat> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?;
    let group = fields.next()?;
    let mut used = 0_u64;
    for time in [fields.nth(8)?, fields.next()?] {
        used = used.saturating_add(time.parse().ok()?); // Fields 14 and 15.
    }
    let started = fields.nth(6)?; // Field 22.
    Some(Stat {
        lives: !state.starts_with(['Z', 'X', 'x']),
        is_suspended: state.starts_with('T'),
        parent: parent.parse().ok()?,
        group: group.parse().ok()?,
        started: started.parse().ok()?,
        used,
    })
}

pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_a_stat_line_may_look_like_anything() {
        let line =
            "42 (a) R 1 (b) Z) S 7 43 44 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 987654 1000 10";
        let expected = Stat {
            lives: true,
            is_suspended: false,
            parent: 7,
            group: 43,
            started: 987_654,
            used: 3,
        };
        assert_eq!(parse_stat(line), Some(expected));
        let suspended = parse_stat(&line.replace(") S 7", ") T 7")).unwrap();
        assert!(suspended.lives && suspended.is_suspended);
        assert_eq!(parse_stat("42 (cut"), None);
        assert_eq!(parse_stat("42 (cut) S 7"), None);
    }
}
