//! Replaces an agent's process: for profiles whose process mixes up sessions, when a task needs a fresh one.
//!
//! The member stays the same: its name, its session on the bus, its messages, its queue. If the replacement is dropped at any
//! point, the actor holds the process of that moment, so a stop of the agent ends it.
//!
//! Methods of the actor: `replace_unless_stopped`.

use std::sync::Arc;

use tokio::time::Instant;

use super::Actor;
use crate::bus::rules::Operation;
use crate::bus::state::StopMode;
use crate::domain::member::Tools;
use crate::domain::task::TaskError;
use crate::team::agent::process_record::record_process;
use crate::team::agent::start_process::{self, AgentProcess, Continued, StartError};
use crate::team::results::session_cost::SessionCost;
use crate::team::stop::stop_agent::{self, LastConversation};
use crate::team::turn::conversation::Conversation;

pub(super) enum Replacement {
    /// There is a new process, which has not shown its tools yet.
    Done,
    /// The agent was asked to stop.
    Stopped(StopMode),
    /// There is no process any more, for this reason. The error is for the tasks that wait for it.
    Failed(String, Option<TaskError>),
}

impl Actor {
    /// Replaces the process, unless the agent is asked to stop meanwhile.
    pub(super) async fn replace_unless_stopped(&mut self) -> Replacement {
        let agent = Arc::clone(&self.agent);
        let failed = tokio::select! {
            replaced = self.replace() => match replaced {
                Ok(()) => return Replacement::Done,
                Err(error) => error,
            },
            mode = agent.stop_requested(|_| true) => return Replacement::Stopped(mode),
        };
        // The process may still run, and not be an agent.
        let child = &self.process.child;
        let left = stop_agent::stop(child, None, StopMode::AtOnce, &agent.force_stop).await;
        let error = failed.task_error(agent.advice());
        Replacement::Failed(left.unwrap_or_else(|| failed.to_string()), error)
    }

    async fn replace(&mut self) -> Result<(), StartError> {
        let agent = Arc::clone(&self.agent);
        let AgentProcess { connection, session, .. } = &self.process;
        let old = Some(LastConversation { connection, session: &session.id, is_of_trial: false });
        let (child, mode) = (&self.process.child, StopMode::Gracefully);
        if let Some(left) = stop_agent::stop(child, old, mode, &agent.force_stop).await {
            tracing::warn!("while replacing the process of {}: {left}", agent.name());
        }
        // Before the new endpoint reports its tools.
        agent.write(Operation::Tools { session: agent.session(), tools: Tools::Unproven }).await;
        let (child, pipes) = start_process::spawn(&agent).await?;
        self.process.child = child.clone();
        record_process(&agent, &child).await;
        self.process =
            start_process::connect_to(&agent, child, pipes, Continued::default()).await?;
        self.questions.forget_calls();
        self.record_session().await;
        self.session_since = Instant::now();
        self.tools_since = None;
        self.conversation = Conversation::new(self.agent.next_seq());
        self.session_cost = SessionCost::Nothing;
        self.announce().await;
        Ok(())
    }
}
