//! The errors of a start, each with a hint.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::missing_program::{MissingProgram, Searched};
use crate::sys::process::is_executable;

/// Why a child could not be started, with a hint.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No directory of the search path has the name.
    #[error(transparent)]
    NotOnPath(MissingProgram),
    /// There is no such file.
    #[error(transparent)]
    Missing(MissingProgram),
    /// The program is a directory, or we may not execute it.
    #[error("program `{}` is not an executable file: `chmod +x` it, or name another one", program.display())]
    NotExecutable {
        /// The path as given.
        program: PathBuf,
    },
    /// The directory to start in does not exist.
    #[error("cannot start `{}` in `{}`, which is not a directory: create it, or name another one", program.display(), cwd.display())]
    NoDirectory { program: PathBuf, cwd: PathBuf },
    /// The program exists but the system cannot run it: the interpreter in its first line is missing, or it is built for another
    /// machine.
    #[error("the system cannot run `{}`: check its first line, and that it is built for this \
        machine", program.display())]
    NotRunnable {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Any other refusal of the system: too many processes, too long arguments, or too many open files.
    #[error("the system refused to start `{}`", program.display())]
    Refused {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The child's shim could not be started, or did not start the child.
    #[error("failed to start the shim of an agent, `{}`: check that this binary is still there", binary.display())]
    Shim {
        binary: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// "Exec format error" on Linux and macOS; `io::ErrorKind` has no name for it.
const ENOEXEC: i32 = 8;

/// Returns the error for a program that is in no directory of this search path.
pub(super) fn not_on_path(program: &Path, path: &OsStr) -> SpawnError {
    let searched = Searched::OnPathOf(path.to_owned());
    SpawnError::NotOnPath(missing(program, searched, "give its absolute path"))
}

/// Returns the error for a program that does not exist.
pub(super) fn no_file(program: &Path) -> SpawnError {
    SpawnError::Missing(missing(program, Searched::AtItsPath, "correct the path"))
}

fn missing(program: &Path, searched: Searched, instead: &str) -> MissingProgram {
    MissingProgram {
        profile: None,
        program: program.display().to_string(),
        searched,
        install: None,
        instead: instead.to_owned(),
    }
}

/// Finds out why a start failed: the system gives the same error for a missing program, interpreter and directory.
pub(super) fn explain(program: &Path, cwd: &Path, source: io::Error) -> SpawnError {
    let program = program.to_owned();
    if !cwd.is_dir() {
        return SpawnError::NoDirectory { program, cwd: cwd.to_owned() };
    }
    if !program.exists() {
        return no_file(&program);
    }
    if !is_executable(&program) {
        return SpawnError::NotExecutable { program };
    }
    // The program exists, so the missing file is the interpreter.
    let not_runnable =
        source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(ENOEXEC);
    if not_runnable {
        return SpawnError::NotRunnable { program, source };
    }
    SpawnError::Refused { program, source }
}
