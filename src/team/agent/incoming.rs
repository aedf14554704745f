//! What an agent says by itself: its updates, and its questions for permission.

use std::collections::BTreeSet;

use super::actor::Actor;
use super::model_and_mode::quoted;
use crate::acp::{AgentEvent, Update};
use crate::domain::ids::CallId;
use crate::domain::messaging::DeliveryMethod;
use crate::domain::time::Tick;
use crate::domain::timeouts;
use crate::team::turn::proof_of_reading::Sign;
use crate::team::turn::transcript;
use crate::team::turn::turn_record::Turn;

impl Actor {
    /// Returns the calls of our tools that were handed messages, or have claimed requests, and whose answers nothing has proven yet.
    fn held_by_tools(&self) -> Vec<CallId> {
        let bus = self.membership.bus();
        if let Err(error) = bus.refresh() {
            // Then a later call proves it, or the end of the turn.
            tracing::debug!("failed to refresh the bus for {}: {error}", self.identity.name);
        }
        let session = self.identity.session;
        let by_tools = [DeliveryMethod::Pull, DeliveryMethod::Piggyback].into_iter();
        bus.look(|state| {
            let holding = by_tools.flat_map(|way| state.calls_handed_by(session, way));
            let claims = state.session(session).map(|agent| agent.unheard.values());
            let calls: BTreeSet<_> = holding.chain(claims.into_iter().flatten().copied()).collect();
            calls.into_iter().collect()
        })
    }

    /// Notes which answers of our tools the agent can have had, as a tool call has ended.
    ///
    /// The bus may be ahead of what the agent has said: a call that began to hold something only after this was read is a later one,
    /// of which the agent has not told yet.
    fn note_answers(&mut self, sign: Sign, read: Tick) {
        if !sign.ended_well && !sign.calls_over {
            return;
        }
        let mut held = self.held_by_tools();
        let session = self.identity.session;
        self.membership
            .bus()
            .look(|state| held.retain(|call| state.held_by(session, *call, read.ms)));
        let Some(turn) = &mut self.turn else { return };
        if sign.ended_well {
            turn.answered.extend(held.iter().copied());
        }
        if sign.calls_over {
            // A call that failed has brought its agent nothing.
            held.retain(|call| turn.answered.contains(call));
            self.ladder.calls_over(held);
        }
    }

    /// Says whether a call has come to its agent as far as can be told: that of a tool when its answer was written.
    pub(crate) fn is_written(&self, call: CallId) -> bool {
        let session = self.identity.session;
        let is_open = self.held_by_tools().contains(&call);
        !is_open || self.membership.bus().look(|state| state.is_written(session, call))
    }

    /// Returns the calls of our tools whose answers the good end of a turn proves, and no words before it: their answers were
    /// written, and the agent can have had them. A call that has failed, whose endpoint has died, or whose agent has ceased to wait
    /// for it has brought it nothing.
    pub(crate) async fn shown_by_tools(&self, turn: &Turn) -> Vec<CallId> {
        let (bus, session) = (self.membership.bus(), self.identity.session);
        let mut calls = self.held_by_tools();
        calls.retain(|call| turn.can_have_had(*call));
        let mut changes = bus.changes();
        let are_known = || {
            bus.look(|state| {
                let is_open = |call: &CallId| state.holds(session, *call);
                let mut open = calls.iter().filter(|call| is_open(call));
                open.all(|call| state.is_written(session, *call))
            })
        };
        let known = async {
            // An error means that the bus is closed, and with it the turn is over anyway.
            while !are_known() && changes.changed().await.is_ok() {}
        };
        if tokio::time::timeout(timeouts::ANSWER_RECORDED, known).await.is_err() {
            tracing::debug!(
                "the bus did not record in time that an answer to {} was written",
                self.identity.name
            );
        }
        calls.retain(|call| {
            !self.ladder.holds(*call) && bus.look(|state| state.is_written(session, *call))
        });
        calls
    }

    pub(crate) fn hear(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Update { session, update, read } => {
                if let (Update::ConfigOptions(options), true) = (&update, session == self.acp.id) {
                    self.acp.config_options.clone_from(options);
                    self.offers.note(self.identity.session, &self.acp);
                    if let Some(mode) = self.acp.mode_setting() {
                        self.acp.hear_mode(mode.as_str());
                    }
                }
                if let (Update::Mode(mode), true) = (&update, session == self.acp.id) {
                    self.acp.hear_mode(mode);
                }
                if let (Update::ToolCall(call), true) = (&update, session == self.acp.id) {
                    self.questions.note(call);
                }
                // The agent's earlier sessions are over, whatever it still says in them.
                let Some(turn) = self.turn.as_mut().filter(|_| session == self.acp.id) else {
                    return;
                };
                let sign = self.ladder.hear(&update, turn);
                let name = turn.transcript.clone();
                self.note_answers(sign, read);
                let line = transcript::of_update(self.wall_ms(), &update);
                self.transcribe(&name, line);
            }
            AgentEvent::PermissionAsked(question) => self.consider(question),
            AgentEvent::FileAsked(question) => self.consider_file(question),
            AgentEvent::DrainAsked(question) => self.ladder.ask(question),
            AgentEvent::UnknownNotification { method } | AgentEvent::UnknownRequest { method } => {
                tracing::debug!(
                    "{} used {}, which the bridge does not know",
                    self.identity.name,
                    quoted(self.secrets.hidden(method).as_str())
                );
            }
        }
    }
}
