//! Network file systems on Linux: by the magic number of the file system, and the type of the mount.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// File systems that are always remote, by their number in `statfs(2)`.
const MAGIC: [(i64, &str); 8] = [
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x517B, "SMB"),
    (0x5346_414F, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
];

/// The number of all file systems that a user's process serves. Only their type tells them apart.
const FUSE: i64 = 0x6573_5546;

/// The types of such file systems that are remote. Unknown ones, including 9p and shared folders of virtual machines, count as local.
const REMOTE_FUSE: [&str; 9] = [
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.cephfs",
    "fuse.davfs",
    "fuse.curlftpfs",
    "fuse.juicefs",
];

/// Names the network file system that a directory is on; none for a local one.
pub fn of(directory: &Path) -> io::Result<Option<String>> {
    let stat = rustix::fs::statfs(directory)?;
    let magic = i64::from_ne_bytes(stat.f_type.to_ne_bytes());
    let mount_type = if magic == FUSE {
        let device = fs::metadata(directory)?.dev();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        mount_type(&mounts, device)
    } else {
        None
    };
    Ok(kind(magic, mount_type.as_deref()))
}

fn kind(magic: i64, mount_type: Option<&str>) -> Option<String> {
    let known = MAGIC.iter().find(|(number, _)| *number == magic);
    let remote = mount_type.filter(|_| magic == FUSE);
    let remote = remote.filter(|mounted| REMOTE_FUSE.contains(mounted));
    known.map(|(_, name)| *name).or(remote).map(str::to_owned)
}

/// Finds the type of the file system on a device in the text of `/proc/self/mountinfo`, see `proc_pid_mountinfo(5)`.
fn mount_type(mounts: &str, device: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let number = format!("{major}:{minor}");
    let mut lines = mounts.lines();
    lines.find_map(|line| {
        let (fields, rest) = line.split_once(" - ")?;
        (fields.split(' ').nth(2)? == number)
            .then(|| rest.split(' ').next().map(str::to_owned))
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_file_system_is_named_and_an_unknown_one_is_local() {
        let of = |magic, mounted| kind(magic, mounted);
        assert_eq!(of(0x6969, None).as_deref(), Some("NFS"));
        assert_eq!(of(0xFF53_4D42, None).as_deref(), Some("CIFS"));
        assert_eq!(of(FUSE, Some("fuse.sshfs")).as_deref(), Some("fuse.sshfs"));
        let (ext4, btrfs, tmpfs, overlay, v9fs) =
            (0xEF53, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x0102_1997);
        for local in [ext4, btrfs, tmpfs, overlay, v9fs] {
            assert_eq!(of(local, None), None);
        }
        assert_eq!(of(FUSE, Some("fuse.portal")), None);
        assert_eq!(of(FUSE, None), None);
        assert_eq!(of(ext4, Some("fuse.sshfs")), None);
    }

    #[test]
    fn the_type_of_a_mount_is_found_by_its_device() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      40 22 0:45 / /mnt/a\\040b rw,nosuid shared:7 - fuse.sshfs me@host:/ rw\n";
        let device = rustix::fs::makedev(0, 45);
        assert_eq!(mount_type(mounts, device).as_deref(), Some("fuse.sshfs"));
        assert_eq!(mount_type(mounts, rustix::fs::makedev(0, 46)), None);
    }

    #[test]
    fn a_temporary_directory_can_be_checked() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of(folder.path()).is_ok());
    }
}
