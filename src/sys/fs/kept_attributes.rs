//! What a file would lose when a new file takes its place: its group, its mode, its access list and the user's own attributes.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

/// The most bytes of a list of names or of a value; Linux allows no more (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MOST_BYTES: usize = 64 * 1024;

/// The bit of a directory's mode that gives its group to the files that are made in it.
#[cfg(target_os = "linux")]
const GROUP_OF_DIRECTORY: u32 = 0o2000;

/// The beginning of the names that belong to the user. The system sets the others by itself.
const OF_USER: &[u8] = b"user.";

/// The name of the access list. Without it, the group would get the rights that the mode shows for the list as a whole.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Says whether a new file in the place of another could have its group, as far as that is known in advance.
#[cfg(target_os = "linux")]
pub fn may_keep_group(path: &Path) -> io::Result<bool> {
    use nix::unistd::{getegid, geteuid, getgroups};
    let group = path.metadata()?.gid();
    let is_ours = || {
        let all = getgroups().unwrap_or_default();
        all.into_iter().chain([getegid()]).any(|one| one.as_raw() == group)
    };
    let is_of_directory = || {
        // A directory with this bit gives its group to each file that is made in it.
        let directory = path.parent().and_then(|it| it.metadata().ok());
        directory.is_some_and(|it| it.gid() == group && it.mode() & GROUP_OF_DIRECTORY != 0)
    };
    Ok(geteuid().is_root() || is_ours() || is_of_directory())
}

/// Other systems give each new file the group of its directory.
#[cfg(not(target_os = "linux"))]
pub fn may_keep_group(_: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Gives a new file the group of another. Fails with [`io::ErrorKind::PermissionDenied`] if the user is not in that group.
pub fn keep_group(from: &File, to: &File) -> io::Result<()> {
    let group = from.metadata()?.gid();
    if to.metadata()?.gid() == group { Ok(()) } else { fchown(to, None, Some(group)) }
}

/// Gives a new file the mode, the access list and the user's attributes of another. The group comes first: the mode is for it. The mode
/// comes last: before, it would give an access list rights that the other file does not give.
pub fn keep_mode_and_attributes(from: &File, to: &File) -> io::Result<()> {
    remove_access_list(to)?;
    let mut names = vec![0; MOST_BYTES];
    let length = match flistxattr(from, names.as_mut_slice()) {
        Err(error) if error == rustix::io::Errno::NOTSUP => 0,
        length => length?,
    };
    let names = names[..length].split(|byte| *byte == 0);
    let mut value = vec![0; MOST_BYTES];
    for name in names.filter(|name| name.starts_with(OF_USER) || *name == ACCESS_LIST) {
        let length = fgetxattr(from, name, value.as_mut_slice())?;
        fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
    }
    to.set_permissions(Permissions::from_mode(from.metadata()?.mode() & 0o7777))
}

/// Removes the access list that a directory gives each file that is created in it (its default list).
#[cfg(target_os = "linux")]
fn remove_access_list(file: &File) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fremovexattr(file, ACCESS_LIST) {
        // There is none, or the file system has none.
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
        done => Ok(done?),
    }
}

