//! Examines the bridge itself and its needs from the user's machine: its version, a writable state directory, and visible processes.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::doctor::finding::{Finding, Subject};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::disk;
use crate::sys::fs::temporary_file::{self, TemporaryFile};
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::process::{find_program, pid_namespace};

/// The name of the program.
const NAME: &str = "cli-team-bridge";

const SUBJECT: Subject = Subject::Bridge;

/// Examines the version, the state directory, and whether this process can see others. Blocks.
pub(crate) fn examine(
    own_binary: &Path,
    search_path: Option<&OsStr>,
    state: Option<&StateDirectory>,
) -> Vec<Finding> {
    vec![version(own_binary, search_path), state_directory(state), visibility()]
}

fn version(own_binary: &Path, search_path: Option<&OsStr>) -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    let says = format!("{version}, {}", own_binary.shown());
    let on_path = find_program(Path::new(NAME), search_path);
    let real = |path: &Path| path.canonicalize().ok();
    let finding = match on_path {
        Some(other) if real(&other) != real(own_binary) => Finding::note(
            &SUBJECT,
            "version",
            format!("{says}; `{NAME}` on PATH is another file: {}", other.shown()),
        )
        .with_remedy(
            "remove the one that you do not use, so that all clients start the same version",
        ),
        _ => Finding::ok(&SUBJECT, "version", says),
    };
    finding.with_fact("version", version)
}

fn state_directory(state: Option<&StateDirectory>) -> Finding {
    let Some(state) = state else {
        return Finding::problem(
            &SUBJECT,
            "state",
            "there is no directory to keep approvals and the origins of buses in",
            "set HOME or XDG_STATE_HOME",
        );
    };
    let path = state.path();
    // The nearest directory that exists. The rest is created when it is needed.
    let present = path.ancestors().find(|place| fs::symlink_metadata(place).is_ok());
    let present = present.unwrap_or(&path);
    // What a killed examination has left, perhaps when fewer of these directories existed.
    for place in path.ancestors().filter(|place| disk::belongs_to_us(place)) {
        temporary_file::sweep(&place.join(NAME));
    }
    match try_to_write(present) {
        Ok(()) => Finding::ok(&SUBJECT, "state", format!("{} can be written to", path.shown())),
        Err(error) => Finding::problem(
            &SUBJECT,
            "state",
            format!("cannot write to {}: {error}", present.shown()),
            format!(
                "make {} writable for this user, or set XDG_STATE_HOME to a directory that is; \
                 without it no bus can be made and nothing can be approved",
                present.shown()
            ),
        ),
    }
}

/// Creates a file and removes it, because the mode of a directory alone does not decide.
fn try_to_write(directory: &Path) -> std::io::Result<()> {
    TemporaryFile::beside(&directory.join(NAME)).map(drop)
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
    use super::*;
    use crate::doctor::finding::Level;

    fn state(home: &Path) -> StateDirectory {
        StateDirectory::find(|name| (name == "HOME").then(|| home.into())).unwrap()
    }

    #[test]
    fn a_state_directory_is_tested_and_left_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(state_directory(Some(&state(home.path()))).level, Level::Ok);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert_eq!(state_directory(None).level, Level::Problem);
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
        assert_eq!(state_directory(Some(&state(home.path()))).level, Level::Ok);
        assert!(left.iter().all(|path| !path.exists()) && other.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_state_directory_that_is_not_writable_is_a_problem() {
        // Not even root can write here, whom no directory mode stops.
        let problem = state_directory(Some(&state(Path::new("/proc"))));
        assert_eq!(problem.level, Level::Problem, "{problem:?}");
        assert!(problem.says.starts_with("cannot write to /proc: "), "{problem:?}");
    }

    #[test]
    fn another_program_of_the_same_name_on_path_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap();
        let search = Some(folder.path().as_os_str());
        assert_eq!(version(&own, search).level, Level::Ok);
        std::os::unix::fs::symlink(&own, folder.path().join(NAME)).unwrap();
        assert_eq!(version(&own, search).level, Level::Ok);
        fs::remove_file(folder.path().join(NAME)).unwrap();
        fs::copy("/bin/sh", folder.path().join(NAME)).unwrap();
        assert_eq!(version(&own, search).level, Level::Note);
    }
}
