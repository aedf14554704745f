//! Examines the bridge itself and its needs from the user's machine: its version, a writable state directory, and visible processes.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::doctor::finding::{Finding, Level, Subject};
use crate::domain::text::shell_word::shell_word;
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::setup_record::RECORDS;
use crate::setup::stable_program::{is_same, lasting_search_path, place_of_copy};
use crate::sys::fs::disk;
use crate::sys::fs::temporary_file::{self, TemporaryFile};
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::process::{find_program, pid_namespace};

/// The name of the program.
const NAME: &str = "cli-team-bridge";

const SUBJECT: Subject = Subject::Bridge;

/// How much is written to see whether the disk is full: as much as the first session needs for its bus and its record.
const TRIED_BYTES: usize = 64 * 1024;

/// Examines the version, the state directory, and whether this process can see others. Blocks.
pub(crate) fn examine(
    own_binary: &Path,
    search_path: Option<&OsStr>,
    home: Option<&Path>,
    state: Option<&StateDirectory>,
) -> Vec<Finding> {
    let mut state = state_directory(state, home);
    if state.level == Level::Ok {
        state = without_home(home).unwrap_or(state);
    }
    vec![version(own_binary, search_path, home), state, visibility()]
}

/// Judges that there is no home directory by the environment, although the system may know one.
fn without_home(home: Option<&Path>) -> Option<Finding> {
    let why = match home {
        Some(home) if home.is_absolute() => return None,
        Some(home) => format!("HOME is no absolute path ({})", home.shown()),
        None => "HOME is not set".to_owned(),
    };
    let says = format!("{why}, and so no client was examined, and `setup` does not run");
    Some(Finding::problem(&SUBJECT, "state", says, "set HOME to your home directory"))
}

fn version(own_binary: &Path, search_path: Option<&OsStr>, home: Option<&Path>) -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    let says = format!("{version}, {}", own_binary.shown());
    // Run by `npx`, it finds the launcher in the cache first.
    let on_path = find_program(Path::new(NAME), lasting_search_path(search_path).as_deref());
    let finding = match on_path {
        Some(other) if !is_same(&other, own_binary) => Finding::note(
            &SUBJECT,
            "version",
            format!("{says}; `{NAME}` on PATH is another file: {}", other.shown()),
        )
        .with_remedy(
            "remove the one that you do not use, so that all clients start the same version",
        ),
        Some(_) => Finding::ok(&SUBJECT, "version", says),
        None => match home.map(place_of_copy).filter(|copy| is_same(copy, own_binary)) {
            Some(copy) => off_path(&says, &copy),
            None => Finding::ok(&SUBJECT, "version", says),
        },
    };
    finding.with_fact("version", version)
}

/// Notes that the copy that setup has made is not called by its name, as all documents do.
fn off_path(says: &str, copy: &Path) -> Finding {
    let folder = copy.parent().unwrap_or(copy).shown();
    Finding::note(&SUBJECT, "version", format!("{says}; {folder} is not on PATH")).with_remedy(
        format!(
            "add {folder} to PATH, or call the program as {}",
            shell_word(&copy.to_string_lossy())
        ),
    )
}

fn state_directory(state: Option<&StateDirectory>, home: Option<&Path>) -> Finding {
    let Some(state) = state else {
        return Finding::problem(
            &SUBJECT,
            "state",
            "there is no directory to keep approvals and the origins of buses in",
            "set HOME or XDG_STATE_HOME",
        );
    };
    let path = state.path();
    if let Some(home) = home.filter(|home| path.starts_with(home) && !home.exists()) {
        return Finding::problem(
            &SUBJECT,
            "state",
            format!("the home directory {} does not exist", home.shown()),
            "set HOME to your home directory, or XDG_STATE_HOME to a directory of yours that lasts",
        );
    }
    // The nearest directory that exists. The rest is created when it is needed.
    let present = path.ancestors().find(|place| fs::symlink_metadata(place).is_ok());
    let present = present.unwrap_or(&path);
    // What a killed examination has left, perhaps when fewer of these directories existed.
    for place in path.ancestors().filter(|place| disk::belongs_to_us(place)) {
        temporary_file::sweep(&place.join(NAME));
    }
    match try_to_write(present) {
        Ok(()) => closed_records(&state.inner(RECORDS)).unwrap_or_else(|| {
            Finding::ok(&SUBJECT, "state", format!("{} can be written to", path.shown()))
        }),
        Err(error) => not_writable(present, &error),
    }
}

/// Judges the folder in which setup keeps its records; none if it is all right, or not there yet.
fn closed_records(folder: &StateDirectory) -> Option<Finding> {
    let path = folder.path();
    fs::symlink_metadata(&path).ok()?;
    let error = fs::read_dir(&path).and_then(|_| try_to_write(&path)).err()?;
    let place = path.shown();
    Some(Finding::problem(
        &SUBJECT,
        "state",
        format!("`setup` cannot keep its records in {place}: {error}"),
        format!(
            "run `chmod u+rwx {place}`, or move it away if it is no directory of yours; without it, `setup` changes no file of a client, and \
             `--remove` restores none"
        ),
    ))
}

fn not_writable(directory: &Path, error: &std::io::Error) -> Finding {
    let place = directory.shown();
    let without = "without it no bus can be made and nothing can be approved";
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "free some space on the file system of {place}, or set XDG_STATE_HOME to a directory on another; {without}"
        ),
        _ => format!(
            "make {place} writable for this user, or set XDG_STATE_HOME to a directory that is; {without}"
        ),
    };
    let says = format!("cannot write to {place}: {error}");
    Finding::problem(&SUBJECT, "state", says, remedy)
}

