//! Trying out one agent: started as for a task, watched until it has our tools, and ended again.

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

/// What the bus says of an agent that is being tried out.
enum Seen {
    Starting,
    Ready { pid: Option<u32>, methods: Vec<DeliveryMethod> },
    NoTools,
    Ended(String),
}

/// Tries out the agents of a profile, in a directory. Ends what it has started.
pub(super) async fn run(team: &Team, profile: &str, cwd: PathBuf) -> Trial {
    let began = Instant::now();
    let TriedAgent { session, name } = match team.try_agent(profile, cwd).await {
        Ok(agent) => agent,
        Err(error) => return Trial::Ended(error.to_string()),
    };
    let seen = tokio::time::timeout(wait_times::DOCTOR_START, watch(team, session)).await;
    let trial = match seen {
        Ok(Seen::Ready { pid, methods }) => {
            let after = began.elapsed();
            let version = team.version_of(session);
            Trial::Ready { after, memory: memory(pid).await, methods, version }
        }
        Ok(Seen::NoTools) => Trial::NoTools,
        Ok(Seen::Ended(words)) => return Trial::Ended(words),
        Ok(Seen::Starting) | Err(_) => Trial::Silent,
    };
    // One that is not well may not hear a request.
    let ended = match &trial {
        Trial::Ready { .. } => end_gracefully(team, session, name.as_str()).await,
        _ => false,
    };
    if !ended && let Err(error) = team.kill_agent(name.as_str(), wait_times::KILL_AGENT).await {
        tracing::warn!("failed to end `{name}`: {error}");
    }
    trial
}

/// Waits until it is known how an agent has started.
async fn watch(team: &Team, session: SessionId) -> Seen {
    let mut changes = team.bus().changes();
    loop {
        match team.bus().look(|state| seen(state, session)) {
            Seen::Starting => {}
            known => return known,
        }
        if changes.changed().await.is_err() {
            return Seen::Starting;
        }
    }
}

fn seen(state: &State, session: SessionId) -> Seen {
    let Some(live) = state.session(session) else {
        let ended = state.departed().find(|ended| ended.session == session);
        let words = ended.and_then(|ended| ended.detail.clone());
        return Seen::Ended(words.unwrap_or_else(|| "it ended without a word".to_owned()));
    };
    if live.activity == Activity::Starting || live.methods.is_empty() {
        return Seen::Starting;
    }
    match live.tools {
        Tools::Unproven => Seen::Starting,
        Tools::Missing => Seen::NoTools,
        Tools::Ready => Seen::Ready {
            pid: live.run.as_ref().map(|run| run.agent.pid),
            methods: live.methods.clone(),
        },
    }
}

async fn memory(pid: Option<u32>) -> MemoryUse {
    let Some(pid) = pid else {
        return MemoryUse::default();
    };
    let looking = tokio::task::spawn_blocking(move || memory_use::of_tree(pid));
    looking.await.unwrap_or_default()
}

/// Asks an agent to end; says whether it has, in the time that a kill takes.
async fn end_gracefully(team: &Team, session: SessionId, name: &str) -> bool {
    if let Err(error) = team.shutdown_agent(name, None).await {
        tracing::debug!("`{name}` was not asked to end: {error}");
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
