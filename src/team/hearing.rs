//! What an agent says by itself: its updates, and its questions for permission.

use super::actor::Actor;
use super::choose::quoted;
use super::transcript;
use crate::acp::{AgentEvent, Update};
use crate::domain::id::CallId;
use crate::domain::message::Way;

impl Actor {
    /// Returns the calls of our tools that were handed messages which nothing has proven yet.
    fn held_by_tools(&self) -> Vec<CallId> {
        let bus = self.seat.bus();
        if let Err(error) = bus.refresh() {
            // Then a later call proves it, or the end of the turn.
            tracing::debug!("about {}: {error}", self.identity.name);
        }
        let session = self.identity.session;
        let by_tools = [Way::Pull, Way::Piggyback].into_iter();
        bus.look(|state| {
            by_tools
                .flat_map(|way| state.calls_handed_by(session, way))
                .collect()
        })
    }

    pub(super) fn hear(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Update { session, update } => {
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
                // The agent's earlier sessions are over, whatever it still says in them.
                let Some(turn) = self.turn.as_mut().filter(|_| session == self.acp.id) else {
                    return;
                };
                let sign = self.ladder.hear(&update, turn);
                let name = turn.transcript.clone();
                if sign.calls_over {
                    let held = self.held_by_tools();
                    self.ladder.calls_over(held);
                }
                let line = transcript::of_update(self.wall_ms(), &update);
                self.transcribe(&name, line);
            }
            AgentEvent::PermissionAsked(question) => self.consider(question),
            AgentEvent::FileAsked(question) => self.consider_file(question),
            AgentEvent::DrainAsked(question) => self.ladder.ask(question),
            AgentEvent::UnknownNotification { method } | AgentEvent::UnknownRequest { method } => {
                tracing::debug!(
                    "{} uses {}, which is not known here",
                    self.identity.name,
                    quoted(self.secrets.hidden(method).as_str())
                );
            }
        }
    }
}
