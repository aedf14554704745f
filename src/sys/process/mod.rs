//! Facts about processes, and the one way to signal a group of them.
//!
//! Facts from `/proc` are exact on Linux. Elsewhere each function says what poorer answer it gives.

pub mod ancestors;
pub mod cgroup;
pub mod descendants;
pub mod kill_children;
pub mod pid_namespace;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::{kill, killpg};
use nix::unistd::{AccessFlags, Pid, access};

pub use nix::sys::signal::Signal;

/// Sends `signal` to every process of the group. An empty group is a success: there is nothing to signal.
///
/// As soon as its leader is reaped, the number may become that of another group: so only the holder of the unreaped leader may call
/// this.
pub fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
    match killpg(group_id(group)?, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the processes of the group that still live; the dead that wait to be reaped are not among them.
///
/// Without `/proc` the group's own id stands for all of them, for as long as the group answers.
/// The look is not one instant: a process that appears meanwhile may be missed.
pub fn group_members(group: u32) -> Vec<u32> {
    if cfg!(target_os = "linux") {
        let in_group = |pid: &u32| stat(*pid).is_some_and(|stat| stat.lives && stat.group == group);
        return pids().filter(in_group).collect();
    }
    let answers = group_id(group).is_ok_and(|id| killpg(id, None).is_ok());
    answers.then_some(group).into_iter().collect()
}

/// Tells whether a process of the group still lives.
pub fn group_is_populated(group: u32) -> bool {
    !group_members(group).is_empty()
}

/// Returns when the process started, in clock ticks since boot: with the pid it names a process for ever, as pids are
/// used again. `None` when there is no such process, or no `/proc`.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.started)
}

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

/// Returns the pid by which `/proc` knows this process: another than its own where that is the `/proc` of a PID namespace around
/// its own. None where it is not known there, and without `/proc`.
pub fn own_pid() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// Returns the first argument that a process was started with, behind its program's name. None without `/proc`.
pub fn first_argument(pid: u32) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let word = words.split(|byte| *byte == 0).nth(1)?;
    Some(String::from_utf8_lossy(word).into_owned())
}

/// Tells whether a process runs the program that this one runs: the same file, or one of the same name, as a newer version may have
/// taken its place. False without `/proc`, and for processes of other users.
pub fn runs_this_program(pid: u32) -> bool {
    let (own, other) = (Path::new("/proc/self/exe"), format!("/proc/{pid}/exe"));
    let file = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let name = |path: &Path| {
        let path = fs::read_link(path).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        // What the system adds when the file is gone.
        Some(name.trim_end_matches(" (deleted)").to_owned())
    };
    let other = Path::new(&other);
    let is_same_file = file(own).is_some_and(|own| file(other) == Some(own));
    is_same_file || name(own).is_some_and(|own| name(other) == Some(own))
}

/// The state of a child of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildState {
    /// It has not exited.
    Running,
    /// It has exited and waits to be reaped, so its pid and its group are still its own.
    Exited,
    /// It is no child of ours, or other code reaped it: its pid may already be another process.
    NotOurs,
}

/// Looks at a child without reaping it.
#[cfg(target_os = "linux")]
pub fn peek_child(pid: u32) -> ChildState {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};

    let Some(pid) = raw(pid) else {
        return ChildState::NotOurs;
    };
    match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
        Ok(WaitStatus::StillAlive) => ChildState::Running,
        Err(Errno::ECHILD) => ChildState::NotOurs,
        // An error here is a death by a signal that `nix` has no name for (a real-time one).
        Ok(_) | Err(_) => ChildState::Exited,
    }
}

/// Looks at a child without reaping it, which this system cannot: no process is known as a child.
#[cfg(not(target_os = "linux"))]
pub fn peek_child(_pid: u32) -> ChildState {
    ChildState::NotOurs
}

/// Sends SIGKILL to a child of this process that is not reaped, so that its pid is its own. One that is dead is a success.
pub fn kill_child(pid: u32) -> io::Result<()> {
    match kill(group_id(pid)?, Signal::SIGKILL) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Finds a program: an absolute path, a path with a slash (from the current directory), or a name on `search_path`.
///
/// The answer is absolute. Relative entries of the search path are skipped: they would let a project's folder bring its
/// own program under a well-known name.
pub fn find_program(name: &Path, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if has_directory(name) {
        return std::path::absolute(name).ok().filter(|path| is_executable(path));
    }
    let directories = std::env::split_paths(search_path?);
    directories
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path))
}

/// Tells whether a program is named by a path, which is then not looked up anywhere.
pub fn has_directory(program: &Path) -> bool {
    program.as_os_str().as_bytes().contains(&b'/')
}

/// Tells whether the path is a file that we may execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// What we use of a line of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) lives: bool,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) started: u64,
    /// The processor time that it has used, in hundredths of a second.
    pub(super) used: u64,
}

pub(super) fn stat(pid: u32) -> Option<Stat> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&line))
}

/// The second field is the program's name in parentheses and may itself contain spaces and parentheses, so the fields
/// are counted from the last one. The numbers in `proc(5)` begin with 1 for the pid; the first one here is 3, the state.
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

/// Refuses 0 and 1, which `killpg` takes for our own group and for every process there is.
fn group_id(group: u32) -> io::Result<Pid> {
    raw(group).filter(|id| id.as_raw() > 1).ok_or_else(|| {
        let reason = format!("{group} is not a process group that can be signalled");
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}

fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_name_in_a_stat_line_may_look_like_anything() {
        let line =
            "42 (a) R 1 (b) Z) S 7 43 44 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 987654 1000 10";
        let expected = Stat { lives: true, parent: 7, group: 43, started: 987_654, used: 3 };
        assert_eq!(parse_stat(line), Some(expected));
        assert_eq!(parse_stat("42 (cut"), None);
        assert_eq!(parse_stat("42 (cut) S 7"), None);
    }

    #[test]
    fn groups_that_mean_more_than_a_group_are_refused() {
        for group in [0, 1, u32::MAX] {
            let refusal = signal_group(group, Signal::SIGKILL).unwrap_err();
            assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found_in_its_group_with_its_start_time() {
        let me = std::process::id();
        let group = u32::try_from(nix::unistd::getpgrp().as_raw()).unwrap();
        assert!(group_members(group).contains(&me));
        assert!(start_time(me).is_some_and(|started| started > 0));
        assert_eq!(start_time(u32::MAX), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_is_no_child_is_not_ours() {
        assert_eq!(peek_child(std::process::id()), ChildState::NotOurs);
    }

    #[test]
    fn programs_are_found_by_path_and_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tool");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let search = Some(folder.path().as_os_str());
        assert_eq!(find_program(Path::new("tool"), search), None, "not executable yet");

        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_program(Path::new("tool"), search), Some(program.clone()));
        assert_eq!(find_program(&program, None), Some(program));
        assert_eq!(find_program(Path::new("tool"), None), None);
        assert_eq!(find_program(Path::new("./tool"), search), None, "a path is not looked up");
        assert_eq!(find_program(folder.path(), None), None, "a directory is no program");
    }

    #[test]
    fn relative_entries_of_the_search_path_are_skipped() {
        assert_eq!(
            find_program(Path::new("sh"), Some(OsStr::new("/nowhere:../../../../../../bin:."))),
            None
        );
        assert_eq!(
            find_program(Path::new("sh"), Some(OsStr::new("bin:/bin"))),
            Some(PathBuf::from("/bin/sh"))
        );
    }
}
