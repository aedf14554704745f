//! Plays a script over the standard streams, until its client or a signal ends it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::play::agent_loop::{Agent, Ending};
use super::script::script_format::{Script, ScriptError};

/// The options of the scripted agent.
#[derive(Debug, Clone)]
pub struct Options {
    /// The script to play.
    pub script: PathBuf,
    /// The table of the script to play; without it the member name of a session chooses the table.
    pub table: Option<String>,
}

/// Why the scripted agent could not play.
#[derive(Debug, thiserror::Error)]
pub enum ScriptedError {
    /// The script cannot be read or is not understood.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The process cannot listen for its signals.
    #[error("failed to listen for SIGTERM")]
    Signal(#[source] std::io::Error),
}

/// Plays a script over the standard streams until stdin ends or SIGTERM comes, unless the script ignores them.
///
/// A `crash` of the script exits the process at once with its code and does not return. Where stdin is not a pipe, one read of it may
/// still be in progress afterwards: end the runtime with `shutdown_background`.
pub async fn run(options: Options) -> Result<(), ScriptedError> {
    let script = Script::load(&options.script)?;
    let table = options.table.map(|table| script.named(&table)).transpose()?;
    let mut signals = signal(SignalKind::terminate()).map_err(ScriptedError::Signal)?;
    let (terminate, terminated) = mpsc::channel(1);
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            if terminate.send(()).await.is_err() {
                return;
            }
        }
    });
    let (stdin, stdout) = rmcp::transport::stdio_pipes();
    let agent = Agent::new(Arc::new(script), table);
    match agent.serve(stdin, stdout, terminated).await {
        Ending::Closed => Ok(()),
        Ending::Crashed(code) => crash(code),
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a scripted crash cleans up nothing, as the crash of a real agent"
)]
fn crash(code: u8) -> ! {
    std::process::exit(i32::from(code))
}