/// Creates a file with something in it and removes it: the mode of a directory alone does not decide, and a full disk may take a file that
/// is empty.
fn try_to_write(directory: &Path) -> std::io::Result<()> {
    let file = TemporaryFile::beside(&directory.join(NAME))?;
    file.file().write_all(&vec![0; TRIED_BYTES])
}

fn visibility() -> Finding {
    match pid_namespace::look() {
        pid_namespace::Sight::Blind => Finding::problem(
            &SUBJECT,
            "processes",
            "this process cannot see its ancestors, so the bridge neither leads nor joins here",
            "start it where `/proc` belongs to its own PID namespace",
        ),
        _ => Finding::ok(
            &SUBJECT,
            "processes",
            "the processes that agents start can be seen and ended",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn state(home: &Path) -> StateDirectory {
        StateDirectory::find(|name| (name == "HOME").then(|| home.into())).unwrap()
    }

    #[test]
    fn a_home_that_only_the_system_knows_is_a_problem() {
        let home = tempfile::tempdir().unwrap();
        let state = state(home.path());
        let judged = |home: Option<&Path>| {
            let found = examine(Path::new("/own"), None, home, Some(&state)).remove(1);
            (found.check, found.level, found.says)
        };
        assert_eq!(judged(Some(home.path())).1, Level::Ok);
        for (home, words) in
            [(None, "HOME is not set"), (Some(Path::new("x")), "HOME is no absolute path (x)")]
        {
            let (check, level, says) = judged(home);
            assert_eq!((check, level), ("state", Level::Problem));
            assert!(says.starts_with(words), "{says}");
        }
    }

    #[test]
    fn a_state_directory_is_tested_and_left_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(state_directory(Some(&state(home.path())), None).level, Level::Ok);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert_eq!(state_directory(None, None).level, Level::Problem);
        let none = home.path().join("none");
        let found = state_directory(Some(&state(&none)), Some(&none));
        let says = format!("the home directory {} does not exist", none.display());
        assert_eq!((found.level, found.says), (Level::Problem, says));
    }

    #[test]
    fn what_a_killed_examination_left_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join(".local/state/cli-team-bridge");
        fs::create_dir_all(&inner).unwrap();
        let name = format!(".{NAME}.{}.tmp", crate::sys::random_ids::blob());
        let left = [home.path().join(&name), inner.join(&name)];
        let other = inner.join(format!(".other.{}.tmp", crate::sys::random_ids::blob()));
        for path in left.iter().chain([&other]) {
            fs::write(path, "").unwrap();
        }
        assert_eq!(state_directory(Some(&state(home.path())), None).level, Level::Ok);
        assert!(left.iter().all(|path| !path.exists()) && other.exists());
    }

    #[test]
    fn a_place_in_which_setup_cannot_keep_its_records_is_a_problem() {
        let home = tempfile::tempdir().unwrap();
        let state = state(home.path());
        let folder = state.inner(RECORDS).path();
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(state_directory(Some(&state), None).level, Level::Ok);
        fs::remove_dir(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        let problem = state_directory(Some(&state), None);
        assert_eq!(problem.level, Level::Problem, "{problem:?}");
        assert!(problem.says.starts_with("`setup` cannot keep its records in "), "{problem:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_state_directory_that_is_not_writable_is_a_problem() {
        // Not even root can write here, whom no directory mode stops.
        let problem = state_directory(Some(&state(Path::new("/proc"))), None);
        assert_eq!(problem.level, Level::Problem, "{problem:?}");
        assert!(problem.says.starts_with("cannot write to /proc: "), "{problem:?}");
    }

    #[test]
    fn on_a_full_disk_the_remedy_is_to_free_some_space() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            let remedy = not_writable(Path::new("/s"), &kind.into()).remedy.unwrap();
            assert!(remedy.starts_with("free some space on the file system of /s"), "{remedy}");
        }
    }

    #[test]
    fn another_program_of_the_same_name_on_path_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap();
        let level = || version(&own, Some(folder.path().as_os_str()), None).level;
        assert_eq!(level(), Level::Ok);
        std::os::unix::fs::symlink(&own, folder.path().join(NAME)).unwrap();
        assert_eq!(level(), Level::Ok);
        fs::remove_file(folder.path().join(NAME)).unwrap();
        fs::copy("/bin/sh", folder.path().join(NAME)).unwrap();
        assert_eq!(level(), Level::Note);
    }

    /// `npx` runs the program from a cache, with the launcher there first on `PATH`.
    #[test]
    fn a_copy_of_the_program_counts_as_the_program_and_is_noted_if_it_is_not_on_path() {
        let home = tempfile::tempdir().unwrap();
        let copy = place_of_copy(home.path());
        let cached = home.path().join(".npm/_npx/1/node_modules/.bin").join(NAME);
        let own = cached.with_file_name("program");
        for (path, text) in [(&copy, "bytes"), (&cached, "launcher"), (&own, "bytes")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let look = |folders: &[&Path]| {
            let folders = folders.iter().map(|path| path.parent().unwrap());
            let search = std::env::join_paths(folders).unwrap();
            version(&own, Some(&search), Some(home.path()))
        };
        let found = look(&[&cached, &copy]);
        assert_eq!(found.level, Level::Ok, "{found:?}");
        let found = look(&[&cached]);
        assert_eq!(found.level, Level::Note, "{found:?}");
        assert!(found.says.ends_with(".local/bin is not on PATH"), "{found:?}");
        fs::write(&copy, "older").unwrap();
        assert_eq!(look(&[&cached]).level, Level::Ok);
        let found = look(&[&cached, &copy]);
        assert!(found.says.contains("on PATH is another file"), "{found:?}");
    }
}
