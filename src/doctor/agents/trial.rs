//! The trial of one agent: starts it as for a task, waits until it has our tools, and ends it again.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::judge_trial::Trial;
use crate::bus::state::State;
use crate::domain::ids::SessionId;
use crate::domain::member::{Activity, Tools};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::wait_times;
use crate::sys::process::memory_use::{self, MemoryUse};
use crate::team::{Team, TriedAgent};

/// The progress of an agent on trial, according to the bus.
enum Progress {
    Starting,
    Ready { pid: Option<u32>, methods: Vec<DeliveryMethod> },
    NoTools,
    Ended(String),
}

/// Starts an agent of a profile in a directory, and ends it again.
pub(super) async fn run(team: &Team, profile: &str, cwd: PathBuf) -> Trial {
    let began = Instant::now();
    let TriedAgent { session, name } = match team.try_agent(profile, cwd).await {
        Ok(agent) => agent,
        Err(error) => return Trial::Ended(error.to_string()),
    };
    let outcome = tokio::time::timeout(wait_times::DOCTOR_START, watch(team, session)).await;
    let trial = match outcome {
        Ok(Progress::Ready { pid, methods }) => {
            let after = began.elapsed();
            let version = team.version_of(session);
            Trial::Ready { after, memory: memory(pid).await, methods, version }
        }
        Ok(Progress::NoTools) => Trial::NoTools,
        Ok(Progress::Ended(reason)) => return Trial::Ended(reason),
        Ok(Progress::Starting) | Err(_) => Trial::Silent { printed: team.printed_by(session) },
    };
    // An agent that did not start well may not respond to a request.
    let ended = match &trial {
        Trial::Ready { .. } => end_gracefully(team, session, name.as_str()).await,
        _ => false,
    };
    if !ended && let Err(error) = team.kill_agent(name.as_str(), wait_times::KILL_AGENT).await {
        tracing::warn!("failed to end `{name}`: {error}");
    }
    trial
}

/// Waits until an agent has started or failed to start.
async fn watch(team: &Team, session: SessionId) -> Progress {
    let mut changes = team.bus().changes();
    loop {
        match team.bus().look(|state| progress(state, session)) {
            Progress::Starting => {}
            outcome => return outcome,
        }
        if changes.changed().await.is_err() {
            return Progress::Starting;
        }
    }
}

fn progress(state: &State, session: SessionId) -> Progress {
    let Some(live) = state.session(session) else {
        let ended = state.departed().find(|ended| ended.session == session);
        let reason = ended.and_then(|ended| ended.detail.clone());
        return Progress::Ended(
            reason.unwrap_or_else(|| "it ended without giving a reason".to_owned()),
        );
    };
    if live.activity == Activity::Starting || live.methods.is_empty() {
        return Progress::Starting;
    }
    match live.tools {
        Tools::Unproven => Progress::Starting,
        Tools::Missing => Progress::NoTools,
        Tools::Ready => Progress::Ready {
            pid: live.run.as_ref().map(|run| run.agent.pid),
            methods: live.methods.clone(),
        },
    }
}

async fn memory(pid: Option<u32>) -> MemoryUse {
    let Some(pid) = pid else {
        return MemoryUse::default();
    };
    let measuring = tokio::task::spawn_blocking(move || memory_use::of_tree(pid));
    measuring.await.unwrap_or_default()
}

/// Asks an agent to end. Says whether it did so within the time that a kill may take.
async fn end_gracefully(team: &Team, session: SessionId, name: &str) -> bool {
    if let Err(error) = team.shutdown_agent(name, None).await {
        tracing::debug!("failed to ask `{name}` to end: {error}");
        return false;
    }
    has_left(team, session, wait_times::KILL_AGENT).await
}

async fn has_left(team: &Team, session: SessionId, limit: Duration) -> bool {
    let mut changes = team.bus().changes();
    let leaving = async {
        while team.bus().look(|state| state.session(session).is_some()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(limit, leaving).await.is_ok()
}
