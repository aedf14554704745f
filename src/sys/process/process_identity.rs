//! The identity of a process: its start time, its program, and the pid of this process.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::proc_stat::stat;

/// Returns the start time of a process, in clock ticks since boot. With the pid, which alone may be reused, it identifies the process
/// for ever. `None` if there is no such process, or no `/proc`.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.started)
}

/// Returns whether a process is stopped by a signal (`kill -STOP`, Ctrl-Z) and does nothing until it is continued. `started` excludes a
/// later process with the same pid. False without `/proc`.
pub fn is_suspended(pid: u32, started: Option<u64>) -> bool {
    let same = |known: u64| started.is_none_or(|started| started == known);
    stat(pid).is_some_and(|stat| stat.is_suspended && same(stat.started))
}

/// Returns the pid of this process in `/proc`, which differs from its own if `/proc` belongs to an outer PID namespace. None if it is
/// not there, and without `/proc`.
pub fn own_pid() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// Returns the first argument of a process, after its program's name. None without `/proc`.
pub fn first_argument(pid: u32) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let word = words.split(|byte| *byte == 0).nth(1)?;
    Some(String::from_utf8_lossy(word).into_owned())
}

/// Says whether a process runs the file of this program, or one at its place: a newer version may have replaced it. False without `/proc`.
pub fn runs_this_file(pid: u32) -> bool {
    let place = |path: String| {
        let path = fs::read_link(path).ok()?.to_string_lossy().into_owned();
        Some(path.trim_end_matches(" (deleted)").to_owned())
    };
    let own = place("/proc/self/exe".to_owned());
    own.is_some() && place(format!("/proc/{pid}/exe")) == own
}

/// Says whether a process runs the same program as this one: the same file, or one of the same name, because a newer version may have
/// replaced it. False without `/proc`, and for processes of other users.
pub fn runs_this_program(pid: u32) -> bool {
    let (own, other) = (Path::new("/proc/self/exe"), format!("/proc/{pid}/exe"));
    let file = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let name = |path: &Path| {
        let path = fs::read_link(path).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        // The system adds this if the file is gone.
        Some(name.trim_end_matches(" (deleted)").to_owned())
    };
    let other = Path::new(&other);
    let is_same_file = file(own).is_some_and(|own| file(other) == Some(own));
    is_same_file || name(own).is_some_and(|own| name(other) == Some(own))
}
