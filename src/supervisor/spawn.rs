//! Starts a child: behind its shim, or directly.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;
use tokio::sync::watch;

use super::child::{ChildShared, Supervised};
use super::child_signal_deadlines::SignalDeadlines;
use super::child_spec::{ChildSpec, Pipes};
use super::direct::group_leader::Leader;
use super::direct::watch_child::Watcher;
use super::leftovers::adopted_orphans::OwnChild;
use super::shim::bridge_side;
use super::spawn_error::{SpawnError, explain, no_file, not_on_path};
use super::stderr_tail::{Tail, drain};
use crate::sys::process::{find_program, has_directory, start_time};
use crate::sys::signal_streams::ChildChanges;

/// Starts a child in a process group of its own, and its watcher with it.
///
/// Waits until the shim has started the child, [`wait_times::SHIM_START`](crate::domain::wait_times::SHIM_START) at most. Dropping the future before that ends both.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub async fn spawn(mut spec: ChildSpec) -> Result<(Supervised, Pipes), SpawnError> {
    let program = locate(&spec)?;
    match spec.shim.take() {
        Some(shim) => bridge_side::spawn(spec, program, &shim).await,
        None => directly(spec, program),
    }
}

fn directly(spec: ChildSpec, program: PathBuf) -> Result<(Supervised, Pipes), SpawnError> {
    let refused = |cause| SpawnError::Refused { program: program.clone(), cause };
    // Listen before the spawn, so that even the earliest exit is noticed.
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
    let (deadlines, deadlines_receiver) = watch::channel(SignalDeadlines::default());
    let (end, ends) = watch::channel(None);
    let watcher = Watcher {
        leader: Leader::new(child, pid, changes),
        deadlines: deadlines_receiver,
        end,
        stderr: tokio::spawn(drain(stderr, Arc::clone(&tail))),
        _own: own,
    };
    // Joined by the end that it publishes; it owns and ends the reader of stderr.
    tokio::spawn(watcher.run());

    let start_time = start_time(pid);
    let shared =
        ChildShared { program, pid, start_time, shim: None, stderr: tail, deadlines, end: ends };
    Ok((Supervised::new(shared), Pipes { stdin, stdout }))
}

/// Finds the program as an absolute path, because the child starts in another directory.
fn locate(spec: &ChildSpec) -> Result<PathBuf, SpawnError> {
    let path =
        spec.env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, value)| value);
    if let Some(found) = find_program(&spec.program, Some(path)) {
        return Ok(found);
    }
    let program = spec.program.clone();
    if !has_directory(&program) {
        return Err(not_on_path(&program, path));
    }
    if program.exists() {
        return Err(SpawnError::NotExecutable { program });
    }
    Err(no_file(&program))
}
