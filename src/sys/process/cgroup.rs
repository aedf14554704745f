//! A control group for an agent and its descendants, where the system allows one: one write kills it, faster than it can fork. Only
//! version 2 can do that, and only where the groups below ours were delegated to us (`cgroups(7)`, "Delegation").

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The prefix of our groups' names.
const PREFIX: &str = "cli-team-bridge-";

/// The mark that systemd puts on a group which it delegates.
const DELEGATED: &str = "user.delegate";

/// A control group of our own. It is removed when this is dropped, if no process is left in it.
#[derive(Debug)]
pub struct Cgroup {
    /// The group that this process was in before.
    home: PathBuf,
    own: PathBuf,
}

impl Cgroup {
    /// Makes a control group and moves this process into it, so that its children are born there. `None` where that is not possible, or
    /// not delegated to us.
    pub fn enter_new() -> Option<Self> {
        let home = home()?;
        tidy(&home);
        let own = home.join(format!("{PREFIX}{}", Uuid::now_v7().simple()));
        fs::create_dir(&own).ok()?;
        let group = Self { home, own };
        // Linux 5.14 and later can kill one.
        let entered = group.own.join("cgroup.kill").exists() && enter(&group.own).is_ok();
        entered.then_some(group)
    }

    /// Moves this process back. When that fails it has to be forgotten, as killing it would kill this process too.
    pub fn leave(self) -> Option<Self> {
        enter(&self.home).is_ok().then_some(self)
    }

    /// Sends SIGKILL to all processes in it, and to those being born there.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.own.join("cgroup.kill"), "1")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Fails while a process is in it: then the next one tidies up.
        let _ = fs::remove_dir(&self.own);
    }
}

/// Removes the empty control groups that killed processes have left beside those of this process's agents.
pub fn tidy_up() {
    if let Some(home) = home() {
        tidy(&home);
    }
}

/// Returns the control group that this process is in, if the groups below it are ours to make.
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

/// Removes the groups that killed processes could not remove. A group in use is busy, and a group that is just being made is made again
/// or done without.
fn tidy(home: &Path) {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Says whether the groups below this one are delegated to us. Only the superuser can write to groups of another owner, and needs the
/// mark to know.
fn is_ours(group: &str, home: &Path) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    // The root that this process sees: that of a container, or of a system without a manager of groups.
    let is_root = group == "/";
    let mut mark = [0; 1];
    let marked = rustix::fs::getxattr(home, DELEGATED, &mut mark);
    is_root || (marked == Ok(1) && mark == *b"1")
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
    fn a_mount_that_does_not_show_the_group_is_of_no_use() {
        let mounts = "41 31 0:38 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(directory("/", mounts), None);
        let below = directory("/docker/x/y", mounts);
        assert_eq!(below, Some("/sys/fs/cgroup/y".into()));
    }

    #[test]
    fn without_version_2_there_is_none() {
        let mounts = "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
        assert_eq!(directory("/", mounts), None);
    }
}
