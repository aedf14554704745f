//! When the last beat of the host was sent that the server has answered: all processes of the host know it by this.
//!
//! It stands in the lock file of the process that beats, as the boot and the milliseconds since the machine was started: the time of day
//! may be set, and a sleep of the machine counts.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use super::mirror_files::HOST_LOCK;
use crate::sys::clock;
use crate::sys::fs::disk::{self, Writes};

/// The length of what is written, always: a reader finds the old time or the new one.
const BYTES: usize = 32;

pub(in crate::bus::storage::file) fn note(directory: &Path, sent_ms: u64) -> io::Result<()> {
    let file = disk::open_or_create_private(&directory.join(HOST_LOCK), Writes::Anywhere)?;
    let boot = clock::now().tick.boot;
    file.write_all_at(format!("{boot:010} {sent_ms:020}\n").as_bytes(), 0)
}

/// Returns how long ago it was sent; none before the first beat in this boot.
pub(in crate::bus::storage::file) fn since(directory: &Path) -> Option<Duration> {
    let file = disk::open_as_allowed(&directory.join(HOST_LOCK), Writes::Anywhere).ok()?;
    let mut bytes = [0; BYTES];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let (boot, sent_ms) = std::str::from_utf8(&bytes).ok()?.trim_end().split_once(' ')?;
    let is_of_this_boot = boot.parse() == Ok(clock::now().tick.boot);
    let sent_ms: u64 = sent_ms.parse().ok().filter(|_| is_of_this_boot)?;
    Some(Duration::from_millis(clock::since_start_ms().saturating_sub(sent_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_as_old_as_it_was_sent_and_nothing_else_is_one() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(since(directory.path()), None);
        let now = clock::since_start_ms();
        note(directory.path(), now.saturating_sub(7_000)).unwrap();
        assert!(since(directory.path()).unwrap() >= Duration::from_secs(7));
        note(directory.path(), now).unwrap();
        assert!(since(directory.path()).unwrap() < Duration::from_secs(5));
        for other in ["", "0000000001 00000000000000000001\n", "not a time, but as long as one..\n"]
        {
            std::fs::write(directory.path().join(HOST_LOCK), other).unwrap();
            assert_eq!(since(directory.path()), None, "{other}");
        }
    }
}
