//! Runs a gate: a command that must succeed. It runs in the project, without a shell and with a time limit, and ends with all
//! processes that it started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use super::team_handle::Team;
use crate::domain::limits;
use crate::domain::text::exactly::exact_words;
use crate::domain::text::redact::Secrets;
use crate::supervisor::{self, ChildSpec, Shim, StopPlan};
use crate::sys::process::has_directory;

/// How much of the end of each stream is shown: errors are mostly there.
const SHOWN_BYTES: usize = limits::WHY_CHARS * 2 / 5;

/// How much of a stream is kept. The surplus lets a key that the cut goes through still be recognised and hidden.
const KEPT_BYTES: usize = SHOWN_BYTES + 8 * 1024;

impl Team {
    /// Runs a command where this bridge's agents work. On failure it returns the reason and the end of the command's output.
    ///
    /// The command runs code that agents wrote. So of this bridge's own environment it gets only what any agent gets, and what
    /// `gate_env` lets through. Keys of this bridge or of any agent are hidden in its output.
    ///
    /// If this future is dropped or this process dies, the command and all its processes are killed.
    pub async fn check(&self, command: &[String], limit: Duration) -> Result<(), String> {
        let secrets = self.inner.launch.all_secrets(&self.inner.config);
        let outcome = self.run(command, limit, &secrets).await;
        outcome.map_err(|why| secrets.hidden(why).into())
    }

    async fn run(
        &self,
        command: &[String],
        limit: Duration,
        secrets: &Secrets,
    ) -> Result<(), String> {
        let Some((program, args)) = command.split_first() else {
            return Err("there is no command to run".to_owned());
        };
        let launch = &self.inner.launch;
        let spec = ChildSpec {
            program: program_in(&launch.ground, program),
            args: args.iter().map(OsString::from).collect(),
            env: self.config().gate_environment(launch.environment.iter().cloned(), |file| {
                self.is_approved(file).unwrap_or(false)
            }),
            cwd: launch.ground.clone(),
            shim: Some(Shim { binary: launch.own_binary.clone(), presence: None }),
        };
        let spawned = supervisor::spawn(spec).await;
        let (child, pipes) = spawned.map_err(|error| error.to_string())?;
        drop(pipes.stdin);
        let running = async { tokio::join!(child.exited(), tail(pipes.stdout)) };
        let shown = exact_words(command);
        match tokio::time::timeout(limit, running).await {
            Ok((exit, _)) if exit.code == Some(0) => Ok(()),
            Ok((exit, output)) => {
                let streams = [output, child.stderr_tail()];
                let output = streams.map(|text| {
                    let text = secrets.hidden(text);
                    text.tail(SHOWN_BYTES).0.trim().to_owned()
                });
                let (ended, output) = (exit.in_sentence(), output.join("\n"));
                Err(match output.trim() {
                    "" => format!("{shown} {ended} and printed nothing"),
                    output => format!("{shown} {ended}:\n{output}"),
                })
            }
            Err(_) => {
                let seconds = limit.as_secs();
                // If the command cannot be killed, the supervisor logs a warning.
                let _ = child.stop(StopPlan::GATE).await;
                Err(format!("{shown} took longer than {seconds} s"))
            }
        }
    }
}

/// Reads a stream to its end, and returns the last of it.
async fn tail(mut stdout: ChildStdout) -> String {
    let (mut kept, mut chunk) = (Vec::new(), vec![0; 8 * 1024]);
    // A stream that cannot be read has ended.
    while let Ok(read @ 1..) = stdout.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..read]);
        let excess = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Resolves the program: a path is relative to the project, wherever this process runs; a name is looked up in `PATH`.
fn program_in(project: &Path, program: &str) -> PathBuf {
    if has_directory(Path::new(program)) { project.join(program) } else { program.into() }
}
