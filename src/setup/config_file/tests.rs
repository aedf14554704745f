//! Replacing and removing files of clients, and what keeps setup from it.

use std::fs::Permissions;
use std::os::unix::fs::symlink;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_is_replaced_behind_its_link_with_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let (real, link) = (home.path().join("real.json"), home.path().join("link.json"));
    fs::write(&real, "one").unwrap();
    fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    let file = ConfigFile::read(&link, None).unwrap();
    assert_eq!(file.replace("two").unwrap(), Vec::<PathBuf>::new());
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "two");
    assert_eq!(mode(&real), 0o640);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing temporary is left");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.json");
    let missing = ConfigFile::read(&path, None).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(missing.replace("ours"), Err(ConfigFileError::Changed)));
    let file = ConfigFile::read(&path, None).unwrap();
    fs::write(&path, "theirs again").unwrap();
    assert!(matches!(file.replace("ours"), Err(ConfigFileError::Changed)));
    assert!(matches!(file.remove(), Err(ConfigFileError::Changed)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs again");
}

#[test]
fn a_file_in_a_directory_that_may_not_be_read_counts_as_replaced() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let path = home.join("a.json");
    fs::write(&path, "one").unwrap();
    let file = ConfigFile::read(&path, None).unwrap();
    // Then it cannot be synced, except by root.
    fs::set_permissions(&home, Permissions::from_mode(0o300)).unwrap();
    let replaced = file.replace("two");
    fs::set_permissions(&home, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(replaced.unwrap(), Vec::<PathBuf>::new());
    assert_eq!(fs::read_to_string(&path).unwrap(), "two");
}

#[test]
fn created_directories_are_returned_and_can_be_removed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let file = ConfigFile::read(&home.join("a/b/c.json"), None).unwrap();
    let made = file.replace("{}").unwrap();
    assert_eq!(made, [home.join("a"), home.join("a/b")]);
    assert_eq!(mode(&home.join("a/b/c.json")), NEW_FILE);
    fs::write(home.join("a/other"), "").unwrap();
    ConfigFile::read(&home.join("a/b/c.json"), None).unwrap().remove().unwrap();
    remove_empty(&made);
    assert!(!home.join("a/b").exists() && home.join("a/other").exists());
    fs::remove_file(home.join("a/other")).unwrap();
    remove_empty(&made);
    assert!(!home.join("a").exists(), "it goes although the inner one is gone already");
}

#[test]
fn each_reason_not_to_edit_a_file_has_its_own_error() {
    let home = tempfile::tempdir().unwrap();
    let refusal = |name: &str| {
        let read = ConfigFile::read(&home.path().join(name), None);
        let error = match read {
            Ok(file) => file.may_be_replaced().unwrap_err(),
            Err(error) => error,
        };
        error.to_string()
    };
    fs::write(home.path().join("bytes"), [0xff, 0xfe]).unwrap();
    assert_eq!(refusal("bytes"), "it is not UTF-8");
    fs::create_dir(home.path().join("directory")).unwrap();
    assert_eq!(refusal("directory"), "it is not a regular file");
    symlink("nowhere", home.path().join("link")).unwrap();
    let at = |name: &str| home.path().join(name).display().to_string();
    assert_eq!(refusal("link"), format!("{} is a broken link", at("link")));
    assert_eq!(refusal("link/a.json"), format!("{} is a broken link", at("link")));
    let in_file = format!("{} is no directory, so no file can be in it", at("bytes"));
    assert_eq!([refusal("bytes/a.json"), refusal("bytes/b/a.json")], [in_file.clone(), in_file]);
    fs::write(home.path().join("fixed"), "{}").unwrap();
    fs::set_permissions(home.path().join("fixed"), Permissions::from_mode(0o444)).unwrap();
    assert!(refusal("fixed").starts_with("it is read-only"));
    fs::write(home.path().join("linked"), "{}").unwrap();
    fs::hard_link(home.path().join("linked"), home.path().join("backup")).unwrap();
    assert!(refusal("linked").starts_with("it has further names (hard links)"));
    let huge = fs::File::create(home.path().join("huge")).unwrap();
    huge.set_len(MAX_CLIENT_FILE_BYTES + 1).unwrap();
    assert!(refusal("huge").starts_with("it is longer than"));
}

#[test]
fn a_directory_that_refuses_a_new_file_is_named_with_what_helps() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let file = ConfigFile::read(&home.join("none/a.json"), None).unwrap();
    let refused = file.in_directory(io::ErrorKind::PermissionDenied.into()).to_string();
    let expected = format!(
        "you may not write to its directory {}; make it writable (`chmod u+w`) if setup may change it",
        home.display()
    );
    assert_eq!(refused, expected);
    let full = file.in_directory(io::ErrorKind::StorageFull.into());
    assert!(matches!(full, ConfigFileError::Io(_)), "{full}");
}

#[test]
fn of_directories_that_cannot_all_be_made_none_stays() {
    let home = tempfile::tempdir().unwrap();
    let too_long = "x".repeat(300);
    make_missing(&home.path().join("a/b").join(too_long)).unwrap_err();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_projects_file_must_be_inside_the_project() {
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let project = around.join("project");
    fs::create_dir(&project).unwrap();
    fs::write(around.join("own.json"), "{}").unwrap();
    symlink("../own.json", project.join("theirs.json")).unwrap();
    symlink("..", project.join("dir")).unwrap();
    for name in ["theirs.json", "dir/new.json"] {
        let read = ConfigFile::read(&project.join(name), Some(&project));
        assert!(matches!(read, Err(ConfigFileError::Outside)), "{name}");
    }
    assert!(ConfigFile::read(&project.join("new/a.json"), Some(&project)).is_ok());
}

#[test]
fn a_folder_that_became_a_link_since_the_file_was_read_leads_nowhere() {
    let around = tempfile::tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let (project, outside) = (around.join("project"), around.join("outside"));
    fs::create_dir_all(project.join("there")).unwrap();
    fs::create_dir(&outside).unwrap();
    for folder in [&project.join("there"), &outside] {
        fs::write(folder.join("a.json"), "{}").unwrap();
    }
    let read = |name: &str| ConfigFile::read(&project.join(name), Some(&project)).unwrap();
    let (there, missing) = (read("there/a.json"), read("new/deep/a.json"));
    fs::rename(project.join("there"), project.join("before")).unwrap();
    symlink(&outside, project.join("there")).unwrap();
    symlink(&outside, project.join("new")).unwrap();
    assert!(matches!(there.replace("{1}"), Err(ConfigFileError::Redirected)));
    assert!(matches!(there.remove(), Err(ConfigFileError::Redirected)));
    assert!(matches!(missing.replace("{1}"), Err(ConfigFileError::Redirected)));
    assert_eq!(fs::read_to_string(outside.join("a.json")).unwrap(), "{}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing is made there");
    assert_eq!(fs::read_to_string(project.join("before/a.json")).unwrap(), "{}");
}

#[test]
fn a_link_that_leads_elsewhere_since_the_file_was_read_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    for name in ["one", "other"] {
        fs::write(at(name), "{}").unwrap();
    }
    symlink("one", at("link")).unwrap();
    let file = ConfigFile::read(&at("link"), None).unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("other", at("link")).unwrap();
    assert!(matches!(file.replace("{1}"), Err(ConfigFileError::Redirected)));
    assert!(matches!(file.remove(), Err(ConfigFileError::Redirected)));
    for name in ["one", "other"] {
        assert_eq!(fs::read_to_string(at(name)).unwrap(), "{}", "{name}");
    }
}
