//! Runs a program that carries a notification: it gets a text on stdin, and has a time limit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::beginning;
use crate::domain::{limits, wait_times};
use crate::supervisor::{self, ChildSpec, StopPlan};

/// Bytes of a program's output that are kept.
const KEPT: usize = 64;

/// Runs a program with the environment of this process and some more variables. Returns the end of what it printed, or why it failed.
///
/// It starts in the root directory, because programs may run what they find in a project's.
pub(super) async fn run(
    program: &Path,
    args: Vec<OsString>,
    more: impl IntoIterator<Item = (&'static str, String)>,
    stdin: &str,
) -> Result<String, String> {
    let more = more.into_iter().map(|(name, value)| (name.into(), value.into()));
    let spec = ChildSpec {
        program: program.to_owned(),
        args,
        env: std::env::vars_os().chain(more).collect(),
        cwd: PathBuf::from("/"),
        shim: None,
    };
    let (child, pipes) = supervisor::spawn(spec).await.map_err(|error| error.to_string())?;
    let (mut input, mut output) = (pipes.stdin, pipes.stdout);
    let talking = async {
        // A program that does not read its input has not failed by that.
        let _ = input.write_all(stdin.as_bytes()).await;
        drop(input);
        last_of(&mut output).await
    };
    let running = async { tokio::join!(child.exited(), talking) };
    let shown = program.shown();
    match tokio::time::timeout(wait_times::ALERT_TARGET, running).await {
        Ok((exit, printed)) if exit.code == Some(0) => Ok(printed),
        Ok((exit, _)) => {
            let ended = exit.in_sentence();
            let said = beginning(&child.stderr_tail(), limits::ALERT_TEXT_CHARS);
            Err(match said.as_str() {
                "" => format!("`{shown}` {ended}"),
                said => format!("`{shown}` {ended}: {said}"),
            })
        }
        Err(_) => {
            // If it cannot be killed, the supervisor logs a warning.
            let _ = child.stop(StopPlan::ALERT).await;
            Err(format!("`{shown}` took longer than {} s", wait_times::ALERT_TARGET.as_secs()))
        }
    }
}

/// Reads all that a program prints, because a full pipe would stop it, and returns the end of it.
async fn last_of(output: &mut (impl AsyncRead + Unpin)) -> String {
    let (mut kept, mut part) = (Vec::new(), [0; 4096]);
    // A pipe that cannot be read has ended.
    while let Ok(read @ 1..) = output.read(&mut part).await {
        kept.extend_from_slice(&part[..read]);
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
    String::from_utf8_lossy(&kept).into_owned()
}
