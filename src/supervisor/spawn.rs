//! Starting a child, and saying why one could not be started.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::adopted_orphans::OwnChild;
use super::child::{ChildShared, Supervised};
use super::group_leader::Leader;
use super::shim_bridge_side;
use super::signal_deadlines::SignalDeadlines;
use super::stderr_tail::{Tail, drain};
use super::watch_direct_child::Watcher;
use crate::sys::process::{find_program, has_directory, is_executable, start_time};
use crate::sys::signal_streams::ChildChanges;

/// What to start.
#[derive(Clone)]
pub struct ChildSpec {
    /// A path, or a name that is looked up on the `PATH` in `env`.
    pub program: PathBuf,
    /// The arguments, without the program.
    pub args: Vec<OsString>,
    /// The complete environment: nothing of our own is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The directory to start in.
    pub cwd: PathBuf,
    /// What stands between us and the child; `None` starts it directly.
    pub shim: Option<Shim>,
}

/// What guards a child: a process that ends it with all its descendants, also when we are dead.
#[derive(Clone, Debug)]
pub struct Shim {
    /// Our own binary.
    pub binary: PathBuf,
    /// The child's presence, which the shim holds too. The child does not get it.
    pub presence: Option<Arc<OwnedFd>>,
}

impl fmt::Debug for ChildSpec {
    /// Names the variables without their values, as some are secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("ChildSpec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .field("shim", &self.shim)
            .finish()
    }
}

/// Our ends of the child's stdin and stdout. Dropping `stdin` closes it.
#[derive(Debug)]
pub struct Pipes {
    /// What is written here the child reads.
    pub stdin: ChildStdin,
    /// What the child writes is read here.
    pub stdout: ChildStdout,
}

/// Why a child could not be started, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The name is on no directory of the search path.
    #[error("program `{}` is not on PATH (`{}`): install it, or give its absolute path", program.display(), path.display())]
    NotOnPath {
        /// The name looked for.
        program: PathBuf,
        /// The search path.
        path: OsString,
    },
    /// There is no such file.
    #[error("program `{}` does not exist: install it, or correct the path", program.display())]
    Missing {
        /// The path as given.
        program: PathBuf,
    },
    /// It is a directory, or we may not execute it.
    #[error("program `{}` is not an executable file: `chmod +x` it, or name another one", program.display())]
    NotExecutable {
        /// The path as given.
        program: PathBuf,
    },
    /// The directory to start in is not there.
    #[error("cannot start `{}` in `{}`, which is not a directory: create it, or name another one", program.display(), cwd.display())]
    NoDirectory {
        /// The program.
        program: PathBuf,
        /// The directory.
        cwd: PathBuf,
    },
    /// The program is there and the system cannot run it: the interpreter named in its first line is missing, or it is
    /// for another machine.
    #[error("the system cannot run `{}`: check its first line, and that it is built for this \
        machine", program.display())]
    NotRunnable {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Any other refusal of the system: too many processes, too long arguments, no more files.
    #[error("the system refused to start `{}`", program.display())]
    Refused {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The child's guard could not be started, or did not start the child.
    #[error("failed to start the shim of an agent, `{}`: check that this binary is still there", binary.display())]
    Shim {
        /// Our own binary.
        binary: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Linux and macOS agree on the number of "not in a format that can be run"; `io::ErrorKind` has no name for it.
const ENOEXEC: i32 = 8;

/// Starts a child in a process group of its own, and its watcher with it.
///
/// A shim is waited for until it has started the child, 10 s at most. Dropping the future before that ends both.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub async fn spawn(mut spec: ChildSpec) -> Result<(Supervised, Pipes), SpawnError> {
    let program = locate(&spec)?;
    match spec.shim.take() {
        Some(shim) => shim_bridge_side::spawn(spec, program, &shim).await,
        None => directly(spec, program),
    }
}

fn directly(spec: ChildSpec, program: PathBuf) -> Result<(Supervised, Pipes), SpawnError> {
    let refused = |source| SpawnError::Refused { program: program.clone(), source };
    // Before the spawn, so that even the earliest exit is heard of.
    let changes = ChildChanges::listen().map_err(refused)?;
    let mut command = Command::new(&program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(spec.env)
        .current_dir(&spec.cwd)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let (own, mut child) = OwnChild::start(|| command.spawn())
        .map_err(|source| explain(&program, &spec.cwd, source))?;

    let pid = own.pid();
    let stdin = child.stdin.take().expect("stdin was asked to be piped");
    let stdout = child.stdout.take().expect("stdout was asked to be piped");
    let stderr = child.stderr.take().expect("stderr was asked to be piped");

    let tail = Arc::new(Tail::default());
    let (wish, wishes) = watch::channel(SignalDeadlines::default());
    let (end, ends) = watch::channel(None);
    let watcher = Watcher {
        leader: Leader::new(child, pid, changes),
        wish: wishes,
        end,
        stderr: tokio::spawn(drain(stderr, Arc::clone(&tail))),
        _own: own,
    };
    // Joined by the end that it publishes; it owns and ends the reader of stderr.
    tokio::spawn(watcher.run());

    let start_time = start_time(pid);
    let shared =
        ChildShared { program, pid, start_time, shim: None, stderr: tail, wish, end: ends };
    Ok((Supervised::new(shared), Pipes { stdin, stdout }))
}

/// Finds the program as an absolute path, as the child starts in another directory than ours.
fn locate(spec: &ChildSpec) -> Result<PathBuf, SpawnError> {
    let path =
        spec.env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, value)| value);
    if let Some(found) = find_program(&spec.program, Some(path)) {
        return Ok(found);
    }
    let program = spec.program.clone();
    if !has_directory(&program) {
        return Err(SpawnError::NotOnPath { program, path: path.to_owned() });
    }
    if program.exists() {
        return Err(SpawnError::NotExecutable { program });
    }
    Err(SpawnError::Missing { program })
}

/// The system gives the same error for a missing program, interpreter and directory, so this looks which it is.
pub(super) fn explain(program: &Path, cwd: &Path, source: io::Error) -> SpawnError {
    let program = program.to_owned();
    if !cwd.is_dir() {
        return SpawnError::NoDirectory { program, cwd: cwd.to_owned() };
    }
    if !program.exists() {
        return SpawnError::Missing { program };
    }
    if !is_executable(&program) {
        return SpawnError::NotExecutable { program };
    }
    // The program is there, so what is not found is the interpreter.
    let not_runnable =
        source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(ENOEXEC);
    if not_runnable {
        return SpawnError::NotRunnable { program, source };
    }
    SpawnError::Refused { program, source }
}
