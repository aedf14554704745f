//! The directories above a path that other users may change: they could put something else in the place of the path, or files beside it
//! that programs find which look for their settings in all directories above.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, User, geteuid};

/// The user who may change everything anyway.
const ROOT: u32 = 0;

/// The right of everybody to write, and that of the group.
const EVERYBODY_WRITES: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// With this bit, only the owner of a directory and that of a name in it may rename or remove the name.
const STICKY: u32 = 0o1000;

/// A directory that other users may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenParent {
    pub path: PathBuf,
    pub rights: RightsOfOthers,
}

/// What other users may do in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightsOfOthers {
    /// It belongs to another user, who may do everything.
    Own,
    /// They may create, rename and remove names in it.
    Change,
    /// They may create names in it, and change only their own (a sticky directory, such as `/tmp`).
    Add,
}

/// Finds the directories above an absolute path that users other than this one and root may change, the outermost first: above the path
/// as it is named, and above the path with its links resolved. Directories that do not exist yet are left out.
///
/// The group that has this user's name and no other members is not others: many systems give each user such a group, and let it write.
pub fn above(path: &Path) -> io::Result<Vec<OpenParent>> {
    let present = path.ancestors().skip(1).find(|directory| directory.exists());
    let present = present.unwrap_or(Path::new("/"));
    let real = present.canonicalize()?;
    let all: BTreeSet<_> = present.ancestors().chain(real.ancestors()).collect();
    let mut found = Vec::new();
    for directory in all {
        if let Some(rights) = rights_of_others(directory, &fs::metadata(directory)?) {
            found.push(OpenParent { path: directory.to_owned(), rights });
        }
    }
    Ok(found)
}

fn rights_of_others(directory: &Path, metadata: &Metadata) -> Option<RightsOfOthers> {
    let mode = metadata.mode();
    let is_of_others = || !is_own_group(metadata.gid()) || has_access_list(directory);
    let group_writes = mode & GROUP_WRITES != 0 && is_of_others();
    if ![geteuid().as_raw(), ROOT].contains(&metadata.uid()) {
        Some(RightsOfOthers::Own)
    } else if mode & EVERYBODY_WRITES == 0 && !group_writes {
        None
    } else if mode & STICKY != 0 {
        Some(RightsOfOthers::Add)
    } else {
        Some(RightsOfOthers::Change)
    }
}

/// Says whether a group is this user's own: it has the user's name, and nobody else is in it.
fn is_own_group(group: u32) -> bool {
    let Ok(Some(user)) = User::from_uid(geteuid()) else {
        return false;
    };
    let Ok(Some(group)) = Group::from_gid(Gid::from_raw(group)) else {
        return false;
    };
    user.gid == group.gid
        && user.name == group.name
        && group.mem.iter().all(|member| *member == user.name)
}

/// Says whether a directory has an access list: then the rights of the group in its mode are those of all that the list names.
#[cfg(target_os = "linux")]
fn has_access_list(directory: &Path) -> bool {
    let mut none: [u8; 0] = [];
    rustix::fs::getxattr(directory, "system.posix_acl_access", none.as_mut_slice())
        .is_ok_and(|length| length > 0)
}

#[cfg(not(target_os = "linux"))]
fn has_access_list(_directory: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn open(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn each_directory_above_that_others_may_change_is_found() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let [outer, inner] = ["outer", "outer/inner"].map(|name| base.join(name));
        fs::create_dir_all(inner.join("deep")).unwrap();
        let path = inner.join("deep/missing/bus");
        let here = || -> Vec<_> {
            let all = above(&path).unwrap().into_iter();
            // What is above the temporary directory depends on the machine.
            all.filter(|one| one.path.starts_with(&base))
                .map(|one| (one.path, one.rights))
                .collect()
        };
        assert_eq!(here(), []);
        open(&outer, 0o1777);
        open(&inner, 0o757);
        let expected =
            [(outer.clone(), RightsOfOthers::Add), (inner.clone(), RightsOfOthers::Change)];
        assert_eq!(here(), expected);
        open(&outer, 0o755);
        open(&inner, 0o755);
        // The directory itself is not above itself.
        open(&inner.join("deep"), 0o777);
        assert_eq!(above(&inner.join("deep")).unwrap(), above(&inner).unwrap());
        let link = base.join("link");
        symlink(&inner, &link).unwrap();
        open(&outer, 0o777);
        let by_link = above(&link.join("deep")).unwrap();
        assert!(by_link.iter().any(|one| one.path == outer), "{by_link:?}");
    }

    #[test]
    fn a_group_counts_as_others_unless_it_is_the_users_own() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let directory = base.join("shared");
        fs::create_dir(&directory).unwrap();
        let user = User::from_uid(geteuid()).unwrap().unwrap();
        std::os::unix::fs::chown(&directory, None, Some(user.gid.as_raw())).unwrap();
        open(&directory, 0o775);
        let rights = || rights_of_others(&directory, &fs::metadata(&directory).unwrap());
        let group = Group::from_gid(user.gid).unwrap().unwrap();
        let is_own = group.name == user.name && group.mem.iter().all(|member| *member == user.name);
        assert_eq!(rights(), (!is_own).then_some(RightsOfOthers::Change));
        // A group of which the system knows no name. Only root can give a directory to it.
        if std::os::unix::fs::chown(&directory, None, Some(59_999)).is_ok() {
            open(&directory, 0o775);
            assert_eq!(rights(), Some(RightsOfOthers::Change));
            std::os::unix::fs::chown(&directory, Some(59_999), None).unwrap();
            open(&directory, 0o700);
            assert_eq!(rights(), Some(RightsOfOthers::Own));
        }
    }
}
