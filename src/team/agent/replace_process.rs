//! A new process in the place of an agent's: for those whose process mixes sessions up, when a task is to begin anew.
//!
//! The member stays the same: its name, its session on the bus, its mail, its queue. Dropped at any point, the actor holds the
//! process that is there then, so whoever stops the agent ends it.

use tokio::time::Instant;

use super::actor::{Actor, record_run, stop_wanted};
use super::start_process::{self, StartError, Started, Terms};
use crate::bus::rules::Operation;
use crate::bus::state::StopMode;
use crate::domain::member::Tools;
use crate::domain::task::TaskError;
use crate::domain::task::result::Context;
use crate::team::results::collect::Spending;
use crate::team::results::error_advice::Advice;
use crate::team::stop::stop_agent;

/// What became of it.
pub(crate) enum Renewal {
    /// There is a new process, which has not told its tools yet.
    Done,
    /// Somebody wants the agent's end.
    Stopped(StopMode),
    /// There is no process any more, for this reason, and this is what tasks that wait for it are told.
    Failed(String, Option<TaskError>),
}

impl Actor {
    /// Renews the process, unless the agent's end is asked for meanwhile.
    pub(crate) async fn renew_unless_stopped(&mut self) -> Renewal {
        let (membership, hurry) = (self.membership.clone(), self.hurry.clone());
        let session = self.identity.session;
        let failed = tokio::select! {
            renewed = self.renew() => match renewed {
                Ok(()) => return Renewal::Done,
                Err(error) => error,
            },
            wanted = stop_wanted(&membership, session, &hurry, |_| true) => return Renewal::Stopped(wanted),
        };
        // It may run still, and not be an agent.
        let left = stop_agent::stop(&self.child, None, StopMode::AtOnce, &hurry).await;
        let advice = Advice::of(&self.profile, self.wall_ms());
        let error = failed.task_error(advice);
        Renewal::Failed(left.unwrap_or_else(|| failed.to_string()), error)
    }

    async fn renew(&mut self) -> Result<(), StartError> {
        let old = Some((&self.connection, &self.acp.id));
        let in_order = StopMode::Gracefully;
        if let Some(left) = stop_agent::stop(&self.child, old, in_order, &self.hurry).await {
            tracing::warn!("while replacing the process of {}: {left}", self.identity.name);
        }
        let session = self.identity.session;
        // Before the new endpoint says that they are there.
        let tools = Tools::Unproven;
        self.write(Operation::Tools { session, tools }).await;
        let presence = self.membership.bus().share(session);
        let program = self.program.clone();
        let (child, pipes) =
            start_process::spawn(&self.launch, &self.profile, program, &self.identity, presence)
                .await?;
        self.child = child.clone();
        record_run(&self.membership, session, &self.child, self.launch.place()).await;
        let terms = Terms {
            secrets: &self.secrets,
            profile: &self.profile,
            earlier: None,
            model: None,
            output_per_second: self.output_per_second,
            now_ms: self.wall_ms(),
        };
        let endpoint = self.endpoint.clone();
        let Started { connection, events, session: acp, .. } =
            start_process::connect_to(child, pipes, endpoint, &self.identity, terms).await?;
        self.connection = connection;
        self.events = events;
        self.acp = acp;
        self.questions.forget_calls();
        self.record_session().await;
        self.session_since = Instant::now();
        self.tools_since = None;
        self.primed = false;
        self.used = false;
        self.resumed = false;
        self.context = Context::New;
        self.spending = Spending::Nothing;
        self.announce().await;
        Ok(())
    }
}
