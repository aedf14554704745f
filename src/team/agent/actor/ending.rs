//! How an actor lets go of its process: one that is stopped, one that is lost, one that has died.
//!
//! Methods of the actor: `stop`, `lost`, `died` and `hear_out`.

use super::Actor;
use crate::acp::Feature;
use crate::bus::state::StopMode;
use crate::domain::grace_periods;
use crate::domain::member::Departure;
use crate::supervisor::Exit;
use crate::team::agent::process_end::ProcessEnd;
use crate::team::agent::start_process::{AgentProcess, exit_report};
use crate::team::stop::stop_agent;

impl Actor {
    pub(super) async fn stop(self, mode: StopMode) -> ProcessEnd {
        let Self { agent, process, turn, questions, unwritten, .. } = self;
        let AgentProcess { child, connection, events, session, .. } = process;
        // From here on questions are answered `cancelled`, and nothing that the agent says is of interest.
        drop(questions);
        drop(events);
        drop(turn);
        let left =
            stop_agent::stop(&child, Some((&connection, &session.id)), mode, &agent.force_stop)
                .await;
        ProcessEnd { unwritten, ..ProcessEnd::new(Departure::Stopped, left) }
    }

    /// The connection is over: the process ends too, or is ended.
    pub(super) async fn lost(self) -> ProcessEnd {
        let in_vain = async {
            tokio::time::sleep(grace_periods::LAST_BREATH).await;
            // A stop has its own deadlines.
            tokio::select! {
                () = tokio::time::sleep(grace_periods::LATE_EXIT) => {}
                _ = self.agent.stop_requested(|_| true) => {}
            }
        };
        let exit = tokio::select! {
            exit = self.process.child.exited() => Some(exit),
            () = in_vain => None,
        };
        if let Some(exit) = exit {
            self.died(exit)
        } else {
            let why = self.process.connection.closed().await.to_string();
            let detail = exit_report(&self.process.child, &why, &self.agent.secrets);
            let left = stop_agent::stop(
                &self.process.child,
                None,
                StopMode::AtOnce,
                &self.agent.force_stop,
            )
            .await;
            self.failed(left.unwrap_or(detail))
        }
    }

    /// Takes in what a process that has ended still said.
    pub(super) async fn hear_out(&mut self) {
        let rest = async {
            while let Some(event) = self.process.events.recv().await {
                self.hear(event);
            }
        };
        // A process that left its group may hold its stdout open.
        if tokio::time::timeout(grace_periods::LAST_OUTPUT, rest).await.is_err() {
            tracing::debug!("the stdout of {} stayed open after it exited", self.agent.name());
        }
    }

    pub(super) fn died(self, exit: Exit) -> ProcessEnd {
        if self.stopping_since.is_some() {
            return ProcessEnd {
                unwritten: self.unwritten,
                ..ProcessEnd::new(Departure::Stopped, None)
            };
        }
        let detail = exit_report(&self.process.child, &exit.to_string(), &self.agent.secrets);
        self.failed(detail)
    }

    /// The end of a process that was not asked to end, with what a new one may continue.
    fn failed(self, detail: String) -> ProcessEnd {
        let agent = self.process.connection.agent();
        let offers = |feature| agent.is_some_and(|agent| agent.offers(feature));
        let can_continue = offers(Feature::Resume) || offers(Feature::Load);
        ProcessEnd {
            departure: Departure::Failed,
            detail: Some(detail),
            session: (can_continue && self.used).then_some(self.process.session.id),
            unwritten: self.unwritten,
            error: None,
        }
    }
}
