//! Installs the missing adapters of agents that the user has, with the user's own npm and without a shell.

use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::questions::Asking;
use super::setup_arguments::SetupArguments;
use crate::cli::{Failure, output};
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::installed_agents::{InstalledAgent, how_to_add_to_path};

/// Offers each adapter that is not in `npm_folder`, the directory of npm's programs; returns an error line for each that could not be
/// installed, or that cannot be started from there.
pub(super) fn offer(
    agents: &[InstalledAgent],
    arguments: &SetupArguments,
    program: impl Fn(&str) -> Option<PathBuf>,
    npm_folder: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let mut failed = Vec::new();
    // The report has named those that are there already.
    for agent in agents.iter().filter(|agent| agent.off_path(npm_folder).is_none()) {
        let Some(words) = agent.npm_arguments() else {
            continue;
        };
        let asking = match Asking::of(arguments) {
            // A yes to the bridge's entries is not a yes to programs of other vendors.
            Asking::Yes if !arguments.install_agents => continue,
            asking => asking,
        };
        let line = format!("npm {}", words.join(" "));
        if !asking.agrees(&format!("Install the adapter of {} with `{line}`?", agent.profile))? {
            continue;
        }
        let Some(npm) = program("npm") else {
            failed
                .push(format!("`{line}`: npm is not on PATH; install Node.js, which includes it"));
            continue;
        };
        output::tell(&format!("Running {line}"));
        if let Some(error) = run(npm, &words) {
            failed.push(format!("`{line}` {error}"));
        } else if program(&agent.adapter.name).is_none()
            && let Some(installed) = agent.off_path(npm_folder)
        {
            failed.push(format!(
                "the adapter of {} is installed ({}), but not on PATH: {}",
                agent.profile,
                installed.shown(),
                how_to_add_to_path(&installed)
            ));
        }
    }
    Ok(failed)
}

/// Runs npm until it exits; returns the error, if any. All of npm's output goes to stderr, so that stdout has only our report.
fn run(npm: PathBuf, words: &[String]) -> Option<String> {
    let out =
        std::io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from);
    match Command::new(npm).args(words).stdin(Stdio::null()).stdout(out).status() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("failed ({status}); see its output above")),
        Err(error) => Some(format!("could not be started: {error}")),
    }
}
