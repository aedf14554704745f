//! The environment of a process, as it was when its program began. The mark that a bridge's agents carry stands there.

use std::fs;

use super::proc_stat::{pids, stat};

/// Returns the live processes whose environment, as it was when their program began, has `key` set to `value`.
///
/// A process of another user cannot be read and is left out, and so is one that cleared its environment, or whose program
/// is being started at this very moment: a caller that has to be sure looks again. Empty without `/proc`.
pub fn marked(key: &str, value: &str) -> Vec<u32> {
    let mark = format!("{key}={value}").into_bytes();
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark)
            && stat(*pid).is_some_and(|stat| stat.lives)
    };
    pids().filter(carries).collect()
}

/// Tells whether the environment of a process, as it was when its program began, has a variable. See [`marked`].
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
