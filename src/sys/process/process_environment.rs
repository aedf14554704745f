//! The environment of a process, as it was when its program began. It holds the mark of a bridge's agents.

use std::fs;

use super::proc_stat::{pids, stat};

/// Returns the live processes whose environment, as it was when their program began, has `key` set to `value`.
///
/// Leaves out processes of other users, which cannot be read, processes that have cleared their environment, and those whose program is
/// just being started: a caller that has to be sure lists again. Empty without `/proc`.
pub fn marked(key: &str, value: &str) -> Vec<u32> {
    let mark = format!("{key}={value}").into_bytes();
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark)
            && stat(*pid).is_some_and(|stat| stat.lives)
    };
    pids().filter(carries).collect()
}

/// Says whether the environment of a process, as it was when its program began, has a variable. See [`marked`].
pub fn has_variable(pid: u32, key: &str) -> bool {
    variable(pid, key).is_some()
}

/// Returns a variable of a process, as it was when its program began. See [`marked`].
pub fn variable(pid: u32, key: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut entries = environment.split(|byte| *byte == 0);
    let value = |entry: &[u8]| {
        let value = entry.strip_prefix(key.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    entries.find_map(value)
}
