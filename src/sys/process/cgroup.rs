//! A control group for an agent and its descendants, where the system allows one: one write kills all of them, faster than they can
//! fork. This needs version 2, with the groups below ours delegated to us (`cgroups(7)`, "Delegation").
//!
//! A process can leave its parent, its session and its environment, but not its group. So a group is named after the mark of its agent,
//! and its processes are found even after the bridge and the shim were killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The prefix of our groups' names.
const PREFIX: &str = "cli-team-bridge-";

/// The attribute that systemd sets on a delegated group.
const DELEGATED: &str = "user.delegate";

/// The most groups searched for those of dead agents: desktops and servers have some hundreds.
const MOST_GROUPS: usize = 4_096;

/// A control group of our own. Dropping it removes the group, if it is empty.
#[derive(Debug)]
pub struct Cgroup {
    /// The group that this process was in before.
    home: PathBuf,
    own: PathBuf,
}

impl Cgroup {
    /// Creates a control group for the processes with a mark and moves this process into it, so that its children start there. `None` if
    /// that is impossible, or not delegated to us.
    pub fn enter_new(mark: &str) -> Option<Self> {
        let home = home()?;
        tidy(&home);
        let own = home.join(format!("{}{}", prefix_of(mark), Uuid::now_v7().simple()));
        fs::create_dir(&own).ok()?;
        let group = Self { home, own };
        // Only Linux 5.14 and later can kill a group.
        let entered = group.own.join("cgroup.kill").exists() && enter(&group.own).is_ok();
        entered.then_some(group)
    }

    /// Moves this process back. If that fails, returns `None`: killing the group would kill this process too.
    pub fn leave(self) -> Option<Self> {
        enter(&self.home).is_ok().then_some(self)
    }

    /// Sends SIGKILL to all processes in the group, including those just being forked.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.own.join("cgroup.kill"), "1")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // This fails while a process is in the group. Then the next agent's start removes it.
        let _ = fs::remove_dir(&self.own);
    }
}

/// Removes the empty control groups that killed shims have left beside those of this process's agents.
pub fn tidy_up() {
    if let Some(home) = home() {
        tidy(&home);
    }
}

/// Kills all processes in the control groups with these marks, and returns them by mark. Leaves a group with a spared process alone,
/// and removes empty ones.
pub fn kill_marked(marks: &BTreeSet<&str>, spared: &BTreeSet<u32>) -> BTreeMap<String, Vec<u32>> {
    let mut killed: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Some(top) = directory_of_all(&mounts) else {
        return killed;
    };
    let prefixes: Vec<_> = marks.iter().map(|mark| (*mark, prefix_of(mark))).collect();
    for (group, name) in our_groups(top) {
        let Some((mark, _)) = prefixes.iter().find(|(_, prefix)| name.starts_with(prefix)) else {
            continue;
        };
        let events = fs::read_to_string(group.join("cgroup.events")).unwrap_or_default();
        if !events.lines().any(|line| line == "populated 1") {
            // A group in use is busy.
            let _ = fs::remove_dir(&group);
            continue;
        }
        let all = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        let all: Vec<u32> = all.lines().filter_map(|pid| pid.parse().ok()).collect();
        if all.iter().any(|pid| spared.contains(pid)) {
            continue;
        }
        tracing::warn!(group = name, "killing processes that a dead bridge left");
        if let Err(error) = fs::write(group.join("cgroup.kill"), "1") {
            tracing::warn!(group = name, %error, "cannot kill processes that a dead bridge left");
        }
        killed.entry((*mark).to_owned()).or_default().extend(all);
    }
    killed
}

/// Finds the groups with our prefix, and their names.
fn our_groups(top: PathBuf) -> Vec<(PathBuf, String)> {
    let (mut found, mut open, mut looked) = (Vec::new(), vec![top], 0);
    while let Some(group) = open.pop() {
        let entries = fs::read_dir(group).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            looked += 1;
            if looked > MOST_GROUPS {
                return found;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(PREFIX) {
                found.push((entry.path(), name));
            } else {
                open.push(entry.path());
            }
        }
    }
    found
}

/// Returns the prefix of the groups of a mark, as a valid file name.
fn prefix_of(mark: &str) -> String {
    let letters = mark.chars().take(128);
    let plain = letters.map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    format!("{PREFIX}{}.", plain.collect::<String>())
}

/// Returns the control group of this process, if we may create groups below it.
fn home() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let home = directory(group, &mounts)?;
    is_ours(group, &home).then_some(home)
}

/// Moves this process into a group.
fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// Removes the groups that killed shims could not remove. A group in use is busy. A shim whose group is removed while it is created
/// does without one.
fn tidy(home: &Path) {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Says whether the groups below this one are delegated to us. Only root could write to groups that are not, so for root the attribute
/// decides.
fn is_ours(group: &str, home: &Path) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    // The visible root: that of a container, or of a system without a manager of groups.
    let is_root = group == "/";
    let mut mark = [0; 1];
    let marked = rustix::fs::getxattr(home, DELEGATED, &mut mark);
    is_root || (marked == Ok(1) && mark == *b"1")
}

/// Returns the directory of all visible groups of version 2.
fn directory_of_all(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let point = mount.split(' ').nth(4)?;
        kind.starts_with("cgroup2 ").then(|| point.into())
    })
}

/// Returns the directory of a group of version 2.
fn directory(group: &str, mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        // 41 31 0:38 ROOT POINT OPTIONS [FIELDS…] - TYPE SOURCE OPTIONS, see proc_pid_mountinfo(5).
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(group).strip_prefix(root).ok()?;
        kind.starts_with("cgroup2 ").then(|| Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 25 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                          40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
                          41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn a_group_is_found_below_its_mount() {
        let found = directory("/user.slice/a", MOUNTS);
        let expected = "/sys/fs/cgroup/unified/user.slice/a";
        assert_eq!(found, Some(expected.into()));
    }

    #[test]
    fn the_groups_of_a_mark_are_known_by_their_name() {
        assert_eq!(directory_of_all(MOUNTS), Some("/sys/fs/cgroup/unified".into()));
        let folder = tempfile::tempdir().unwrap();
        let mark = "0190@64769:12";
        let mine = format!("{}1", prefix_of(mark));
        assert_eq!(mine, "cli-team-bridge-0190-64769-12.1");
        assert!(!mine.starts_with(&prefix_of("0190@64769:1")));
        for group in [&format!("user.slice/app.scope/{mine}"), "user.slice/other"] {
            fs::create_dir_all(folder.path().join(group)).unwrap();
        }
        let found = our_groups(folder.path().into());
        let expected = (folder.path().join("user.slice/app.scope").join(&mine), mine);
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_mount_without_the_group_is_ignored() {
        let mounts = "41 31 0:38 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(directory("/", mounts), None);
        let below = directory("/docker/x/y", mounts);
        assert_eq!(below, Some("/sys/fs/cgroup/y".into()));
    }

    #[test]
    fn without_version_2_there_is_no_group() {
        let mounts = "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
        assert_eq!(directory("/", mounts), None);
    }
}
