//! How much memory a process and its descendants use.
//!
//! Memory that several processes share is divided among them, so that the sum over a tree counts each page once.

use std::path::Path;

use super::descendants;
use crate::sys::fs::bounded_file;

/// The summary that the system gives of a process's memory is a few hundred bytes long.
const MAX_SUMMARY_BYTES: u64 = 64 * 1024;

/// The memory of a tree of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    pub bytes: u64,
    /// How many processes there are.
    pub processes: usize,
}

/// Adds up what a process and its descendants use. Zero without `/proc`.
pub fn of_tree(pid: u32) -> MemoryUse {
    let mut pids: Vec<_> = descendants::descendants(&[pid]).iter().map(|one| one.pid).collect();
    pids.push(pid);
    pids.sort_unstable();
    pids.dedup();
    let used = pids.into_iter().filter_map(proportional_bytes);
    used.fold(MemoryUse::default(), |sum, bytes| MemoryUse {
        bytes: sum.bytes.saturating_add(bytes),
        processes: sum.processes + 1,
    })
}

fn proportional_bytes(pid: u32) -> Option<u64> {
    let summary = format!("/proc/{pid}/smaps_rollup");
    let summary = bounded_file::read(Path::new(&summary), MAX_SUMMARY_BYTES).ok()?;
    proportional(&String::from_utf8_lossy(&summary))
}

/// Reads the `Pss` line of a summary, see `proc_pid_smaps(5)`.
fn proportional(summary: &str) -> Option<u64> {
    let line = summary.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_process_is_read() {
        let summary = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:    8 kB\nPss:    1234 kB\n\
                       Pss_Dirty:    4 kB\n";
        assert_eq!(proportional(summary), Some(1234 * 1024));
        assert_eq!(proportional("Pss: many kB"), None);
        assert_eq!(proportional(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_memory() {
        let used = of_tree(std::process::id());
        assert!(used.bytes > 0 && used.processes >= 1, "{used:?}");
    }
}