/// Other systems have no access lists of this kind.
#[cfg(not(target_os = "linux"))]
fn remove_access_list(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getegid, geteuid, getgroups};

    use super::*;

    #[test]
    fn a_new_file_gets_the_mode_the_group_and_the_users_attributes() {
        let place = tempfile::tempdir().unwrap();
        let new = |name: &str| File::create_new(place.path().join(name)).unwrap();
        let (from, to) = (new("from"), new("to"));
        from.set_permissions(Permissions::from_mode(0o640)).unwrap();
        // Root may choose any group; others have one only if they are in several.
        let own = getegid().as_raw();
        let mut groups: Vec<_> = getgroups().unwrap().iter().map(|group| group.as_raw()).collect();
        groups.extend(geteuid().is_root().then_some(own + 1));
        let group = groups.into_iter().find(|group| *group != own).unwrap_or(own);
        fchown(&from, None, Some(group)).unwrap();
        keep_group(&from, &to).unwrap();
        keep_mode_and_attributes(&from, &to).unwrap();
        assert_eq!(to.metadata().unwrap().gid(), group);
        assert_eq!(to.metadata().unwrap().mode() & 0o7777, 0o640);

        let values = [("user.one", "1"), ("user.empty", "")];
        for (name, value) in values {
            match fsetxattr(&from, name, value.as_bytes(), XattrFlags::empty()) {
                // This file system has none, so there is nothing to keep.
                Err(error) if error == rustix::io::Errno::NOTSUP => return,
                done => done.unwrap(),
            }
        }
        keep_mode_and_attributes(&from, &to).unwrap();
        for (name, value) in values {
            let mut found = [0; 8];
            let length = fgetxattr(&to, name, found.as_mut_slice()).unwrap();
            assert_eq!(&found[..length], value.as_bytes(), "{name}");
        }
    }

    /// Returns an access list: version 2, then entries of a tag, rights and an id. The owner may read and write, one user has these
    /// rights at most, and its group and all others have none.
    #[cfg(target_os = "linux")]
    fn list_for_user(rights_of_user: u16) -> Vec<u8> {
        let mut list = 2_u32.to_le_bytes().to_vec();
        let nobody = u32::MAX;
        let user = (2, rights_of_user, 12);
        let mask = (16, rights_of_user, nobody);
        for (tag, rights, id) in
            [(1_u16, 6_u16, nobody), user, (4, 0, nobody), mask, (32, 0, nobody)]
        {
            list.extend(tag.to_le_bytes());
            list.extend(rights.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        list
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_new_file_gets_the_access_list() {
        let place = tempfile::tempdir().unwrap();
        let new = |name: &str| File::create_new(place.path().join(name)).unwrap();
        let (from, to) = (new("from"), new("to"));
        let list = list_for_user(4);
        match fsetxattr(&from, ACCESS_LIST, &list, XattrFlags::empty()) {
            Err(error) if error == rustix::io::Errno::NOTSUP => return,
            done => done.unwrap(),
        }
        keep_mode_and_attributes(&from, &to).unwrap();
        let mut found = [0; 256];
        let length = fgetxattr(&to, ACCESS_LIST, found.as_mut_slice()).unwrap();
        assert_eq!(&found[..length], list);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_new_file_keeps_no_access_list_that_its_directory_gave_it() {
        let place = tempfile::tempdir().unwrap();
        let new = |name: &str| File::create_new(place.path().join(name)).unwrap();
        let (from, listed) = (new("from"), new("listed"));
        from.set_permissions(Permissions::from_mode(0o660)).unwrap();
        let default = "system.posix_acl_default";
        match rustix::fs::setxattr(place.path(), default, &list_for_user(6), XattrFlags::empty()) {
            // This file system has no access lists.
            Err(error) if error == rustix::io::Errno::NOTSUP => return,
            done => done.unwrap(),
        }
        let own = list_for_user(4);
        fsetxattr(&listed, ACCESS_LIST, &own, XattrFlags::empty()).unwrap();
        let mut found = [0; 256];
        let to = new("to");
        assert!(fgetxattr(&to, ACCESS_LIST, found.as_mut_slice()).is_ok(), "it has the default");
        keep_mode_and_attributes(&from, &to).unwrap();
        let none = fgetxattr(&to, ACCESS_LIST, found.as_mut_slice());
        assert_eq!(none, Err(rustix::io::Errno::NODATA));
        assert_eq!(to.metadata().unwrap().mode() & 0o7777, 0o660);

        let to = new("to-listed");
        keep_mode_and_attributes(&listed, &to).unwrap();
        let length = fgetxattr(&to, ACCESS_LIST, found.as_mut_slice()).unwrap();
        assert_eq!(&found[..length], own);
    }
}
