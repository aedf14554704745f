//! The errors of a start, each with a hint.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::missing_program::{MissingProgram, Searched};
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
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
    #[error("program `{}` is not an executable file: `chmod +x` it, or name another one", program.shown())]
    NotExecutable {
        /// The path as given.
        program: PathBuf,
    },
    /// The directory to start in does not exist.
    #[error("cannot start `{}` in `{}`, which is not a directory: create it, or name another one", program.shown(), cwd.shown())]
    NoDirectory { program: PathBuf, cwd: PathBuf },
    /// The program exists but the system cannot run it: the interpreter in its first line is missing, or it is built for another
    /// machine.
    #[error("the system cannot run `{}`: check its first line, and that it is built for this \
        machine", program.shown())]
    NotRunnable {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Any other refusal of the system: too many processes, too long arguments, or too many open files. The cause is part of the
    /// text, because agents and tasks carry the text alone.
    #[error("the system refused to start `{}`: {cause}", program.shown())]
    Refused { program: PathBuf, cause: io::Error },
    /// The child's shim could not be started, or did not start the child.
    #[error("failed to start the shim of an agent, `{}`: {cause}", binary.shown())]
    Shim { binary: PathBuf, cause: ShimFailure },
}

/// Why a shim did not start its child.
#[derive(Debug, thiserror::Error)]
pub enum ShimFailure {
    /// An upgrade or an uninstall has removed the binary since this process started.
    #[error("this file is gone: install it again, or restart this session")]
    Gone,
    /// The system refused to start it.
    #[error("{0}")]
    System(#[from] io::Error),
    /// It ended, and printed nothing.
    #[error("it ended without a word")]
    EndedSilently,
    /// It ended, and this is what it printed.
    #[error("it ended: {0}")]
    Ended(String),
    /// It said nothing in time.
    #[error("it did not start within {} s: the machine may be overloaded, so try again later", .0.as_secs())]
    Late(Duration),
}

impl ShimFailure {
    /// Returns the reason why the system refused to start it.
    pub(super) fn of_system(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Gone } else { Self::System(error) }
    }

    /// Returns the reason from the last words of a shim that has ended.
    pub(super) fn of_words(stderr: &str) -> Self {
        let last = stderr.trim().lines().next_back().unwrap_or_default();
        if last.is_empty() { Self::EndedSilently } else { Self::Ended(beginning(last, LAST_WORDS)) }
    }
}

/// The longest reason of a shim that is repeated: a sentence.
const LAST_WORDS: usize = 300;

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
        program: program.shown().to_string(),
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
    SpawnError::Refused { program, cause: source }
}
