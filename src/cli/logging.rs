//! What the program says about its own work: to stderr, never to stdout.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::output;
use crate::domain::env_vars;

/// The target of everything that this crate says itself.
const OWN: &str = "cli_team_bridge";

/// Starts to say it.
pub(super) fn start() {
    let level = std::env::var(env_vars::LOG)
        .ok()
        .and_then(|level| level.parse().ok())
        .unwrap_or(LevelFilter::WARN);
    // What the protocol crates warn of is their peers' business; what they cannot bear is ours.
    let heard = Targets::new().with_target(OWN, level).with_default(level.min(LevelFilter::ERROR));
    let written = tracing_subscriber::fmt::layer().with_writer(|| output::Stderr).with_ansi(false);
    let started = tracing_subscriber::registry().with(written).with(heard).try_init();
    if started.is_err() {
        // Only a test may have started it before, and then it is heard as well.
        tracing::debug!("logging is started once");
    }
}
