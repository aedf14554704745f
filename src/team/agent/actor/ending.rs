//! How an actor parts with its process: one that it stops, one whose connection is lost, one that died.
//!
//! Methods of the actor: `stop`, `lost`, `died` and `hear_out`.

use super::Actor;
use crate::acp::Feature;
use crate::bus::state::StopMode;
use crate::domain::grace_periods;
use crate::domain::member::Departure;
use crate::supervisor::Exit;
use crate::team::agent::printed::exit_report;
use crate::team::agent::process_end::ProcessEnd;
use crate::team::agent::start_process::AgentProcess;
use crate::team::stop::stop_agent::{self, LastConversation};

impl Actor {
    pub(super) async fn stop(mut self, mode: StopMode) -> ProcessEnd {
        self.count_unfinished_turns();
        let Self { agent, process, questions, unwritten, .. } = self;
        let AgentProcess { child, connection, events, session, .. } = process;
        // From here on questions are answered `cancelled`, and the agent's output no longer matters.
        drop(questions);
        drop(events);
        let (session, is_of_trial) = (&session.id, agent.is_on_trial);
        let last = LastConversation { connection: &connection, session, is_of_trial };
        let left = stop_agent::stop(&child, Some(last), mode, &agent.force_stop).await;
        let detail = left.or_else(|| agent.why_stopped());
        ProcessEnd { unwritten, ..ProcessEnd::new(Departure::Stopped, detail) }
    }

    /// Handles the end of the connection: the process ends too, or is killed. A stop has its own deadlines.
    pub(super) async fn lost(self) -> ProcessEnd {
        tokio::select! {
            biased;
            exit = self.process.child.exited() => return self.died(exit),
            mode = self.agent.stop_requested(|_| true) => return self.stop(mode).await,
            () = tokio::time::sleep(grace_periods::LAST_BREATH) => {}
        }
        let why = self.process.connection.closed().await.to_string();
        let (child, force_stop) = (&self.process.child, &self.agent.force_stop);
        let detail = exit_report(child, &why, &self.agent.secrets);
        let left = stop_agent::stop(child, None, StopMode::AtOnce, force_stop).await;
        self.failed(left.unwrap_or(detail))
    }

    /// Reads the last output of a process that has ended.
    pub(super) async fn hear_out(&mut self) {
        let force_stop = self.agent.force_stop.clone();
        let rest = async {
            while let Some(event) = self.process.events.recv().await {
                self.hear(event);
            }
        };
        // A process that left its group may hold its stdout open.
        tokio::select! {
            () = rest => {}
            () = tokio::time::sleep(grace_periods::LAST_OUTPUT) => {
                tracing::debug!("the stdout of {} stayed open after it exited", self.agent.name());
            }
            () = force_stop.cancelled() => {}
        }
    }

    pub(super) fn died(mut self, exit: Exit) -> ProcessEnd {
        self.count_unfinished_turns();
        if self.stopping_since.is_some() || self.agent.force_stop.is_cancelled() {
            return ProcessEnd {
                unwritten: self.unwritten,
                ..ProcessEnd::new(Departure::Stopped, self.agent.why_stopped())
            };
        }
        let detail = exit_report(&self.process.child, &exit.to_string(), &self.agent.secrets);
        self.failed(detail)
    }

    /// Returns the end of a process that was not asked to stop, with the session that a new one may continue.
    fn failed(mut self, detail: String) -> ProcessEnd {
        self.count_unfinished_turns();
        let agent = self.process.connection.agent();
        let offers = |feature| agent.is_some_and(|agent| agent.offers(feature));
        let can_continue = offers(Feature::Resume) || offers(Feature::Load);
        ProcessEnd {
            departure: Departure::Failed,
            detail: Some(detail),
            session: (can_continue && self.conversation.used).then_some(self.process.session.id),
            unwritten: self.unwritten,
            error: None,
        }
    }
}
