//! The constants of an agent, whichever process it has: its identity, how it is started, where it is recorded.
//!
//! Every part of an agent's actor gets this; the parts share nothing else.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::model_and_mode::Offers;
use super::printed::PrintedByAgents;
use crate::bus::rules::Operation;
use crate::bus::state::{State, StopMode};
use crate::bus::{Bus, BusError, Membership, Receipt};
use crate::config::Profile;
use crate::delivery::recipient::Reader;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::task::TaskError;
use crate::domain::text::redact::Secrets;
use crate::team::launch::{Launch, NewAgentIdentity};
use crate::team::permissions::user_reachable::UserReachable;
use crate::team::results::error_advice::Advice;
use crate::team::turn::doing_now::DoingNow;

pub(crate) struct AgentContext {
    /// The bridge's own membership. It writes everything about the agent.
    pub(crate) membership: Membership,
    pub(crate) launch: Arc<Launch>,
    pub(crate) profile: Profile,
    pub(crate) program: PathBuf,
    pub(crate) identity: NewAgentIdentity,
    /// Whether it is only tried out: its conversation is of no use to anybody.
    pub(crate) is_on_trial: bool,
    /// The keys and the token of the agent, which must not be written down.
    pub(crate) secrets: Secrets,
    /// Cancelled to end the agent at once.
    pub(crate) force_stop: CancellationToken,
    /// Cancelled when the bridge ends, and all its agents with it.
    pub(crate) closing: CancellationToken,
    pub(crate) user: UserReachable,
    /// How long a turn may show no sign of life.
    pub(crate) stall: Duration,
    /// How many bytes of the agent's stdout are read per second.
    pub(crate) output_per_second: u64,
    /// Where the agent reports its version, and the models that it offers.
    pub(crate) offers: Offers,
    /// Where it is kept what the agent prints beside messages.
    pub(crate) printed: PrintedByAgents,
    /// Where it is noted what the agent is doing.
    pub(crate) doing: DoingNow,
}

impl AgentContext {
    pub(crate) fn bus(&self) -> &Bus {
        self.membership.bus()
    }

    pub(crate) fn session(&self) -> SessionId {
        self.identity.session
    }

    pub(crate) fn name(&self) -> &Name {
        &self.identity.name
    }

    pub(crate) fn wall_ms(&self) -> i64 {
        self.bus().now().wall_ms
    }

    /// Returns the number that the next event in the log gets.
    pub(crate) fn next_seq(&self) -> u64 {
        *self.bus().changes().borrow()
    }

    /// Says why the agent is stopped, if it is because its bridge ends.
    pub(crate) fn why_stopped(&self) -> Option<String> {
        let leader = |state: &State| {
            state.session(self.membership.session()).map(|leader| leader.name.clone())
        };
        let leader = self.closing.is_cancelled().then(|| self.bus().look(leader))??;
        Some(format!("the session of {leader} ended"))
    }

    /// Returns the error of a task that is cancelled by the end of its agent; none if its agent stays.
    pub(crate) fn error_of_stop(&self) -> Option<TaskError> {
        let why = self.why_stopped();
        let is_asked = self
            .bus()
            .look(|state| state.session(self.session()).is_none_or(|live| live.stop.is_some()));
        if why.is_none() && !is_asked {
            return None;
        }
        let detail = why.map(|why| format!(": {why}")).unwrap_or_default();
        Some(TaskError::new("cancelled", format!("its agent was stopped{detail}")))
    }

    pub(crate) fn advice(&self) -> Advice<'_> {
        Advice::of(&self.profile, self.wall_ms())
    }

    /// Returns the agent as a reader of messages.
    pub(crate) fn reader(&self) -> Reader<'_> {
        let prefix = self.profile.tool_prefix.as_ref();
        let prefix = prefix.map_or("", |prefix| prefix.value.as_str());
        Reader::new(self.name(), prefix)
    }

    /// Records an event that need not be retried. A refusal means that it no longer applies; an error goes to the log.
    pub(crate) async fn write(&self, operation: Operation) -> Option<Receipt> {
        match self.membership.ask(operation).await {
            Ok(receipt) => Some(receipt),
            Err(BusError::Refused(refusal)) => {
                tracing::debug!("the bus refused an event of {}: {refusal}", self.name());
                None
            }
            Err(error) => {
                tracing::warn!("failed to record an event of {}: {error}", self.name());
                None
            }
        }
    }

    pub(crate) fn transcribe(&self, transcript: &TaskId, line: String) {
        let line = self.secrets.hidden(line);
        self.bus().transcript(transcript, line.as_str());
    }

    /// Waits for a request to stop the agent that `counts`, or until its session is gone.
    pub(crate) async fn stop_requested(&self, counts: impl Fn(StopMode) -> bool) -> StopMode {
        let mut changes = self.bus().changes();
        loop {
            let requested = self.bus().look(|state| match state.session(self.session()) {
                Some(live) => live.stop,
                None => Some(StopMode::AtOnce),
            });
            if let Some(mode) = requested.filter(|mode| counts(*mode)) {
                return mode;
            }
            let closing = tokio::select! {
                outcome = changes.changed() => outcome.is_err(),
                () = self.force_stop.cancelled() => true,
            };
            if closing {
                return StopMode::AtOnce;
            }
        }
    }
}
