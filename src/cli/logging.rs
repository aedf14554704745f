//! The program's log: to stderr, never to stdout.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::output;
use crate::domain::env_vars;

/// The log target of this crate.
const OWN: &str = "cli_team_bridge";

/// Starts the log.
pub(super) fn start() {
    let level = std::env::var(env_vars::LOG)
        .ok()
        .and_then(|level| level.parse().ok())
        .unwrap_or(LevelFilter::WARN);
    // Warnings of the protocol crates concern their peers; their errors concern us.
    let filter = Targets::new().with_target(OWN, level).with_default(level.min(LevelFilter::ERROR));
    let layer = tracing_subscriber::fmt::layer().with_writer(|| output::Stderr).with_ansi(false);
    let started = tracing_subscriber::registry().with(layer).with(filter).try_init();
    if started.is_err() {
        // Only a test may have started the log before.
        tracing::debug!("logging is started once");
    }
}
