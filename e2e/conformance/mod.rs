//! Judges that others wrote: the official conformance suite of MCP, the published schema of ACP, and an ACP client of another
//! project. What they find stands in `docs/conformance.md`, which is compared with each run.

mod acp_traffic;
mod http_front;
mod suite_results;
mod verdict_table;

pub(crate) mod acp_judges;
pub(crate) mod acp_kit;
pub(crate) mod mcp_suite;
pub(crate) mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use cli_team_bridge::supervisor::Exit;
use tokio::io::AsyncReadExt as _;

use crate::support::Stage;

/// How long a judge may take: the slowest needs some seconds, and ten times as long on a busy machine.
const JUDGED: Duration = Duration::from_mins(3);

/// Runs a judge to its end; returns its exit, and its stdout followed by its stderr.
async fn judged(stage: &Stage, program: PathBuf, args: Vec<OsString>) -> (Exit, String) {
    let (child, mut pipes) = stage.spawn_below(program, args, None).await;
    drop(pipes.stdin);
    let mut said = Vec::new();
    let running = async {
        pipes.stdout.read_to_end(&mut said).await.unwrap();
        child.exited().await
    };
    let exit = tokio::time::timeout(JUDGED, running).await;
    let exit = exit.unwrap_or_else(|_| panic!("a judge ends: {}", child.stderr_tail()));
    (exit, String::from_utf8_lossy(&said).into_owned() + &child.stderr_tail())
}
