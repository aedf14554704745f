//! Stops an agent: gracefully, or at once.

use std::time::{Duration, Instant};

use super::act_outcome::seconds;
use super::{Ended, Outcome, Patience, Steering};
use crate::bus::rules::{HumanWish, known_member};
use crate::bus::state::{Session, State};
use crate::cli::Failure;
use crate::domain::grace_periods;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::Departure;
use crate::domain::task::TaskStatus;
use crate::domain::wait_times;

impl Steering {
    /// Says whether a session is live.
    pub(crate) fn is_live(&self, session: SessionId) -> bool {
        self.look(|state| state.session(session).is_some())
    }

    /// Asks an agent to finish and stop, as its bridge does: a running turn may end by itself for a while.
    pub(crate) async fn stop(
        &self,
        agent: &str,
        reason: Option<String>,
        patience: Patience,
    ) -> Result<Outcome, Failure> {
        let wish = HumanWish::Stop { agent: agent.to_owned(), reason, kill: false };
        let limit = grace_periods::AGENT + grace_periods::LAST_APPEND;
        self.end("stop", agent, wish, (limit, patience)).await
    }

    /// Kills an agent and all its processes.
    pub(crate) async fn kill(&self, agent: &str, patience: Patience) -> Result<Outcome, Failure> {
        let wish = HumanWish::Stop { agent: agent.to_owned(), reason: None, kill: true };
        let limit = wait_times::KILL_AGENT + grace_periods::LAST_APPEND;
        self.end("kill", agent, wish, (limit, patience)).await
    }

    async fn end(
        &self,
        act: &'static str,
        agent: &str,
        wish: HumanWish,
        (limit, patience): (Duration, Patience),
    ) -> Result<Outcome, Failure> {
        let begun = Instant::now();
        let live = self.look(|state| {
            let name = known_member(state, agent).ok()?;
            let live = state.live(name)?;
            Some((live.id, live.name.clone(), live.owner, live.running.clone()))
        });
        self.wish(wish).await?;
        let Some((session, name, bridge, running)) = live else {
            // It came while the wish was written, and the wish is about it.
            let outcome = Outcome::new(act, &agent, Ended::Pending);
            return Ok(outcome.saying("asked", format!("`{agent}` is asked to stop")));
        };
        if patience == Patience::None {
            let words = match act {
                "kill" => format!("the bridge that holds `{name}` is asked to kill it"),
                _ => format!("`{name}` is asked to finish and stop"),
            };
            return Ok(Outcome::new(act, &name, Ended::Pending).saying("asked", words));
        }
        let left = self.until(limit, |state| departure(state, session)).await?;
        let took = begun.elapsed();
        let outcome = if let Some(departure) = left {
            let how = match (departure, act) {
                (Departure::Dead, _) => "has ended with its bridge".to_owned(),
                (_, "kill") => format!("has been killed after {}", seconds(took)),
                _ => format!("has stopped after {}", seconds(took)),
            };
            let is_killed = act == "kill" && departure == Departure::Stopped;
            let word = if is_killed { Departure::KILLED } else { departure.as_str() };
            let cut = running.and_then(|task| self.look(|state| cut_short(state, &task)));
            let words = format!("`{name}` {how}{}", cut.unwrap_or_default());
            Outcome::new(act, &name, Ended::Done).saying(word, words)
        } else {
            let status = self.look(|state| state.session(session).map(Session::status));
            let why = self.why_silent(bridge, &format!("holds `{name}`"), limit);
            let outcome = Outcome::new(act, &name, Ended::Silent);
            outcome.saying(status.unwrap_or_default(), format!("`{name}` has not ended: {why}"))
        };
        Ok(outcome.after(took))
    }
}

/// Says what became of a task that its agent's end has cut short, ready to append.
fn cut_short(state: &State, task: &TaskId) -> Option<String> {
    let status = state.task(task)?.status;
    let is_cut = matches!(status, TaskStatus::Cancelled | TaskStatus::Interrupted);
    is_cut.then(|| format!("; its task {task} was {}", status.as_str()))
}

/// Returns how a session has left, once it has.
fn departure(state: &State, session: SessionId) -> Option<Departure> {
    if state.session(session).is_some() {
        return None;
    }
    let mut left = state.departed().filter(|left| left.session == session);
    // The state keeps the last few that have left.
    Some(left.next_back().map_or(Departure::Stopped, |left| left.departure))
}
